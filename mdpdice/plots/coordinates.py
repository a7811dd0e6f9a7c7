"""Where states are drawn: coordinates by name or by function, and which states are drawn at all."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast

import numpy as np

from mdpdice.errors import GameError
from mdpdice.modelling.asking import ask
from mdpdice.modelling.text import fields_of
from mdpdice.networks.network import Ints, Network

Coordinate: TypeAlias = "str | Callable[[Any], Any]"
"""A name, or a function from states to numbers; None of a function leaves a state out."""
Where: TypeAlias = "Callable[[Any], bool] | Mapping[str, Any] | None"
"""Which states are drawn."""
_NUMBERS = (int, float, Fraction)


def coordinate_names(network: Network, where: Where = None) -> list[str]:
    """Names of the numbers that the first few thousand states hold, those of most states first."""
    fields = map(fields_of, filter(filter_of(where), itertools.islice(network.states, 5000)))
    count = Counter(name for one in fields for name, value in one.items() if isinstance(value, _NUMBERS))
    return [name for name, _ in count.most_common()]


def axis_label(coordinate: str | Callable[..., Any]) -> str:
    """Return a name for an axis, as far as the coordinate has one."""
    if isinstance(coordinate, str):
        return coordinate
    name = getattr(coordinate, "__name__", "")
    return "" if name.startswith("<") else name.replace("_", " ")


def reader_of(coordinate: Coordinate) -> Callable[[Hashable], Any]:
    """Return a function from states to numbers, or None where a state has no such number; anything else is an error."""

    def read(state: Hashable) -> Any:
        if isinstance(coordinate, str):
            value = fields_of(state).get(coordinate)
        else:
            value = ask(coordinate, state, what="the function of a coordinate", state=state)
        if value is None or isinstance(value, _NUMBERS):
            return value
        msg = f"{axis_label(coordinate) or 'a coordinate'} is {value!r} here, which is not a number"
        raise GameError(msg, state=state, value=value)

    return read


def filter_of(where: Where) -> Callable[[Hashable], bool]:
    """Whether a state is drawn."""
    if where is None:
        return lambda _: True
    if isinstance(where, Mapping):
        wanted = dict(where)
        return lambda state: wanted.items() <= fields_of(state).items()
    function = where
    return lambda state: bool(ask(function, state, what="the function of where", state=state))


def points_of(
    network: Network, coordinates: Sequence[Coordinate | None], where: Where, *, deciding: bool = False
) -> tuple[Ints, list[Sequence[Any]]]:
    """States that are drawn, as indices into `Network.states`, and a column of numbers for each coordinate.

    A coordinate that is None is 0 everywhere; with `deciding`, only states with a decision are drawn.  Where
    no state has these coordinates, the message of the GameError says which names there are.
    """
    index = np.flatnonzero(network.decides[network.state_node]) if deciding else np.arange(network.n_states)
    states = network.states
    known: Mapping[str, Ints] = getattr(states, "counters", dict)()  # states of a lattice have them
    if isinstance(where, Mapping):
        # Counters are columns already: no state needs to be made to compare them.
        for name in where:
            if name in known:
                index = index[known[name][index] == where[name]]
        where = {name: value for name, value in where.items() if name not in known} or None
    columns: list[Sequence[Any]]
    if where is None and all(one is None or one in known for one in coordinates):
        zeros = [0] * len(index)
        columns = [zeros if one is None else known[cast("str", one)][index].tolist() for one in coordinates]
    else:
        chosen = filter_of(where)
        readers = [(lambda _: 0) if one is None else reader_of(one) for one in coordinates]
        found = ((at, state) for at in index.tolist() if chosen(state := states[at]))
        rows = {at: row for at, state in found if None not in (row := [read(state) for read in readers])}
        index = np.array(list(rows), dtype=np.int64)
        columns = [list(column) for column in zip(*rows.values(), strict=True)]
    if not len(index):
        asked = " and ".join(axis_label(one) or "the function" for one in coordinates if one is not None)
        names = ", ".join(coordinate_names(network)) or "none: use functions"
        who = "with a decision " if deciding else ""
        raise GameError(f"no state {who}to be drawn has {asked}; names of numbers in states are: {names}", value=asked)
    return index, columns
