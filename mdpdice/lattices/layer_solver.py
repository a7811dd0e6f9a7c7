"""The values of a lattice, layer by layer from the last to the first.

For an entry ``k`` (a core node whose value is stored) and a point ``g`` the store holds
``V(k, g)``.  At a point, all core nodes are computed from the store, successors first::

    V(i, g) = max, min or mean over the edges e of i of  r_e(g) + q_e,
    q_e = V(dst(e), g)              if e has no update, from the table of this point
        = V(dst(e), u_e(g))         if it has one, from the store
        = total - that              if the sides change

A layer that does not lead to itself is done with one such pass.  The others are swept part by part, within a sweep
points against the order in which they are played, so that a change travels through a part in one sweep.  Then
everything follows from the few values that a sweep reads before it has computed them, and those are found with few
sweeps (`mdpdice.numerics.kernels.feedback`).  Where they are many, or that does not help, sweeps go on until nothing
changes any more.  That the sweeps stopped proves nothing: `mdpdice.certification.checking.lattice`
finds out how far off the result is.

Blocks of points are independent, so those of a large layer are shared out to all processors.  A small layer is left to
one of them, since a sweep over half of the points of a run takes about as long; meanwhile another one gets the next
layer ready.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from functools import partial
from itertools import combinations_with_replacement, pairwise
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Candidate, Run
from mdpdice.errors import NotConvergedError, UnsupportedError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.program import Program
from mdpdice.lattices.reachable_layers import Layer, Layers, or_last, slabs
from mdpdice.networks.network import Bools, Floats, Ints, Kind
from mdpdice.numerics.kernels import lattice as kernels
from mdpdice.numerics.kernels.feedback import BROYDEN_UP_TO_FEEDBACK, Feedback, State, find, settle
from mdpdice.numerics.threads import in_parallel, workers

SWEEPS = 64
"""Sweeps between two checks of the time."""
PLAIN_AFTER_SWEEPS = 64
"""Sweeps after which a layer whose feedback has not settled is swept again, without Broyden's method."""
SPLIT_FROM_POINTS_PER_RUN = 16
"""Points per run and group, on average, from which a layer that leads to itself is split for threads and processes."""
SPLIT_FROM_VALUES = 1 << 17
"""Values per group, of rows of the program at points, from which that is done."""
MOST_GROUPS = 8
"""Groups of a layer whose tables are not large; how many there are depends on the game alone, and the bits on them."""
CHUNK_BYTES = 32 << 20
"""Size of the tables for one group of parts."""


def solve_layers(layers: Layers, run: Run, *, max_sweeps: int = 100_000) -> tuple[Floats, int]:
    """Values of all entries at all points that play can reach.

    Parameters
    ----------
    layers : Layers
        What to solve.
    run : Run
        Its deadline and cancel flag are looked at between pieces of a layer.
    max_sweeps : int
        Largest number of sweeps over one part of a layer that leads to itself.

    Returns
    -------
    values : ndarray of float64, shape (entries, points of the grid)
        NaN where nothing is stored.
    sweeps : int
        Largest number of sweeps that a layer took.

    Raises
    ------
    NotConvergedError
        The sweeps did not suffice.
    SolveInterrupted
        The solve was cancelled or is out of time.
    """
    team = run.team
    values = team.room(layers.reached.shape, run.checkpoint)
    place = np.empty(layers.lattice.size if layers.cyclic else 0, dtype=layers.lattice.point_type)
    rows = _folded(_rows(layers.program))
    work = _Work(layers, values, place, rows, *_reads(layers.program, rows), run, max_sweeps)
    (done, most), ahead = _resumed(work), None
    run.offer(lambda: Candidate(values, np.zeros(0, dtype=np.int64), done))
    with workers() as pool:
        for at in range(len(layers.layers) - 1 - done, -1, -1):
            layer = layers.layers[at]
            with team.together():
                run.check()
                if layer.part is None:
                    first, last, owner = team.share(len(layer.points), layer.number)
                    pieces = [(first + begin, first + end) for begin, end in slabs(layers.lattice, last - first)]
                    # Tables were kept of the same pieces, unless every process looked for all of them.
                    kept = team.size == 1 or layers.ranks.strict
                    jobs = [(work, layer, one if kept else -1, piece) for one, piece in enumerate(pieces)]
                    for _ in in_parallel(pool, _settle, jobs):
                        run.check()
                else:
                    groups, owner = _groups(work, layer) if ahead is None else ahead.result()
                    ahead = None
                    if at > 0 and _small(work, layers.layers[at - 1]):
                        ahead = pool.submit(_groups, work, layers.layers[at - 1])
                    for sweeps in in_parallel(pool, partial(_iterate, work), groups):
                        most = max(most, sweeps)
            team.exchange(values, layer.points, owner)
            done += 1
            for number, _ in enumerate(slabs(layers.lattice, len(layer.points))):
                layers.kept.pop((layer.number, number), None)
            run.tell("solve", layers=done, of=len(layers.layers))
            run.step(work.kept, layer, most)
    return values, int(team.joined(np.array([float(most)]))[0])


@attrs.frozen(eq=False)
class _Work:
    """What is being solved, where to, the entries and updates of all that is read from there, and by which entry."""

    layers: Layers
    values: Floats
    place: Ints
    rows: Any
    reads: Ints
    used_ptr: Ints
    used: Ints
    run: Run
    max_sweeps: int

    def kept(self, layer: Layer, sweeps: int) -> dict[str, Any]:
        """Return what a checkpoint keeps of a layer."""
        values = self.values[:, layer.points][self.layers.reached[:, layer.points]]
        return {"values": values, "sweeps": np.array([sweeps])}


def _resumed(work: _Work) -> tuple[int, int]:
    """Fill in what an earlier solve has done: how many layers, and its largest number of sweeps."""
    layers, file = work.layers, work.run.checkpoint
    done, most = 0, 1
    steps, team = work.run.steps(), work.run.team
    while (step := team.handed(lambda: next(steps, None))) is not None:
        with team.together(), nullcontext() if file is None else file.last("steps").part("steps"):
            points = layers.layers[len(layers.layers) - 1 - done].points
            marks = layers.reached[:, points]
            here = np.full(marks.shape, np.nan)
            here[marks] = step["values"]
            done, most = done + 1, int(step["sweeps"][0])
        work.values[:, points] = here
    if done:
        work.run.tell("resume", layers=done)
    return done, most


def _reads(program: Program, rows: Any) -> tuple[Ints, Ints, Ints]:
    """Entry and update of everything that is read, and what is read by which entry."""
    stored = rows.entry >= 0
    pairs = np.stack((rows.entry[stored], rows.update[stored]))
    reads, number = np.unique(pairs, axis=1, return_inverse=True)
    used = np.zeros((len(stored), reads.shape[1]), dtype=bool)
    used[np.flatnonzero(stored), number.reshape(-1)] = True
    for row in np.flatnonzero(~stored).tolist():
        args = rows.arg[rows.indptr[row] : rows.indptr[row + 1]]
        used[row] = used[args if rows.source[row] < 0 else rows.source[row : row + 1]].any(axis=0)
    by, number = np.nonzero(used[program.entry_row])
    return reads, np.searchsorted(by, np.arange(len(program.entries) + 1)), number


@attrs.frozen(eq=False)
class _Group:
    """Parts of a layer that are swept together, with all that stays the same from sweep to sweep.

    `feedback` is None where that of some part is too much.
    """

    columns: Any
    marks: Bools
    blocks: Ints
    runs: Ints
    feedback: Any


def kernel_arguments(program: Program, tables: Tables, values: Floats) -> tuple[Any, Any, Floats]:
    """Arguments of the kernels: rows, columns and the store."""
    return _rows(program), _columns(tables), values


def _rows(program: Program) -> Any:
    own = program.kind, program.indptr, program.arg, program.weight, program.source, program.entry
    update = or_last(program.update, len(program.lattice.updates))
    rest = program.reward, program.flip, program.guard, program.neutral, program.entry_row, float(program.lattice.total)
    return kernels.Rows(*own, update, *rest)


def _folded(rows: Any) -> Any:
    """Let decisions read earlier ones whose options are all among theirs, which leaves fewer numbers to compare."""
    args = [rows.arg[first:end].tolist() for first, end in pairwise(rows.indptr.tolist())]
    options = [set(own) for own in args]
    # By kind and last option.
    known: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, kind in enumerate(rows.kind.tolist()):
        if kind in (Kind.MAX, Kind.MIN):
            left, folded = options[row].copy(), list[int]()
            within = [one for arg in args[row] for one in known[kind, arg] if options[one] <= options[row]]
            for one in sorted(within, key=lambda one: -len(options[one])):
                if len(options[one] & left) > 1:
                    left -= options[one]
                    folded.append(one)
            known[kind, max(args[row])].append(row)
            args[row] = folded + [arg for arg in args[row] if arg in left]
    length, mean = np.array([len(own) for own in args]), rows.kind == Kind.CHANCE
    weight = np.ones(length.sum())
    weight[np.repeat(mean, length)] = rows.weight[np.repeat(mean, np.diff(rows.indptr))]
    indptr, arg = np.concatenate(([0], np.cumsum(length))), np.concatenate(args).astype(np.int64)
    return rows._replace(indptr=indptr, arg=arg, weight=weight)


def _columns(tables: Tables) -> Any:
    return kernels.Columns(tables.points, tables.targets, tables.guards, tables.unknown, tables.rewards)


def _settle(job: tuple[_Work, Layer, int, tuple[int, int]]) -> None:
    work, layer, at, (first, last) = job
    layers = work.layers
    work.run.check()
    tables = layers.tables_of(layer, at, first, last)
    blocks = np.append(np.arange(0, last - first, kernels.WIDTH), last - first)
    marks = layers.reached[:, tables.points]
    kernels.sweep(_sweep(work, _columns(tables), marks, blocks, np.arange(len(blocks))))


def _sweep(work: _Work, columns: Any, marks: Bools, blocks: Ints, runs: Ints) -> Any:
    # Rows that are no longer than needed stay in the cache.
    width = -(-int(np.diff(blocks).max()) // 16) * 16
    table, fresh = np.zeros((len(work.rows.kind), width)), np.empty(marks.shape)
    return kernels.Sweep(work.rows, columns, work.values, marks, blocks, runs, table, fresh)


def _small(work: _Work, layer: Layer) -> bool:
    """Whether a layer leads to itself, and its tables may be there together with those of another layer."""
    tables = work.layers.kept.get((layer.number, 0))
    return layer.part is not None and tables is not None and tables.nbytes <= CHUNK_BYTES


def _groups(work: _Work, layer: Layer) -> tuple[list[_Group], NDArray[np.int16]]:
    """Return the parts of a layer in groups, ready to be swept, and which process sweeps every point."""
    layers, team = work.layers, work.run.team
    length = len(layer.points)
    tables = layers.tables_of(layer, 0, 0, length)
    assert layer.part is not None
    # The points of a layer are in the order in which they are played.
    inner = layers.ranks.inner[layer.points]
    runs = int(np.count_nonzero(np.diff(inner))) + 1
    enough = min(length // (SPLIT_FROM_POINTS_PER_RUN * runs), length * layers.program.n_rows // SPLIT_FROM_VALUES)
    pieces = max(1, -(-tables.nbytes // CHUNK_BYTES), min(MOST_GROUPS, enough))
    part, group = layer.part, np.zeros(length, dtype=np.int64)
    if pieces > 1:
        _, part, size = np.unique(part, return_inverse=True, return_counts=True)
        # Parts are put together in their order until a group has its share of the points.
        group = ((np.cumsum(size) - size) * pieces // length)[part]
    owner = ((group * team.size // pieces + layer.number) % team.size).astype(np.int16)
    order = np.argsort(group, kind="stable")
    shares = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    groups = [
        _ready(work, tables if pieces < 2 else tables.take(columns), part[columns], inner[columns])
        for columns in shares
        if owner[columns[0]] == team.rank
    ]
    return groups, owner


def _ready(work: _Work, tables: Tables, part: Ints, inner: Ints) -> _Group:
    points = tables.points
    marks = work.layers.reached[:, points]
    work.place[points] = np.arange(len(points))
    columns = _columns(tables)
    blocks, runs = _blocks(inner, kernels.WIDTH)
    group = _Group(columns, marks, blocks, runs, _feedback(work, columns, marks, part, blocks[runs]))
    _begin(work, group)
    return group


def _begin(work: _Work, group: _Group) -> None:
    # An endless play is worth half of the total to both sides, and what it collected without pass_to.
    half = float(work.layers.lattice.total) / 2
    work.values[:, group.columns.points] = np.where(group.marks, half, np.nan)


def _feedback(work: _Work, columns: Any, marks: Bools, part: Ints, starts: Ints) -> Any:
    """Return what a sweep reads before it has computed it; None if that is too much."""
    turn = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    bit: Ints = np.zeros(marks.shape, dtype=np.int64)
    needs: Ints = np.zeros_like(bit)
    part = part - part.min()
    ptr = np.zeros(int(part.max()) + 2, dtype=np.int64)
    if not find(work.reads, work.used_ptr, work.used, columns, marks, part, turn, work.place, bit, needs, ptr):
        return None
    entry, at = np.nonzero(bit)
    order = np.lexsort((bit[entry, at], part[at]))
    entry, at = entry[order], at[order]
    return Feedback(np.cumsum(ptr), entry, at, needs[entry, at])


def _iterate(work: _Work, group: _Group) -> int:
    sweep = _sweep(work, group.columns, group.marks, group.blocks, group.runs)
    done, change = 0, np.inf
    if group.feedback is not None:
        work.run.check()
        settled, done, change = _quick(work, sweep, group.feedback, min(PLAIN_AFTER_SWEEPS, work.max_sweeps))
        if settled:
            return done
        _begin(work, group)
    tolerance, sweeps = 0.0, 1
    while done < work.max_sweeps:
        work.run.check()
        at_once = min(sweeps, work.max_sweeps - done)
        change, took = kernels.iterate(sweep, tolerance, at_once)
        done += took
        if change <= tolerance and sweeps > 1:
            return int(done)
        sweeps = SWEEPS
        # After the first sweep the size of the values is known.
        size = float(np.abs(work.values[:, group.columns.points]).max(initial=0.0, where=group.marks))
        tolerance = kernels.SMALLEST * size if np.isfinite(size) else 0.0
    msg = (
        f"a layer of the lattice still changes by {change:.3g} after {work.max_sweeps:,} sweeps; solve the flat "
        "network, solve(explore(game)), or declare a progress() that splits the layers"
    )
    raise NotConvergedError(msg, iterations=done, width=float(change))


def _quick(work: _Work, sweep: Any, feedback: Any, sweeps: int) -> tuple[bool, int, float]:
    """Sweep until the feedback settles: whether it did, the number of sweeps, and the last residual."""
    count, parts = len(feedback.at), len(feedback.ptr) - 1
    state = State(
        x=np.zeros(count),
        before=np.zeros(count),
        result=np.zeros(count),
        slope=np.zeros((count, BROYDEN_UP_TO_FEEDBACK)),
        guess=_guess(work, feedback.entry, sweep.columns.points[feedback.at]),
        worst=np.full(parts, np.inf),
        strikes=np.zeros(parts, dtype=np.int64),
    )
    return settle(sweep, feedback, state, sweeps)


def _guess(work: _Work, entry: Ints, points: Ints) -> Floats:
    """Return what values may be, going by those beside them in later layers; NaN where there are none."""
    lattice, layer = work.layers.lattice, work.layers.ranks.layer

    def beside(*moves: tuple[int, int]) -> Floats:
        to, inside = points, np.ones(len(points), dtype=bool)
        for axis, by in moves:
            place = to // lattice.strides[axis] % lattice.shape[axis] + by
            inside &= (place >= 0) & (place < lattice.shape[axis])
            to = np.where(inside, to + by * lattice.strides[axis], points)
        return np.where(inside & (layer[to] > layer[points]), work.values[entry, to], np.nan)

    sides = {move: beside(move) for move in ((axis, by) for axis in range(len(lattice.axes)) for by in (1, -1))}
    sides = {move: worth for move, worth in sides.items() if not np.isnan(worth).all()}
    found = np.full(len(points), np.nan)
    # From two sides if possible, else from two steps to one side.
    for one, other in sorted(combinations_with_replacement(sides, 2), key=lambda both: both[0] == both[1]):
        if not np.isnan(found).any():
            break
        found = np.where(np.isnan(found), sides[one] + sides[other] - beside(one, other), found)
    return found


def _blocks(inner: Ints, width: int) -> tuple[Ints, Ints]:
    """Return the starts of blocks of at most `width` points of equal order, and the first block of every order."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(inner)) + 1, [len(inner)]))
    count = -(-np.diff(starts) // width)
    runs = np.concatenate(([0], np.cumsum(count)))
    blocks = np.repeat(starts[:-1] - runs[:-1] * width, count) + np.arange(runs[-1]) * width
    return np.append(blocks, len(inner)), runs


def refuse_averaged(lattice: Lattice) -> None:
    """Refuse a lattice with means of rewards that differ, for questions about more than the mean total."""
    if lattice.averaged:
        msg = (
            "this lattice holds means of rewards that differ, so the distribution of totals is lost; "
            "solve(compile_lattice(game, merge=False)) keeps it"
        )
        raise UnsupportedError(msg)


def second_moments(layers: Layers, values: Floats) -> Floats:
    """Second moments of what a play is still worth, for everything that is stored, if all follow the values.

    Raises
    ------
    UnsupportedError
        A layer leads to itself, or the lattice holds means of rewards that differ.
    """
    if layers.cyclic:
        msg = "second moments are computed for lattices without cycles; use outcomes(explore(game), policy)"
        raise UnsupportedError(msg)
    refuse_averaged(layers.lattice)
    squares = np.full(values.shape, np.nan)
    with workers() as pool:
        for layer in reversed(layers.layers):
            pieces = slabs(layers.lattice, len(layer.points))
            jobs = [(layers, layer, at, piece, values, squares) for at, piece in enumerate(pieces)]
            for _ in in_parallel(pool, _square, jobs):
                pass
    return squares


def _square(job: tuple[Layers, Layer, int, tuple[int, int], Floats, Floats]) -> None:
    layers, layer, at, (first, last), values, squares = job
    tables = layers.tables_of(layer, at, first, last)
    blocks = np.append(np.arange(0, last - first, kernels.WIDTH), last - first)
    table, second = np.zeros((2, layers.program.n_rows, kernels.WIDTH))
    arguments = kernel_arguments(layers.program, tables, values)
    kernels.moments(*arguments, layers.reached, blocks, table, squares, second)


def known_rows(program: Program, tables: Tables, values: Floats) -> Floats:
    """Return what `table_rows` gives; NaN where it depends on something that is not in the store.

    The compiled loops pass over NaN in a maximum or minimum, which no play that stays where play can come ever
    meets.  Whoever asks about any point may: an option that leads elsewhere might be the best one.
    """
    rows = table_rows(program, tables, values)
    if np.isnan(rows).any():
        decides = (program.kind == Kind.MAX) | (program.kind == Kind.MIN)
        # Sums over all options, in which those that are closed count 0: NaN is not lost.
        summed = attrs.evolve(
            program, kind=np.where(decides, np.uint8(Kind.CHANCE), program.kind), neutral=np.zeros_like(program.neutral)
        )
        rows[np.isnan(table_rows(summed, tables, values))] = np.nan
    return rows


def table_rows(program: Program, tables: Tables, values: Floats) -> Floats:
    """Value of every row of the program at the points of some tables, from the store; shape (rows, points)."""
    length = len(tables.points)
    rows, table = np.empty((program.n_rows, length)), np.zeros((program.n_rows, kernels.WIDTH))
    arguments, fresh = kernel_arguments(program, tables, values), np.zeros((len(program.entries), length))
    nothing = fresh > 0  # is marked, so nothing is stored
    for first in range(0, length, kernels.WIDTH):
        last = min(first + kernels.WIDTH, length)
        kernels.sweep(kernels.Sweep(*arguments, nothing, np.array([first, last]), np.arange(2), table, fresh))
        rows[:, first:last] = table[:, : last - first]
    return rows
