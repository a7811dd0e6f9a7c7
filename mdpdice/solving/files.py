"""Solutions as files: sealed archives (`mdpdice.archives`) that are certified again when they are read.

A file holds the values and the policy (of a lattice its stored values), and which problem they answer; it proves
nothing.  The reader gives the game (and the objective) again.  The problem is made again and compared by its
digest, the answer is carried down to the canonical problem, and from there it takes the way of any answer that a
solver proposes: it is certified, or it comes out as uncertified, whatever the file claims.
"""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from typing import Any, ClassVar, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.node_values import Averages, NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.archives import Archive, Question, read_header, text_member, write_archive
from mdpdice.backend import Candidate, Feature, Run, Solver
from mdpdice.errors import PluginError, ProblemMismatchError
from mdpdice.lattices.digest import digest
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.objective import Objective, asked
from mdpdice.objectives.reductions import Lowering
from mdpdice.solving.average import PlanOfAverage
from mdpdice.solving.lattice_route import certified, compile_for, layers_of
from mdpdice.solving.pipeline import FlatPlan
from mdpdice.solving.problem import Problem, prepare

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

FORMAT = "mdpdice-solution"
VERSION = 3
ANSWER_DTYPES = {"header": ("|u1",), "values": ("<f8",), "policy": ("<i8",)}
_TEXTS = ("digest", "objective", "sense", "reason", "solver")
HEADER = {
    **dict.fromkeys(("format", "route", *_TEXTS, "status", "mdpdice"), str),
    **dict.fromkeys(("version", "iterations"), int),
    "horizon": (int, type(None)),
    "seconds": float,
}


def save_solution(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to a file, which is replaced at once or not at all."""
    write_archive(path, solution_members(solution))


def solution_members(solution: Solution, form: str = FORMAT, **more: Any) -> dict[str, NDArray[Any]]:
    """Return the members of an archive that hold a solution, with `more` entries in the header."""
    table = solution.table
    horizon, policy = None, np.zeros(0, dtype=np.int64)
    if isinstance(table, GridValues):
        # The decisions on a lattice follow from its values.
        route, values = "lattice", table.stored[table.layers.reached]
    else:
        route, values, policy, horizon = "flat", table.values, table.choice, table.network.horizon
        if isinstance(table, Averages):
            values, policy = np.array([values, table.gain, table.bias], np.float64), np.array([policy, table.keeping])
    header = {name: getattr(solution, name) for name in _TEXTS} | {"status": solution.status.value}
    header |= {"iterations": int(solution.iterations), "seconds": float(solution.seconds), "mdpdice": solution.version}
    header |= {"format": form, "version": VERSION, "route": route, "horizon": horizon, **more}
    return {"header": text_member(header), "values": values, "policy": policy}


def load_solution(
    path: str | os.PathLike[str], game: Game[S, A] | Network | Lattice, objective: Objective | None = None, *,
    horizon: int | None = None, epsilon: float = 1e-6, prove: bool = True, max_states: int = 10_000_000,
) -> Solution:  # fmt: skip
    """Implement `Solution.load`; exact solutions come as certified ones."""
    file = Archive(os.fspath(path), ANSWER_DTYPES, "write it again with Solution.save", dimensions=2)
    members = file.read()
    header = read_header(file, members, FORMAT, VERSION, HEADER)
    if header["route"] not in ("flat", "lattice"):
        raise file.corrupt("route", repr(header["route"]))
    with file.part("status"):
        claimed = Status(header["status"])
    read, chosen = SavedAnswer(file, header, members, claimed), asked(game, objective)
    if header["route"] == "lattice" and not isinstance(game, Network):
        return load_lattice(read, game, chosen, horizon, epsilon, max_states, prove=prove)
    if isinstance(game, Lattice):
        raise read.mismatch("route", Question(str(chosen), chosen.wanted(game)))
    problem = prepare(game, chosen, horizon=horizon, max_states=max_states)
    return load_flat(read, problem, epsilon, prove=prove)


@attrs.frozen
class SavedAnswer:
    """What a file holds."""

    file: Archive
    header: dict[str, Any]
    members: dict[str, NDArray[Any]]
    claimed: Status

    def mismatch(self, field: str, asked: Question) -> ProblemMismatchError:
        """Return the error about another question."""
        saved = Question(self.header["objective"], self.header["sense"], self.header["horizon"])
        return self.file.mismatch(field, saved, asked, "Solution.load(path, game, objective, horizon=...)")

    def made(self, digest: str, asked: Question) -> Provenance:
        """Who found the answer, which must be one to the question that is asked."""
        header = self.header
        for field, right in (("digest", digest), ("sense", asked.sense)):
            if header[field] != right:
                raise self.mismatch(field, asked)
        who = header["solver"], asked.objective, asked.sense
        return Provenance(*who, header["iterations"], header["seconds"], header["mdpdice"])

    def table(self, network: Network, lowers: Floats, uppers: Floats, exact: Any = None) -> NodeValues:
        """Return the numbers: below averages stand gains and biases, below choices the edges that stay."""
        values, policy = self.members["values"], self.members["policy"]
        if values.ndim == 1 or network.horizon is not None:
            return NodeValues(network, values, lowers, uppers, policy, exact)
        proof: dict[str, Any] = {"gain": values[1], "bias": values[2], "keeping": policy[1]}
        proof["reward"] = self.members.get("costs", np.zeros(network.n_edges))
        return Averages(network, values[0], lowers, uppers, policy[0], exact, **proof)

    def unproved(self) -> str:
        """Why the answer is not proved, without `prove`."""
        return f"the file says {self.claimed.value}, and prove=False leaves it at that"


def load_lattice(
    read: SavedAnswer, game: Game[Any, Any] | Lattice, chosen: Objective, horizon: int | None, epsilon: float,
    max_states: int = 10_000_000, *, prove: bool,
) -> Solution:  # fmt: skip
    """Return the answer on the lattice of a game."""
    started, sense = time.perf_counter(), chosen.wanted(game)
    question = Question(str(chosen), sense, horizon)
    if horizon is not None:
        raise read.mismatch("horizon", question)
    lattice = game if isinstance(game, Lattice) else compile_for(game, chosen, max_states=max_states)
    layers = layers_of(lattice, chosen, Run())
    made = read.made(digest(layers.lattice), question)
    values = read.members["values"]
    if values.shape != (int(layers.reached.sum()),):
        raise read.file.corrupt("values", "it does not have a value for everything that is stored")
    stored = np.full(layers.reached.shape, np.nan)
    stored[layers.reached] = values
    if not prove:
        table = GridValues(layers, stored, np.full(len(layers.layers), np.inf), sense)
        return Solution(table, Status.UNCERTIFIED, made, reason=read.unproved())
    found = certified(layers, stored, made, Run(), epsilon, started)
    return attrs.evolve(found, provenance=made)


def load_flat(read: SavedAnswer, problem: Problem, epsilon: float, *, prove: bool) -> Solution:
    """Return the answer on the network of a problem."""
    file, header, members, claimed = read.file, read.header, read.members, read.claimed
    question = Question(problem.objective, problem.sense, problem.network.horizon)
    made = read.made(problem.network.digest, question)
    value, policy, net = members["values"], members["policy"], problem.network
    shape = (net.n_nodes,) if net.horizon is None else (net.horizon + 1, net.n_nodes)
    for name, array, rows in (("values", value, (3,)), ("policy", policy, (2,))):
        right = (*rows, *shape) if problem.averaged else shape
        if array.shape != right:
            raise file.corrupt(name, f"it has shape {array.shape}, not {right}")
    if (policy < -1).any() or (policy >= net.n_edges).any():
        raise file.corrupt("policy", "it refers to edges that do not exist")
    if problem.averaged and not np.isfinite(value).all():
        raise file.corrupt("values", "not all of them are finite")
    table = read.table(net, np.full(shape, -np.inf), np.full(shape, np.inf))
    if not prove:
        return Solution(table, Status.UNCERTIFIED, made, reason=read.unproved())

    def again(one: Problem) -> FlatPlan:
        lowered, below, before = table.values, table.choice, net
        for lowering in one.lowerings:
            lowered, below = _carried_down(lowering, before, lowered, below)
            before = lowering.network
        said = Candidate(lowered, below, header["iterations"], {"stopped": True} if claimed is Status.PARTIAL else {})
        # Its name is that of an object, not of a class, which is all that the protocol objects to.
        return FlatPlan(one, cast("Solver", _Stored(header["solver"], said)))

    first, value = again(problem), table.values
    way = PlanOfAverage(problem, first.solver, again, known=table) if isinstance(table, Averages) else first
    try:
        found = way.solve(Run(), epsilon)
    except PluginError as error:
        raise file.corrupt("answer", error.message) from error
    proved = found.nodes
    # Values that no canonical value stands for, such as infinite ones, were not looked at so far.
    finite = np.isfinite(proved.values) & np.isfinite(value)
    distance = np.abs(np.where(finite, proved.values, 0.0) - np.where(finite, value, 0.0))
    near = distance <= 1e-14 * np.maximum(1.0, np.abs(proved.values))
    if not np.where(finite, near, proved.values == value).all():
        what = "they contradict each other, or what the graph says about infinite values"
        raise file.corrupt("values", what)
    # The way down to the canonical problem and back may have changed a last digit.
    inside = (proved.lowers <= value) & (value <= proved.uppers)
    table = attrs.evolve(proved, values=np.where(inside, value, proved.values))
    status, reason = found.status, found.reason
    if claimed is Status.ESTIMATE or (status is Status.UNCERTIFIED and claimed is Status.PARTIAL):
        status = claimed
    if status is Status.UNCERTIFIED and claimed in (Status.CERTIFIED, Status.EXACT):
        reason = f"the file says {claimed.value}, but {reason}"
    made = attrs.evolve(made, details=found.details)
    return attrs.evolve(found, table=table, status=status, reason=reason, provenance=made)


@attrs.frozen
class _Stored:
    """A solver that remembers its answer."""

    name: str
    candidate: Candidate
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    @classmethod
    def available(cls) -> bool:
        return True

    def solve(self, problem: Network, run: Run) -> Candidate:
        return self.candidate


def _carried_down(lowering: Lowering, before: Network, value: Floats, policy: Ints) -> tuple[Floats, Ints]:
    """Return what a value and a policy are in the simpler network of a reduction."""
    net = lowering.network
    shape = (*value.shape[:-1], net.n_nodes)
    # Nodes that stand for none, such as the end where play stays for ever, keep their payoff.
    lowered = np.broadcast_to(net.payoff, shape).copy()
    # Written back to front, so that the first of several merged nodes is the one that counts.
    nodes = np.flatnonzero(lowering.node >= 0)[::-1]
    lowered[..., lowering.node[nodes]] = (value[..., nodes] - float(lowering.shift)) * lowering.scale
    lowered = np.where(net.kind == Kind.END, net.payoff, lowered)
    chosen = np.full(shape, -1)
    # An edge is taken where its original was; a new edge, which stands for none, if nothing else is.
    decided = np.flatnonzero(net.decides[net.source])[::-1]
    original = lowering.edge[decided]
    real = original >= 0
    chosen[..., net.source[decided[~real]]] = decided[~real]
    decided, original = decided[real], original[real]
    taken = policy[..., before.source[original]] == original
    for row, used in zip(np.atleast_2d(chosen), np.atleast_2d(taken), strict=True):
        row[net.source[decided[used]]] = decided[used]
    if value.ndim == 2:
        chosen[0] = -1
    return lowered, chosen
