r"""The linear program of a network as an LP or MPS file, through PuLP.

For the canonical problem of a network (end components without rewards merged, costs negated) with decisions D,
chance nodes C and the notation of `mdpdice.solvers.linear_programming`:

.. math::
    \min_v \sum_i v_i \quad \text{s.t.} \quad v_i \ge r_e + \gamma_e v_{j(e)}, \; i \in D, \qquad
    v_i = \sum_e w_e (r_e + \gamma_e v_{j(e)}), \; i \in C .

Every chance node stays a variable, so the program reads like the network; the variable of a node is ``v`` and
its number.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy.sparse import csr_array

from mdpdice.archives import replaced
from mdpdice.errors import UnsupportedError
from mdpdice.formats.decision_tables import choices, require_floats
from mdpdice.formats.line_reader import PathLike, require_network
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.reductions import unroll
from mdpdice.solvers.linear_programming.pulp_adapter import Program, write
from mdpdice.solving.problem import Problem, prepare


@attrs.frozen(eq=False)
class ProgramFile:
    """What was written, and how values are read from a solution of it."""

    names: tuple[str, ...]  # variables of the program
    problem: Problem  # the network, its canonical problem and the way back

    def values(self, solution: Any) -> Floats:
        """Values of the nodes of the network, shape (N,), from those of variables by name; 0 where one is missing."""
        canonical = self.problem.canonical
        value = canonical.payoff.copy()
        value[np.flatnonzero(canonical.kind != Kind.END)] = [float(solution.get(name, 0.0)) for name in self.names]
        for lowering in reversed(self.problem.lowerings):
            value = lowering.value(value)
        return value


def write_lp(network: Network, path: PathLike) -> ProgramFile:
    """Write the linear program of a network of one player, whose horizon is unrolled, in the LP format of CPLEX.

    `ProgramFile.values` turns a solution back into values of the nodes.  Two players are an `UnsupportedError`: their
    problem is not one linear program.
    """
    return _write(network, path, "lp")


def write_mps(network: Network, path: PathLike) -> ProgramFile:
    """Write the linear program of a network in the MPS format, as `write_lp` in the LP format."""
    return _write(network, path, "mps")


def _write(network: Network, path: PathLike, form: str) -> ProgramFile:
    require_network(network)
    if network.two_player:
        raise UnsupportedError("two players are not one linear program; solver='linear-programming' solves several")
    require_floats(network, f"a file of {form.upper()}")
    problem = prepare(network)
    canonical = problem.canonical
    if (unrolled := unroll(canonical)) is not None:
        problem = attrs.evolve(problem, lowerings=(*problem.lowerings, unrolled))
        canonical = unrolled.network
    nodes = np.flatnonzero(canonical.kind != Kind.END)
    names = tuple(f"v{node}" for node in nodes.tolist())
    # PuLP wants a name, and the file must appear at once or not at all.
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / f"program.{form}"
        write(_program(canonical, nodes), str(scratch), form, names)
        with replaced(Path(path)) as file, scratch.open("rb") as written:
            shutil.copyfileobj(written, file)
    return ProgramFile(names, problem)


def _program(network: Network, nodes: Ints) -> Program:
    end = network.kind == Kind.END
    # One row for every option, and one for every chance node.
    row, ptr = choices(network, ~end)
    owner = np.repeat(np.arange(len(nodes)), np.diff(ptr))
    m = len(owner)
    inside = ~end[network.dst]
    coef = network.weight * np.where(network.step, network.factor, 1.0)
    worth = network.weight * network.reward + np.where(inside, 0.0, coef * network.payoff[network.dst])
    number = (np.cumsum(~end) - 1)[network.dst]
    left = csr_array((np.ones(m), (np.arange(m), owner)), shape=(m, len(nodes)))
    right = csr_array((coef[inside], (row[inside], number[inside])), shape=(m, len(nodes)))
    return Program(
        maximise=False,
        cost=np.ones(len(nodes)),
        nonnegative=np.zeros(len(nodes), dtype=np.bool_),
        matrix=csr_array(left - right),
        rhs=np.bincount(row, worth, m).astype(np.float64),
        equal=~network.decides[nodes][owner],
    )
