"""Networks from three-level arrays: state -> choice -> branch, as other tools hold them."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice import errors
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.nearest import nearest
from mdpdice.modelling.number import finite_number, own_number
from mdpdice.modelling.ranges import discount_error
from mdpdice.networks.arrays import compiled, read_only_floats, read_only_ints, split_exact
from mdpdice.networks.choice_arrays import ChoiceArrays, write_edges
from mdpdice.networks.network import Kind, Network

ROUNDING = 8 * 2.0**-53
"""Accepted distance of a float row sum from 1, per entry: plain rounding."""
SUM_TOLERANCE = 1e-9
"""Largest distance of a sum from 1 that is normalised away, and recorded, unless something else is asked for."""
RECHECK_UP_TO_ROWS = 1000
"""Doubtful rows of probabilities up to which each is added up alone; for more, all rows are added up again."""
AT_ONCE = 1 << 20
"""Branches that are looked at together, where that takes arrays of the same size."""


def build(
    choice_ptr: Any,
    branch_ptr: Any,
    target: Any,
    probability: Any,
    reward: Any,
    *,
    terminal: Mapping[int, Any] | None,
    owner: Any,
    discount: Any,
    start: int | Mapping[int, Any],
    states: Sequence[Hashable] | None,
    actions: Sequence[Hashable] | None,
    reward_per: str,
    tolerance: float,
) -> Network:
    """Implement `Network.from_choices`, which documents the parameters."""
    arrays = ChoiceArrays(
        _pointer(choice_ptr, "choice_ptr"),
        _pointer(branch_ptr, "branch_ptr"),
        _ints(target, "target"),
        range(max(len(choice_ptr) - 1, 0)) if states is None else _names(states),
        None if actions is None else _names(actions),
    )
    _check_fit(arrays)
    if not isinstance(terminal, Mapping | None):
        msg = f"terminal={terminal!r}: it gives the payoff of every state where the play ends, as in {{3: 1}}"
        raise errors.GameError(msg, value=terminal)
    ends = {_state_number(arrays, state): payoff for state, payoff in dict(terminal or {}).items()}
    chances = dict(start) if isinstance(start, Mapping) else {start: 1}
    starts = Dist({_state_number(arrays, state): chance for state, chance in chances.items()})
    if not 0 < tolerance < 1:
        raise errors.GameError(f"tolerance={tolerance!r}: it lies between 0 and 1, as 1e-9 does", value=tolerance)
    plain = _plain_rows(arrays, probability)
    _check(arrays, ends, rows=plain is None)
    kinds = _owners(arrays, owner)
    numerator, weight, warnings = _probabilities(arrays, probability, plain, tolerance)
    rewards, exact_of = _rewards(arrays, reward, reward_per)
    possible = np.asarray(numerator > 0, dtype=bool) if plain is None else None
    if possible is not None and not possible.all():
        # A branch that cannot be taken is not an edge.
        left = np.concatenate(([0], np.cumsum(possible)))
        if reward_per == "branch":
            rewards = rewards[possible]
            exact_of = {int(left[at]): value for at, value in exact_of.items() if possible[at]}
        arrays = attrs.evolve(arrays, branch_ptr=left[arrays.branch_ptr], target=arrays.target[possible])
        same = numerator is weight
        weight = weight[possible]
        numerator = weight if same else numerator[possible]

    n = len(arrays.states)
    written = write_edges(arrays, ends, numerator, weight, rewards, exact_of, reward_per)
    kind = np.full(len(written["indptr"]) - 1, Kind.CHANCE, dtype=np.uint8)
    kind[:n] = kinds
    kind[list(ends)] = Kind.END
    payoff, exact_payoffs = split_exact(
        len(kind), {at: as_reward(value, "payoff", {"state": arrays.states[at]}) for at, value in ends.items()}
    )
    numbers, node_state = np.arange(n), np.full(len(kind), -1)
    node_state[:n] = numbers
    network = Network(
        kind=kind,
        sign=np.ones(len(written["dst"]), dtype=np.int8),
        payoff=payoff,
        start=starts.outcomes[0],
        discount=_discount(discount),
        states=arrays.states,
        state_node=numbers,
        node_state=node_state,
        exact_payoffs=exact_payoffs,
        warnings=warnings,
        **written,
    )
    return network if len(starts.outcomes) == 1 else _start_by_chance(network, starts)


def _start_by_chance(network: Network, starts: Dist[int]) -> Network:
    """Return the network with one more node, a chance node that leads to the states where play may start."""
    size = len(starts.outcomes)
    more: dict[str, Any] = {
        "kind": [Kind.CHANCE],
        "indptr": [network.n_edges + size],
        "dst": starts.outcomes,
        "weight": starts.probabilities(),
        "reward": np.zeros(size),
        "sign": np.ones(size, dtype=np.int8),
        "step": np.zeros(size, dtype=bool),
        "payoff": [0.0],
        "node_state": [-1],
        "numerator": np.array(starts.weights, dtype=object if max(starts.weights) > 1 << 53 else None),
    }
    fields: dict[str, Any] = {name: np.concatenate((getattr(network, name), rest)) for name, rest in more.items()}
    return attrs.evolve(network, start=network.n_nodes, **fields)


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _are_floats(values: Any) -> bool:
    """Whether an array holds floats, or numbers that floats hold as they are."""
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.dtype.itemsize <= 8


def _names(values: Any) -> Sequence[Hashable]:
    """Names as a sequence of Python's own objects: those of numpy have types of their own."""
    return values if isinstance(values, range | list | tuple) else _listed(values)


def _state_number(arrays: ChoiceArrays, value: Any) -> int:
    n = len(arrays.states)
    try:
        number = operator.index(value)
    except TypeError as error:
        msg = f"{value!r} is not the number of a state; states are numbered 0 to {n - 1}, names go into `states`"
        raise errors.UnknownStateError(msg, value=value) from error
    if not 0 <= number < n:
        raise errors.UnknownStateError(f"state number {number} does not exist; there are {n} states", value=number)
    return number


def _owners(arrays: ChoiceArrays, owner: Any) -> Any:
    """Kind of every state that decides."""
    if owner is None:
        return Kind.MAX
    owners = _ints(owner, "owner")
    if len(owners) != len(arrays.states):
        raise errors.GameError(f"{len(owners)} owners for {len(arrays.states)} states")
    for wrong in np.flatnonzero((owners != 0) & (owners != 1))[:1].tolist():
        msg = f"owner {owners[wrong]}: the players are 0 (maximises) and 1 (minimises)"
        raise errors.GameError(msg, state=arrays.states[wrong], value=int(owners[wrong]))
    return np.where(owners == 1, Kind.MIN, Kind.MAX)


def _ints(values: Any, name: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise errors.GameError(f"{name} is a flat array of whole numbers, not {array.dtype} of shape {array.shape}")
    return array.astype(np.int64, copy=False)


def _check_flat(values: Any, name: str) -> None:
    shape = np.shape(values) if isinstance(values, np.ndarray) else (1,) * isinstance(values, Collection)
    if len(shape) != 1:
        raise errors.GameError(f"{name} must be a flat array of numbers, not one of shape {shape}")


def _pointer(values: Any, name: str) -> NDArray[np.int64]:
    array = _ints(values, name)
    if len(array) < 1 or array[0] != 0 or (array[1:] < array[:-1]).any():
        raise errors.GameError(f"{name} must start at 0 and never decrease")
    return array


def _check_fit(arrays: ChoiceArrays) -> None:
    n = len(arrays.states)
    fits = (
        len(arrays.choice_ptr) == n + 1
        and arrays.choice_ptr[-1] == arrays.n_choices
        and arrays.branch_ptr[-1] == len(arrays.target)
        and (arrays.actions is None or len(arrays.actions) == arrays.n_choices)
    )
    if not fits:
        raise errors.GameError(
            f"the arrays do not fit together: {n} states, choice_ptr up to {arrays.choice_ptr[-1]}, "
            f"{arrays.n_choices} choices, branch_ptr up to {arrays.branch_ptr[-1]}, {len(arrays.target)} targets"
        )


class _Defects(NamedTuple):
    """Rows of probabilities that do not sum to 1: how many, the one that is off most, and by how much."""

    rows: int
    worst: int
    off: float


def _plain_rows(arrays: ChoiceArrays, probability: Any) -> _Defects | None:
    """Return what rows of floats are off, if a large network was seen to have sound ones, in one pass."""
    size = len(arrays.target)
    if not (_are_floats(probability) and probability.shape == (size,) and compiled(size)):
        return None
    from mdpdice.networks import kernels

    rows = read_only_ints(arrays.branch_ptr), read_only_ints(arrays.target), read_only_floats(probability)
    unsure = np.empty(RECHECK_UP_TO_ROWS, dtype=np.int64)
    plain, count, worst, off, more = kernels.rows_are_plain(*rows, len(arrays.states), unsure)
    if not plain:
        return None
    if more > RECHECK_UP_TO_ROWS:
        return _defects(arrays, rows[2])
    # The first one counts among those that are off by as much.
    others = [(choice, _defect(arrays, rows[2], choice)) for choice in unsure[:more].tolist()]
    found = [(worst, off), *((choice, defect) for choice, defect in others if defect)]
    choice, most = min(found, key=lambda pair: (-abs(pair[1]), pair[0]))
    return _Defects(count + len(found) - 1, choice, most)


def _check(arrays: ChoiceArrays, ends: dict[int, Any], *, rows: bool) -> None:
    """Reject what is not a model; unless `rows`, every row is known to have branches, to states that exist."""
    n = len(arrays.states)
    if rows and ((arrays.target < 0) | (arrays.target >= n)).any():
        branch = int(np.flatnonzero((arrays.target < 0) | (arrays.target >= n))[0])
        choice = arrays.choice_of(branch)
        msg = f"branch {branch} leads to state number {arrays.target[branch]}; there are {n} states"
        raise errors.UnknownStateError(msg, value=int(arrays.target[branch]), **arrays.where(choice))
    for state in np.flatnonzero(np.diff(arrays.choice_ptr) == 0).tolist():
        if state not in ends:
            msg = "a state without choices that is not in `terminal`; give it a choice or a payoff"
            raise errors.DeadEndError(msg, state=arrays.states[state])
    empty = np.flatnonzero(np.diff(arrays.branch_ptr) == 0).tolist() if rows else []
    if empty:
        raise errors.EmptySupportError("a choice without branches; say where it leads", **arrays.where(empty[0]))
    if not isinstance(arrays.states, range) and (twice := _repeated(arrays.states, None)) is not None:
        msg = f"two states have the names {twice[0]!r} and {twice[1]!r}, which are equal; give each a name of its own"
        raise errors.StateCollisionError(msg, state=twice[0], value=twice[1])
    if arrays.actions is not None:
        for state in range(n):
            names = arrays.actions[int(arrays.choice_ptr[state]) : int(arrays.choice_ptr[state + 1])]
            if (twice := _repeated(names, arrays.states[state])) is not None:
                msg = f"action {twice[0]!r} is given twice; every choice of a state needs a name of its own"
                raise errors.DuplicateActionError(msg, state=arrays.states[state], action=twice[0])


def _repeated(names: Sequence[Hashable], state: Any) -> tuple[Any, Any] | None:
    """Two names that are equal."""
    try:
        if len(set(names)) == len(names):
            return None
    except TypeError as error:
        msg = f"a name cannot be hashed ({error}); use strings, numbers, tuples or frozen attrs classes"
        raise errors.GameError(msg, state=state) from error
    seen: dict[Hashable, Hashable] = {}
    for name in names:
        if name in seen:
            return seen[name], name
        seen[name] = name
    return None


def as_reward(value: Any, what: str, where: dict[str, Any]) -> Any:
    """Return a finite number as it was meant, no larger than a float can be."""
    try:
        return finite_number(value, what)
    except errors.MdpDiceError as error:
        raise error.at(where["state"], where.get("action")) from error.__cause__


def _discount(value: Any) -> Fraction:
    number = own_number(value, "discount")
    if not 0 < number <= 1:
        raise discount_error(number, shown=repr(value))
    return Fraction(number)


def _rewards(arrays: ChoiceArrays, reward: Any, reward_per: str) -> tuple[NDArray[np.float64], dict[int, Fraction]]:
    """Rewards as floats, and those that no float equals."""
    if reward_per not in ("choice", "branch"):
        raise errors.GameError(f'reward_per is {reward_per!r}; it is "choice" or "branch"', value=reward_per)
    wanted = arrays.n_choices if reward_per == "choice" else len(arrays.target)
    _check_flat(reward, "reward")
    if len(reward) != wanted:
        msg = f"{len(reward)} rewards for {wanted} {'choices' if reward_per == 'choice' else 'branches'}"
        raise errors.GameError(msg)

    def where(at: int) -> dict[str, Any]:
        return arrays.where(at if reward_per == "choice" else arrays.choice_of(at))

    if _are_floats(reward):
        for bad in np.flatnonzero(~np.isfinite(reward))[:1].tolist():
            as_reward(reward[bad], "reward", where(bad))
        return reward.astype(np.float64, copy=False), {}
    found = {}
    for at, value in enumerate(_listed(reward)):
        try:
            found[at] = finite_number(value, "reward")
        except errors.MdpDiceError as error:
            raise error.at(**where(at)) from error.__cause__
    return split_exact(wanted, {at: number for at, number in found.items() if number != 0})


def _probabilities(
    arrays: ChoiceArrays, given: Any, plain: _Defects | None, tolerance: float
) -> tuple[NDArray[Any], NDArray[np.float64], tuple[str, ...]]:
    """Exact numerators, float probabilities and warnings; `plain` are the defects of rows known to be sound."""
    _check_flat(given, "probability")
    if len(given) != len(arrays.target):
        raise errors.GameError(f"{len(given)} probabilities for {len(arrays.target)} branches")
    if plain is not None:
        weight = given.astype(np.float64, copy=False)
        return weight, weight, _repairs(arrays, plain)
    if _are_floats(given):
        return _float_probabilities(arrays, given.astype(np.float64, copy=False), tolerance)
    exact = []
    for at, p in enumerate(_listed(given)):
        try:
            exact.append(own_number(p, "probability"))
        except errors.MdpDiceError as error:
            raise error.at(**arrays.where(arrays.choice_of(at))) from error.__cause__
    if all(type(p) is float or (type(p) is int and 0 <= p <= 1) for p in exact):
        return _float_probabilities(arrays, np.array(exact, dtype=np.float64), tolerance)
    weights: list[float] = []
    repairs: dict[int, float] = {}
    for choice in range(arrays.n_choices):
        row = exact[arrays.branches(choice)]
        total = _row_sum(arrays, choice, row, tolerance)
        if total != 1:
            repairs[choice] = float(total - 1)
        # A probability below the smallest float is still one.
        weights.extend(nearest(Fraction(p) / total) for p in row)
    defects = np.array(list(repairs.values()), dtype=np.float64)
    warnings = _repairs(arrays, _most(np.array(list(repairs), dtype=np.int64), defects))
    return np.array([Fraction(p) for p in exact], dtype=object), np.array(weights), warnings


def _float_probabilities(
    arrays: ChoiceArrays, weight: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[Any], NDArray[np.float64], tuple[str, ...]]:
    """Do the same for floats, which are their own exact numerators; whole arrays at a time."""
    total = np.add.reduceat(weight, arrays.branch_ptr[:-1]) if arrays.n_choices else np.zeros(0)
    width = np.diff(arrays.branch_ptr)
    defect = np.abs(total - 1)
    suspect = ~((weight >= 0) & (weight <= 1 + tolerance))
    wrong = ~(defect <= tolerance)
    if suspect.any():
        wrong |= np.logical_or.reduceat(suspect, arrays.branch_ptr[:-1])
    for choice in np.flatnonzero(wrong).tolist():
        _row_sum(arrays, choice, weight[arrays.branches(choice)].tolist(), tolerance)
    warnings = _repairs(arrays, _defects(arrays, weight))
    scaled = defect > ROUNDING * width
    if not scaled.any():
        return weight, weight, warnings
    return weight, weight / np.repeat(np.where(scaled, total, 1.0), width), warnings


def _defects(arrays: ChoiceArrays, weight: NDArray[np.float64]) -> _Defects:
    """Return what the exact sums of float rows are off; three times 1/3 is less than 1, though not in floats."""
    ptr = arrays.branch_ptr
    off = np.zeros(arrays.n_choices)
    # A few rows at a time, so that no second copy of a large array is made.
    first = 0
    while first < arrays.n_choices:
        last = max(first + 1, int(np.searchsorted(ptr, ptr[first] + AT_ONCE, side="right")) - 1)
        # All but small probabilities are whole multiples of 2^-62, and a row of those adds up exactly.
        scaled = weight[ptr[first] : ptr[last]] * 2.0**62
        units = scaled.astype(np.int64)
        rows = ptr[first:last] - ptr[first]
        # What small ones have beyond is taken in units of 2^-94, which a long row can add up too.
        small = np.flatnonzero(units != scaled)
        rest = (scaled[small] - units[small]) * 2.0**32
        of_row = np.searchsorted(rows, small, side="right") - 1
        beyond = np.zeros(last - first, dtype=np.int64)
        np.add.at(beyond, of_row, rest.astype(np.int64))
        whole = np.add.reduceat(units, rows) - (1 << 62) + (beyond >> 32)
        off[first:last] = whole / 2.0**62 + (beyond & ((1 << 32) - 1)) / 2.0**94
        for choice in np.unique(first + of_row[rest != np.rint(rest)]).tolist():
            off[choice] = _defect(arrays, weight, choice)
        first = last
    return _most(np.arange(arrays.n_choices), off)


def _most(choices: NDArray[np.int64], off: NDArray[np.float64]) -> _Defects:
    """How many of some choices are off, and the first of those that are off most."""
    if not len(off):
        return _Defects(0, 0, 0.0)
    worst = int(np.argmax(np.abs(off)))
    return _Defects(int(np.count_nonzero(off)), int(choices[worst]), float(off[worst]))


def _defect(arrays: ChoiceArrays, weight: NDArray[np.float64], choice: int) -> float:
    return math.fsum([*weight[arrays.branches(choice)].tolist(), -1.0])


def _repairs(arrays: ChoiceArrays, defects: _Defects) -> tuple[str, ...]:
    """Return a warning about choices whose rows do not sum to 1."""
    if not defects.rows:
        return ()
    place = arrays.where(defects.worst)
    largest = f"the largest defect is {defects.off:.3g}, in state {place['state']!r}, action {place['action']!r}"
    return (f"{defects.rows} rows of probabilities do not sum to 1 and mean the normalised rationals; {largest}",)


def _row_sum(arrays: ChoiceArrays, choice: int, row: list[Any], tolerance: float) -> Fraction:
    for p in row:
        # Written so that NaN fails.
        if not 0 <= p <= 1 + tolerance:
            raise errors.ProbabilityRangeError(f"probability {p!r} is outside [0, 1]", value=p, **arrays.where(choice))
    total = sum((Fraction(p) for p in row), Fraction(0))
    if total == 0:
        raise errors.EmptySupportError("a choice whose branches all have probability 0", **arrays.where(choice))
    if abs(total - 1) > tolerance:
        msg = f"the probabilities sum to {float(total)!r} (defect {float(total - 1):.3g}), not 1; see tolerance="
        raise errors.ProbabilitySumError(msg, value=float(total), **arrays.where(choice))
    return total
