"""What takes part in the benchmark of flat solvers: mdpdice and, where they are installed, its peers.

A contestant is built from a model and solves it to six digits; both are timed by the caller.  Every one
is called as its own documentation shows, by the method that is fastest here.
"""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from typing import ClassVar

import numpy as np
from models import Floats, Model

DIGITS = 1e-6


class Contestant:
    """One tool: `build` is given a model, `solve` solves it, `values` says what came out."""

    package: ClassVar[str]
    largest: ClassVar[int] = 10_000_000
    """Branches of the largest model that it is asked about."""
    undiscounted: ClassVar[bool] = True
    fresh: ClassVar[bool] = False
    """Whether it must be built again for every run, because it goes on from its last answer or remembers something."""

    def build(self, model: Model) -> None:
        """Make the tool's own model."""
        raise NotImplementedError

    def solve(self) -> None:
        """Solve it."""
        raise NotImplementedError

    def values(self) -> Floats:
        """The values of the states, of what was solved last."""
        raise NotImplementedError

    def bounds(self) -> tuple[Floats, Floats] | None:
        """The certified interval of every value, if the tool has one."""
        return None


class Mdpdice(Contestant):
    """`mdpdice.solve`, with the certificate."""

    package = "mdpdice"
    largest = 1_000_000_000
    # A network remembers its components once they are found.
    fresh = True

    def build(self, model: Model) -> None:
        self.states = len(model.choice_ptr) - 1
        self.network = model.network()

    def solve(self) -> None:
        from mdpdice import solve

        self.solution = solve(self.network, epsilon=DIGITS)

    def values(self) -> Floats:
        if not self.solution.proved:
            raise ArithmeticError(self.solution.reason)
        return self.solution.nodes.values[: self.states]

    def bounds(self) -> tuple[Floats, Floats]:
        return self.solution.nodes.lowers[: self.states], self.solution.nodes.uppers[: self.states]


class QuantEcon(Contestant):
    """Modified policy iteration of `quantecon.markov.DiscreteDP`."""

    package = "quantecon"
    largest = 1_000_000_000
    undiscounted = False

    def build(self, model: Model) -> None:
        from quantecon.markov import DiscreteDP
        from scipy.sparse import csr_matrix

        n, m = len(model.choice_ptr) - 1, len(model.reward)
        states = np.repeat(np.arange(n), np.diff(model.choice_ptr))
        actions = np.arange(m) - model.choice_ptr[states]
        chances = csr_matrix((model.probability, model.target, model.branch_ptr), shape=(m, n))
        self.problem = DiscreteDP(model.reward, chances, float(Fraction(model.discount)), states, actions)

    def solve(self) -> None:
        self.answer = self.problem.solve(method="modified_policy_iteration", epsilon=DIGITS, max_iter=10_000)

    def values(self) -> Floats:
        return np.array(self.answer.v)


class MdpSolver(Contestant):
    """Modified policy iteration of `mdpsolver`."""

    package = "mdpsolver"
    largest = 30_000_000
    undiscounted = False
    fresh = True

    def build(self, model: Model) -> None:
        import mdpsolver

        n, actions = len(model.choice_ptr) - 1, int(model.choice_ptr[1])
        self.model = mdpsolver.model()
        self.model.mdp(
            discount=float(Fraction(model.discount)),
            rewards=model.reward.reshape(n, actions).tolist(),
            tranMatColumns=model.target.reshape(n, actions, -1).tolist(),
            tranMatProbs=model.probability.reshape(n, actions, -1).tolist(),
        )

    def solve(self) -> None:
        self.model.solve(algorithm="mpi", tolerance=DIGITS, parallel=False)

    def values(self) -> Floats:
        return np.array(self.model.getValueVector())


class Toolbox(Contestant):
    """Modified policy iteration of `pymdptoolbox`, with sparse matrices."""

    package = "mdptoolbox"
    largest = 25_000
    undiscounted = False

    def build(self, model: Model) -> None:
        from scipy.sparse import csr_matrix

        n, actions = len(model.choice_ptr) - 1, int(model.choice_ptr[1])
        columns = model.target.reshape(n, actions, -1)
        chances = model.probability.reshape(n, actions, -1)
        rows = np.arange(0, columns[:, 0].size + 1, columns.shape[2])
        self.chances = [
            csr_matrix((chances[:, a].ravel(), columns[:, a].ravel(), rows), shape=(n, n)) for a in range(actions)
        ]
        self.rewards = model.reward.reshape(n, actions)
        self.discount = float(Fraction(model.discount))

    def solve(self) -> None:
        import mdptoolbox.mdp

        self.solver = mdptoolbox.mdp.PolicyIterationModified(
            self.chances, self.rewards, self.discount, epsilon=DIGITS, max_iter=10_000
        )
        self.solver.run()

    def values(self) -> Floats:
        return np.array(self.solver.V)


class Storm(Contestant):
    """Storm through `stormpy`, with its default method."""

    package = "stormpy"
    largest = 30_000_000

    def build(self, model: Model) -> None:
        import stormpy

        n, matrix = (
            len(model.choice_ptr) - 1,
            stormpy.datastructures.SparseMatrixBuilder(has_custom_row_grouping=True),
        )
        choice_ptr, branch_ptr = model.choice_ptr.tolist(), model.branch_ptr.tolist()
        row, rewards = 0, []
        for state in range(n):
            matrix.new_row_group(row)
            if state in model.terminal:
                matrix.add_next_value(row, state, 1.0)
                rewards.append(0.0)
                row += 1
            for choice in range(choice_ptr[state], choice_ptr[state + 1]):
                first, last = branch_ptr[choice], branch_ptr[choice + 1]
                # Columns must increase within a row.
                for column, chance in sorted(
                    zip(model.target[first:last].tolist(), model.probability[first:last].tolist(), strict=True)
                ):
                    matrix.add_next_value(row, column, chance)
                rewards.append(float(model.reward[choice]))
                row += 1
        label = stormpy.models.StateLabeling(n)
        label.add_label("init")
        label.add_label_to_state("init", 0)
        label.add_label("goal")
        for state, payoff in model.terminal.items():
            if payoff:
                label.add_label_to_state("goal", state)
        parts = stormpy.models.SparseModelComponents(
            transition_matrix=matrix.build(),
            state_labeling=label,
            reward_models={"": stormpy.models.SparseRewardModel(optional_state_action_reward_vector=rewards)},
        )
        self.model = stormpy.models.SparseMdp(parts)
        discount = float(Fraction(model.discount))
        question = f"Rmax=? [ Cdiscount={discount} ]" if discount < 1 else 'Pmax=? [ F "goal" ]'
        self.question = stormpy.parse_properties(question)[0]

    def solve(self) -> None:
        import stormpy

        self.result = stormpy.model_checking(self.model, self.question)

    def values(self) -> Floats:
        return np.array([self.result.get_value(state) for state in range(self.model.nr_states)])


CONTESTANTS: dict[str, type[Contestant]] = {
    "mdpdice": Mdpdice,
    "QuantEcon": QuantEcon,
    "mdpsolver": MdpSolver,
    "pymdptoolbox": Toolbox,
    "Storm": Storm,
}


def installed(name: str) -> bool:
    """Whether the package of a contestant can be imported here."""
    return importlib.util.find_spec(CONTESTANTS[name].package) is not None
