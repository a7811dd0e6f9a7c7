"""The adapter to PuLP: the same under both majors, and with every solver that can run."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from scipy.sparse import csr_array

from mdpdice.errors import UnsupportedError
from mdpdice.solvers.linear_programming import pulp_adapter
from mdpdice.solvers.linear_programming.pulp_adapter import Outcome, Program

#   min x + y,  x + y >= 2,  x - y = 1/2;  x = 5/4, y = 3/4, duals 1 and 0
SMALL = Program(
    maximise=False,
    cost=np.array([1.0, 1.0]),
    nonnegative=np.array([False, True]),
    matrix=csr_array(np.array([[1.0, 1.0], [1.0, -1.0]])),
    rhs=np.array([2.0, 0.5]),
    equal=np.array([False, True]),
)


def dense(n=60):
    """A program that takes HiGHS some dozens of iterations."""
    rng = np.random.default_rng(1)
    return Program(
        maximise=False,
        cost=np.ones(n),
        nonnegative=np.ones(n, dtype=bool),
        matrix=csr_array(rng.random((n, n))),
        rhs=rng.random(n),
        equal=np.zeros(n, dtype=bool),
    )


def test_highs_can_always_run():
    assert "HiGHS" in pulp_adapter.available_solvers()
    pulp_adapter.require("HiGHS")


@pytest.mark.parametrize("solver", pulp_adapter.available_solvers())
class TestEverySolver:
    def test_optimal(self, solver):
        answer = pulp_adapter.solve(SMALL, solver)
        assert answer.outcome is Outcome.OPTIMAL
        np.testing.assert_allclose(answer.x, [1.25, 0.75], rtol=1e-12)
        np.testing.assert_allclose(answer.dual, [1, 0], atol=1e-12)

    def test_maximise(self, solver):
        #   max 3 x + 2 y,  -x - y >= -4,  -x - 3 y >= -6.5,  -x >= -3;  x = 3, y = 1, duals -2, 0 and -1
        program = Program(
            maximise=True,
            cost=np.array([3.0, 2.0]),
            nonnegative=np.ones(2, dtype=bool),
            matrix=csr_array(np.array([[-1.0, -1.0], [-1.0, -3.0], [-1.0, 0.0]])),
            rhs=np.array([-4.0, -6.5, -3.0]),
            equal=np.zeros(3, dtype=bool),
        )
        answer = pulp_adapter.solve(program, solver)
        np.testing.assert_allclose(answer.x, [3, 1], rtol=1e-12)
        if solver == "HiGHS":  # CBC gives no duals for rows that its presolve turned into bounds
            np.testing.assert_allclose(np.abs(answer.dual), [2, 0, 1], atol=1e-12)

    def test_more_variables_than_ten(self, solver):
        """PuLP 3.3 sorts its variables by name; the answer comes in the order of the question."""
        n = 12
        program = Program(
            maximise=False,
            cost=np.ones(n),
            nonnegative=np.ones(n, dtype=bool),
            matrix=csr_array(np.eye(n)),
            rhs=np.arange(1.0, n + 1),
            equal=np.zeros(n, dtype=bool),
        )
        answer = pulp_adapter.solve(program, solver)
        np.testing.assert_allclose(answer.x, np.arange(1, n + 1), rtol=1e-12)
        if solver == "HiGHS":
            np.testing.assert_allclose(answer.dual, np.ones(n), rtol=1e-12)

    def test_infeasible(self, solver):
        matrix = csr_array(np.array([[1.0, 1.0], [-1.0, -1.0]]))
        program = attrs.evolve(SMALL, matrix=matrix, equal=np.zeros(2, dtype=bool))
        answer = pulp_adapter.solve(program, solver)
        assert answer.outcome in {Outcome.INFEASIBLE, Outcome.UNCLEAR}
        assert np.isnan(answer.x).all()
        assert answer.dual is None

    def test_unbounded(self, solver):
        program = attrs.evolve(SMALL, maximise=True)
        # PuLP 3.3 reads "unbounded" out of a report of CBC as infeasible or as not solved.
        assert pulp_adapter.solve(program, solver).outcome is not Outcome.OPTIMAL

    def test_version_names_the_solver(self, solver):
        assert solver in pulp_adapter.solver_version(solver)
        assert "PuLP" in pulp_adapter.solver_version(solver)


class TestHighs:
    def test_interior_point_ends_in_the_same_vertex(self):
        interior, simplex = pulp_adapter.solve(dense(), interior=True), pulp_adapter.solve(dense())
        np.testing.assert_allclose(interior.x, simplex.x, atol=1e-9)
        np.testing.assert_allclose(interior.dual, simplex.dual, atol=1e-9)

    @pytest.mark.parametrize("interior", [False, True])
    def test_stopped_from_outside(self, interior):
        asked = []
        answer = pulp_adapter.solve(dense(), interior=interior, stop=lambda: len(asked) > 1 or bool(asked.append(0)))
        assert answer.outcome is Outcome.STOPPED
        assert answer.iterations < pulp_adapter.solve(dense(), interior=interior).iterations

    @pytest.mark.parametrize("interior", [False, True])
    def test_ctrl_c_inside_the_solver(self, interior):
        def interrupt():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pulp_adapter.solve(dense(), interior=interior, stop=interrupt)

    @pytest.mark.parametrize("interior", [False, True])
    def test_time_limit_is_not_optimal(self, interior):
        """PuLP 3.3 calls a HiGHS run that hit its time limit optimal."""
        assert pulp_adapter.solve(dense(), interior=interior, time_limit=1e-9).outcome is Outcome.STOPPED

    def test_interior_point_is_not_believed_on_infeasibility(self, monkeypatch):
        real, methods = pulp_adapter._highs_outcome, []

        def lie(model):
            _, method = model.getOptionValue("solver")
            methods.append(method)
            return Outcome.INFEASIBLE if method == "ipm" else real(model)

        monkeypatch.setattr(pulp_adapter, "_highs_outcome", lie)
        answer = pulp_adapter.solve(SMALL, interior=True)
        assert methods == ["ipm", "simplex"]
        assert answer.outcome is Outcome.OPTIMAL

    def test_a_tolerance_out_of_reach_is_relaxed(self, monkeypatch):
        real, tolerances = pulp_adapter._highs_outcome, []

        def hard(model):
            _, tolerance = model.getOptionValue("primal_feasibility_tolerance")
            tolerances.append(tolerance)
            return Outcome.UNCLEAR if tolerance < 1e-8 else real(model)

        monkeypatch.setattr(pulp_adapter, "_highs_outcome", hard)
        assert pulp_adapter.solve(SMALL).outcome is Outcome.OPTIMAL
        assert tolerances == [1e-9, 1e-7]


def test_solvers_that_cannot_run():
    with pytest.raises(UnsupportedError, match=r"'Simplex2000' is not a solver of PuLP; available here: .*HiGHS"):
        pulp_adapter.require("Simplex2000")
    with pytest.raises(UnsupportedError, match=r"'MOSEK' is known to PuLP but cannot run here.*HiGHS") as caught:
        pulp_adapter.require("MOSEK")
    assert caught.value.value == "MOSEK"
