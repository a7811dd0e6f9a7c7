"""The points of a lattice that play can reach, layer by layer.

Play starts at one core node and one point.  Layers are taken from the first to the last; in each,
everything that the marked entries lead to is marked (`numerics.kernels.reachable.spread`).
This is where the whole game is looked at for the first time, so it is here that faults are
found that depend on the counters: an option that is not there, a counter that leaves
its range, a progress that decreases.

A layer that leads to itself is cut into *parts* that do not lead to each other; where the two
sides of a race swap their scores, the two orders of the same two scores are a part.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Alone, Run
from mdpdice.errors import DeadEndError, GameError, MdpDiceError, RewardNotFiniteError, StateLimitError
from mdpdice.lattices.grid_tables import GridTables, Tables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layering import Ranks, rank_points
from mdpdice.lattices.program import Program, compile_program
from mdpdice.memory import available_bytes
from mdpdice.modelling.counters import At, forbidden_error
from mdpdice.networks.network import Bools, Ints, Kind
from mdpdice.numerics.kernels import reachable as kernels
from mdpdice.numerics.kernels.lattice import Columns
from mdpdice.numerics.threads import in_parallel, threads, workers

SLAB_BYTES = 8 << 20
"""Size of the tables for one piece of a layer."""
KEPT_SHARE = 4
"""One part in `KEPT_SHARE` of the memory that is left may hold tables that are needed again."""
AHEAD_UP_TO_POINTS = 1 << 16
"""Points of a layer whose tables are made while the layer before is looked at."""
LAYERS_FROM_EDGES = 400
"""Edges per layer from which play is followed a layer at a time; with fewer, the game is solved as a network."""


@attrs.frozen(eq=False)
class Layer:
    """One layer.

    Parameters
    ----------
    number : int
        Its number.
    points : ndarray of `Lattice.point_type`
        Those of its points that play can reach.
    part : ndarray of int64 or None
        For a layer that leads to itself: the part that every point belongs to.
    """

    number: int
    points: Ints
    part: Ints | None


@attrs.frozen(eq=False)
class Layers:
    """The layers of a lattice, and what can be reached.

    Parameters
    ----------
    program : Program
        The core.
    ranks : Ranks
        Which layers the grid has.
    layers : tuple of Layer
        Those that play can reach, the first one first.
    reached : ndarray of bool, shape (entries, points of the grid)
        Which values have to be stored.
    states, edges : int
        Size of the flat network with the same plays.
    tables : GridTables
        Where edges lead.
    kept : dict
        Tables that are kept, by layer and place in it.
    """

    program: Program
    ranks: Ranks
    layers: tuple[Layer, ...]
    reached: Bools
    states: int
    edges: int
    tables: GridTables
    kept: dict[tuple[int, int], Tables] = attrs.field(factory=dict)

    @property
    def lattice(self) -> Lattice:
        """The lattice."""
        return self.program.lattice

    @cached_property
    def cyclic(self) -> bool:
        """Whether some layer leads to itself."""
        return any(layer.part is not None for layer in self.layers)

    def tables_of(self, layer: Layer, at: int, first: int, last: int) -> Tables:
        """Return the tables of piece `at` of a layer, its points from `first` to `last`."""
        kept = self.kept.get((layer.number, at))
        return self.tables.at(layer.points[first:last]) if kept is None else kept

    def nodes_at(self, tables: Tables) -> Bools:
        """Find the core nodes that play comes to at the points of some tables: shape (N, points)."""
        lattice, program = self.lattice, self.program
        found = np.zeros((lattice.n_nodes, len(tables.points)), dtype=np.bool_)
        found[program.entries] = self.reached[:, tables.points]
        ptr, dst, guard = lattice.indptr.tolist(), lattice.dst.tolist(), lattice.guard.tolist()
        inside = ((program.stored < 0) & (lattice.weight > 0)).tolist()
        for node in program.order[::-1].tolist():
            here = found[node]
            if not here.any():
                continue
            for edge in range(ptr[node], ptr[node + 1]):
                if inside[edge]:
                    found[dst[edge]] |= here if guard[edge] < 0 else here & tables.guards[guard[edge]]
        return found


def find_layers(lattice: Lattice, run: Run | None = None) -> Layers:
    """Find the layers of a lattice and mark what play can reach.

    Raises
    ------
    CounterRangeError, DeadEndError
        At a point that play can reach, an update leaves the grid or a decision has no option.
    GameError
        The declared progress decreases along an edge.
    StateLimitError
        The marks and values would not fit the memory.
    """
    found = _find(lattice, Run() if run is None else run, available_bytes() * 4 // 5)
    assert found is not None
    return found


def find_large_layers(lattice: Lattice, run: Run, *, max_bytes: int | None = None) -> Layers | None:
    """Find layers, or None where a layer holds so little that play is followed faster point by point.

    Parameters
    ----------
    lattice : Lattice
        The lattice.
    run : Run
        Told after every layer how many states and edges were found so far.
    max_bytes : int, optional
        Largest memory, in bytes; by default four fifths of the available memory.
    """
    limit = available_bytes() * 4 // 5 if max_bytes is None else max_bytes
    return _find(lattice, run, limit, least=LAYERS_FROM_EDGES)


def _find(lattice: Lattice, run: Run, limit: int, least: int = 0) -> Layers | None:
    program, ranks = compile_program(lattice), rank_points(lattice)
    spare = max(0, available_bytes() - _check_memory(program, ranks, limit, run)) // KEPT_SHARE // run.team.local
    if lattice.n_edges * lattice.size < least * ranks.count:
        return None
    spread = _Spread(program, ranks, run, "found", spare, limit)
    found = spread.run()
    if spread.itself:
        # Every process looks at all points then: the parts of a layer depend on the order in which they are found.
        found = _Spread(program, attrs.evolve(ranks, strict=False), run, "found", spare, limit).run()
    if found is None:
        # What was inferred from a sample does not hold everywhere, so nothing is inferred.
        found = _Spread(program, rank_points(lattice, infer=False), run, "again", spare, limit).run()
        assert found is not None
    return found


def _check_memory(program: Program, ranks: Ranks, limit: int, run: Run, points: int = 0) -> int:
    """Return the bytes that all processes of this machine need, if they may be used and play can reach some points."""
    size, entries, width = program.lattice.size, len(program.entries), program.lattice.point_type.itemsize
    on_disk = run.checkpoint is not None or run.team.folder is not None
    # The layer of every point, the process that solved it and, if layers lead to themselves, order and place, twice.
    each = 2 + (2 if run.team.size > 1 else 0) + (0 if ranks.strict else 4 + 2 * width)
    # Layers are ranked and put in order; what was reached is listed by layer, and twice by the check.
    own = size * each + 28 * ranks.combinations + points * (3 * width + (0 if ranks.strict else 16))
    needed = own * run.team.local + size * entries * (1 if on_disk else 9)
    if needed > limit:
        msg = (
            f"the lattice has {size:,} points and {entries} core nodes whose values are stored: about "
            f"{needed / 1e9:.1f} GB, and {limit / 1e9:.1f} GB may be used. Give the counters smaller ranges or larger "
            "steps, or let fewer core states be entered by edges that change counters; where play comes to few of the "
            "points, solve game.unrolled(); with a checkpoint in a folder values lie there, and less memory is taken"
        )
        raise StateLimitError(msg, explored=points, frontier=[], value=needed, limit=limit)
    return needed


class _Spread:
    """Marks what can be reached; `series` is the name in a checkpoint, and kept tables have `spare` bytes at most."""

    def __init__(self, program: Program, ranks: Ranks, run: Run, series: str, spare: int, limit: int) -> None:
        self.program = program
        self.lattice = lattice = program.lattice
        self.ranks = ranks
        self.tables = GridTables(lattice)
        self.progress = run
        self.series = series
        self.team = run.team if ranks.strict else Alone()
        self.itself = self.back = False  # whether a layer turned out to lead to itself, or to an earlier one
        self.reached = self.team.marks((len(program.entries), lattice.size))
        self.reached[0, lattice.start_point] = True
        self.place = np.zeros(0, dtype=lattice.point_type)
        self.counts = np.zeros(2, dtype=np.int64)
        self.spare = spare
        self.limit = limit
        self.kept: dict[tuple[int, int], Tables] = {}
        self.ahead: Future[tuple[Ints, Tables]] | None = None

    @cached_property
    def _core(self) -> Any:
        lattice, program = self.lattice, self.program
        reads = program.stored >= 0
        (port_entry, port_update), port = _distinct(program.stored[reads], lattice.update[reads])
        into = lattice.dst.astype(np.int64)
        into[reads] = lattice.n_nodes + port
        depends = (lattice.weight <= 0) | (lattice.guard >= 0) | (lattice.reward >= 0) | reads
        source = np.repeat(np.arange(lattice.n_nodes), np.diff(lattice.indptr))
        (possible, chance, guard, update, reward), sort = _distinct(
            lattice.weight > 0, lattice.kind[source] == Kind.CHANCE, lattice.guard, lattice.update, lattice.reward
        )
        free = np.bincount(source[depends], minlength=lattice.n_nodes) == 0
        plain = (lattice.kind != Kind.END) & free
        order = program.order[::-1]
        inner = (lattice.weight > 0) & ~reads
        group = _grouped(lattice, order, plain, inner, program.entries)
        degree = np.diff(lattice.indptr)
        leaves = np.flatnonzero(plain[source] & (group[source] != group[lattice.dst]))
        onward = np.unique(np.stack((group[source[leaves]], group[lattice.dst[leaves]]), axis=1), axis=0)
        # Tables have one row more than there are updates: no update at all; the words of guards and rewards, too.
        return kernels.Core(
            kind=lattice.kind,
            group=group,
            named=np.bincount(group[lattice.node_state >= 0], minlength=lattice.n_nodes),
            edges=np.bincount(group, np.where(plain, degree, 0), minlength=lattice.n_nodes).astype(np.int64),
            onward_ptr=np.searchsorted(onward[:, 0], np.arange(lattice.n_nodes + 1)),
            onward=np.ascontiguousarray(onward[:, 1]),
            plain=plain,
            indptr=lattice.indptr.astype(np.uint64),
            order=order[~plain[order] | (group[order] == order)],
            into=into.astype(np.uint64),
            sort=sort.astype(np.uint64),
            possible=possible,
            chance=chance,
            guard=or_last(guard, len(lattice.guards)),
            update=or_last(update, len(lattice.updates)),
            reward=or_last(reward, len(lattice.rewards)),
            payoff=or_last(lattice.payoff, len(lattice.rewards)),
            port_entry=port_entry,
            port_update=or_last(port_update, len(lattice.updates)),
            entries=program.entries,
        )

    def run(self) -> Layers | None:
        """Return the layers; None if a progress that was inferred turns out to decrease."""
        ranks = self.ranks
        file = self.progress.checkpoint
        layers, begin = self._resumed(ranks.count)
        points = sum(len(layer.points) for layer in layers)
        with workers() as pool:
            for number in range(begin, ranks.count):
                self.progress.check()
                layer = self._layer(pool, number)
                if layer is None:
                    return None
                if len(layer.points):
                    layers.append(layer)
                    points += len(layer.points)
                    _check_memory(self.program, ranks, self.limit, self.progress, points)
                due = file is not None and bool(layers) and file.due(1.0)
                states, edges, itself, back, now = self._summed(due=due)
                self.itself, self.back = itself > 0, back > 0
                if itself or back:
                    return None
                self.progress.tell("explore", layers=number + 1, of=ranks.count, states=states, edges=edges)
                if now:
                    self.team.merge(self.reached, np.s_[:])
                if now and file is not None:
                    file.put(self.series, self._state(layers, number + 1, (states, edges)))
        states, edges, *_ = self._summed()
        return Layers(self.program, ranks, tuple(layers), self.reached, states, edges, self.tables, self.kept)

    def _summed(self, *, due: bool = False) -> list[int]:
        """Return what all processes counted and met, once they have come here."""
        numbers = np.zeros((self.team.size, 5))
        numbers[self.team.rank] = *self.counts, self.itself, self.back, due
        found: list[int] = self.team.joined(numbers).sum(axis=0).astype(int).tolist()
        return found

    def _state(self, layers: list[Layer], done: int, counts: tuple[int, int]) -> dict[str, NDArray[Any]]:
        """Return what is kept in a checkpoint; another process may already be marking what comes later."""
        none: list[Ints] = [np.zeros(0, dtype=np.int64)]
        points = np.concatenate(none + [layer.points for layer in layers])
        return {
            "done": np.array([done]),
            "counts": np.array(counts),
            "reached": np.packbits(self.reached),
            "length": np.array([len(layer.points) for layer in layers], dtype=np.int64),
            "cyclic": np.array([layer.part is not None for layer in layers], dtype=np.bool_),
            "points": points.astype(self.lattice.point_type),
            "part": np.concatenate(none + [layer.part for layer in layers if layer.part is not None]),
        }

    def _resumed(self, count: int) -> tuple[list[Layer], int]:
        """Layers that an earlier solve found, and how many it looked at; marks may be wrong, nothing else."""
        file, team, size = self.progress.checkpoint, self.progress.team, self.lattice.size
        state = team.handed(lambda: None if file is None else file.state(self.series))
        if state is None:
            return [], 0
        with team.together(), nullcontext() if file is None else file.last(self.series).part(self.series):
            done, points, length = int(state["done"][0]), state["points"], state["length"]
            cuts = np.cumsum(length)
            inside = (length > 0).all() and (length <= len(points)).all() and cuts[-1] == len(points)
            if not (inside and 0 < done <= count and ((points >= 0) & (points < size)).all()):
                raise ValueError("its layers are out of range")
            number, part = self.ranks.layer[points], np.full(len(points), -1)
            part[np.repeat(state["cyclic"], length)] = state["part"]
            at = number[cuts - 1].astype(np.int64)
            inside = (np.repeat(at, length) == number).all() and ((part >= -1) & (part < size)).all()
            if not (inside and (np.diff(at) > 0).all()):
                raise ValueError("its points are not those of its layers")
            marks = np.unpackbits(state["reached"], count=self.reached.size).view(np.bool_)
            self.counts[:] = state["counts"] if self.team.rank == 0 else 0
            self.reached[:] = marks.reshape(self.reached.shape)
            pieces = np.split(points, cuts[:-1]), np.split(part, cuts[:-1]), state["cyclic"]
            layers = [
                Layer(n, own, parts if itself else None)
                for n, own, parts, itself in zip(at.tolist(), *pieces, strict=True)
            ]
        self.progress.tell("resume", layers=done)
        return layers, done

    def _layer(self, pool: ThreadPoolExecutor, number: int) -> Layer | None:
        live = self._points(number, marked=True)
        if len(live) == 0:
            return Layer(number, live, None)
        if self.ranks.strict:
            before, (begin, end, _) = self.counts.copy(), self.team.share(len(live), number)
            pieces = [live[begin + first : begin + last] for first, last in slabs(self.lattice, end - begin)]
            back = loops = False
            # The tables of all pieces would not fit, only those that are kept.
            for at, (tables, itself) in enumerate(in_parallel(pool, self._piece, pieces)):
                back, loops = back or itself is None, loops or itself is True
                self._keep(number, at, tables)
            if self.team.size > 1:
                self.back, self.itself = self.back or back, self.itself or loops
            elif back:
                return None
            if self.team.size > 1 or not loops:
                return Layer(number, live, None)
            self.counts[:] = before
            self.kept.pop((number, 0), None)
        ready, self.ahead = self._ready(self._points(number)) if self.ahead is None else self.ahead.result(), None
        points, tables = ready
        if not self.ranks.strict and self.ranks.length(number + 1) <= AHEAD_UP_TO_POINTS:
            after = self._points(number + 1)
            if self.reached[:, after].any():
                self.ahead = pool.submit(self._ready, after)
        parent = np.arange(len(points))
        itself = self._spread(tables, parent)
        if itself is None:
            return None
        live = np.flatnonzero(self.reached[:, points].any(axis=0))
        part = None
        if itself:
            while (parent[parent] != parent).any():
                parent = parent[parent]
            part = parent[live]
        self._keep(number, 0, tables.take(live))
        return Layer(number, points[live].astype(self.lattice.point_type), part)

    def _points(self, number: int, *, marked: bool = False) -> Ints:
        """Return the points of a layer in the order of the grid, all of them or those that play can reach."""
        found = [np.zeros(0, dtype=self.lattice.point_type)]
        for points in self.ranks.points(number):
            if marked:
                self.team.merge(self.reached, points)
            found.append(points[self.reached[:, points].any(axis=0)] if marked else points)
        return np.sort(np.concatenate(found))

    def _ready(self, points: Ints) -> tuple[Ints, Tables]:
        """Points of a layer in the order in which it is played, so that few rounds are needed, and their tables."""
        points = points[np.argsort(self.ranks.inner[points], kind="stable")]
        if not len(self.place):
            self.place = np.full(self.lattice.size, -1, dtype=self.lattice.point_type)
        self.place[points] = np.arange(len(points))
        return points, self.tables.at(points)

    def _piece(self, points: Ints) -> tuple[Tables, bool | None]:
        tables = self.tables.at(points)
        return tables, self._spread(tables, np.arange(len(points)))

    def _keep(self, number: int, at: int, tables: Tables) -> None:
        if tables.nbytes <= self.spare:
            self.spare -= tables.nbytes
            self.kept[number, at] = tables

    def _spread(self, tables: Tables, parent: Ints) -> bool | None:
        fault, counts = np.zeros(4, dtype=np.int64), np.zeros(2, dtype=np.int64)
        itself: bool = kernels.spread(
            self._core,
            Columns(**attrs.asdict(tables, recurse=False)),
            self.reached,
            np.zeros((len(self.program.entries), len(tables.points)), dtype=np.bool_),
            self.ranks.layer,
            self.place,
            parent,
            fault,
            counts,
        )
        self.counts += counts
        if fault[0] == kernels.GOES_BACK and not self.ranks.declared:
            return None
        if fault[0]:
            raise self._error(*fault.tolist())
        return itself

    def _error(self, what: int, at: int, point: int, to: int) -> Exception:
        lattice = self.lattice
        if what == kernels.GOES_BACK:
            edge = int(np.flatnonzero(self._core.into == lattice.n_nodes + at)[0])
            node = int(np.searchsorted(lattice.indptr, edge, side="right")) - 1
            msg = (
                f"progress() decreases along an edge to {lattice.counters(to)}: the layers of a lattice are "
                "solved from the last to the first, so no edge may lead back; declare what never decreases"
            )
            state, action = _blamed(lattice, node, point, edge)
            return GameError(msg, state=state, action=action, value=lattice.counters(to))
        if what == kernels.NO_OPTION:
            state, action = _blamed(lattice, at, point)
            if lattice.kind[at] == Kind.CHANCE:
                msg = "no case of a condition holds here, or a policy takes an action that is not available"
                return GameError(msg, state=state, action=action)
            msg = "no option is available here; give it one, or end the play"
            return DeadEndError(msg, state=state)
        if what == kernels.NO_PAYOFF:
            return self._undefined(_blamed(lattice, at, point), point, -1, int(lattice.payoff[at]))
        node = int(np.searchsorted(lattice.indptr, at, side="right")) - 1
        place = _blamed(lattice, node, point, at)
        if what == kernels.UNDEFINED:
            return self._undefined(place, point, int(lattice.guard[at]), int(lattice.reward[at]))
        counters = lattice.counters(point)
        axes = {axis.name: axis for axis in lattice.axes}
        try:
            for change in lattice.updates[int(lattice.update[at])]:
                wanted = change.value.evaluate(counters)
                if axes[change.name].place(wanted) is None:
                    return forbidden_error(axes[change.name], wanted).at(*place)
        except MdpDiceError as error:
            return error.at(*place)
        raise AssertionError(place)  # an update that leaves the grid takes a counter with it

    def _undefined(self, place: tuple[Any, Any], point: int, guard: int, reward: int) -> Exception:
        """Return the error that evaluating a condition or a reward raises."""
        lattice = self.lattice
        try:
            if guard >= 0:
                lattice.guards[guard].evaluate(lattice.counters(point))
            number = lattice.exact_reward_at(reward, point)
        except MdpDiceError as error:
            return error.at(*place)
        msg = f"a reward or payoff is {number!r}, which is not finite"
        return RewardNotFiniteError(msg, state=place[0], action=place[1], value=number)


def _grouped(lattice: Lattice, order: Ints, plain: Bools, inner: Bools, entries: Ints) -> Ints:
    """First nodes of groups, as `mdpdice.numerics.kernels.reachable.Core` has them; `inner` edges keep their point."""
    # The group that leads to a node: -1 nothing so far, -2 more than one, or what is not plain.
    leading = np.full(lattice.n_nodes, -1)
    leading[entries] = -2
    group = np.arange(lattice.n_nodes)
    for node in order.tolist():
        if leading[node] >= 0:
            group[node] = leading[node]
        edges = slice(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
        onward = lattice.dst[edges][inner[edges]]
        here = group[node] if plain[node] else -2
        leading[onward] = np.where((leading[onward] == -1) | (leading[onward] == here), here, -2)
    return group


def _distinct(*columns: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the columns of the different rows, and which of them every row is."""
    rows, index = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_inverse=True)
    return np.ascontiguousarray(rows.T), index.reshape(-1)


def or_last(numbers: NDArray[Any], last: int) -> Ints:
    """Put the number of a last row in place of -1."""
    return np.where(numbers < 0, last, numbers).astype(np.int64)


def _blamed(lattice: Lattice, node: int, point: int, edge: int | None = None) -> tuple[At[Any], Any]:
    """State of a core node at a point, and the action of an edge of it; None for an edge that is not an option.

    Nodes inside an option, and ends, have the state and the action that lead there.
    """
    action = None
    seen = set()
    while True:
        decides = lattice.kind[node] in (Kind.MAX, Kind.MIN)
        if edge is not None and action is None and decides and len(lattice.actions):
            action = lattice.actions[lattice.first_action(node) + edge - int(lattice.indptr[node])]
        entering = np.flatnonzero(lattice.dst == node)
        if lattice.node_state[node] >= 0 or node in seen or not len(entering):
            break
        seen.add(node)
        edge = int(entering[0])
        node = int(np.searchsorted(lattice.indptr, edge, side="right")) - 1
    state = lattice.states[int(lattice.node_state[node])] if lattice.node_state[node] >= 0 else f"node {node}"
    return At(state, **lattice.counters(point)), action


def slabs(lattice: Lattice, length: int) -> list[tuple[int, int]]:
    """Pieces of a list of points whose tables have a handy size."""
    column = (
        lattice.point_type.itemsize * (len(lattice.updates) + 1) + len(lattice.guards) + 8 * len(lattice.rewards) + 8
    )
    size = max(512, SLAB_BYTES // column // 64 * 64)
    # As many pieces as there are processors, where the list is long enough.
    size = min(size, max(512, -(-length // threads() // 64) * 64))
    return [(first, min(first + size, length)) for first in range(0, length, size)]
