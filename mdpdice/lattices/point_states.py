"""States and actions of a replicated lattice, made when they are asked for.

A lattice may have millions of states; as Python objects they would take more memory
and time than the network itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from mdpdice.errors import UnknownStateError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import At, full_state
from mdpdice.networks.network import Ints, NamedStates

_CHUNK = 1 << 16  # states that are made at a time


class PointStates(NamedStates):
    """States of a replicated lattice: `At` values, made when they are asked for.

    Parameters
    ----------
    lattice : Lattice
        It has the core states and the grid.
    core : ndarray of int, shape (n,)
        Index of the core state of every state.
    point : ndarray of int64, shape (n,)
        Its point.
    """

    def __init__(self, lattice: Lattice, core: NDArray[Any], point: Ints) -> None:
        self._lattice = lattice
        self._core = core
        self._point = point

    @property
    def lattice(self) -> Lattice:
        """What has the core states and the grid."""
        return self._lattice

    def __len__(self) -> int:
        return len(self._point)

    @overload
    def __getitem__(self, at: int) -> At[Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[Hashable]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        state = self._lattice.states[int(self._core[at])]
        return At(state, **self._lattice.counters(int(self._point[at])))

    def __iter__(self) -> Iterator[At[Any]]:
        lattice = self._lattice
        for first in range(0, len(self), _CHUNK):
            part = slice(first, first + _CHUNK)
            values = lattice.values(self._point[part])
            rows = zip(*(column.tolist() for column in values.values()), strict=True)
            for core, row in zip(self._core[part].tolist(), rows, strict=True):
                yield At(lattice.states[core], **dict(zip(values, row, strict=True)))

    def counters(self) -> dict[str, Ints]:
        """Values of the counters by name, each int64 of shape (number of states,)."""
        return self._lattice.values(self._point)

    def misfit(self, state: object) -> str | None:
        """Why something cannot be one of these states: its counters are not those of the game."""
        axes = self._lattice.axes
        try:
            full_state(state, axes).point(axes)
        except UnknownStateError as error:
            return error.message
        return None

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Place of a state, found by its core state and its point."""
        if isinstance(value, At):
            try:
                core = self._core_index.get(value.state, -1)
                key = core * self._lattice.size + value.point(self._lattice.axes)
            except (TypeError, UnknownStateError):
                core, key = -1, -1
            order, keys = self._sorted
            at = int(np.searchsorted(keys, key))
            if core >= 0 and at < len(keys) and keys[at] == key:
                found = int(order[at])
                if found in range(*slice(start, stop).indices(len(self))):
                    return found
        msg = f"{value!r} is not a state here"
        raise ValueError(msg)

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True

    @cached_property
    def _core_index(self) -> dict[Hashable, int]:
        return {state: at for at, state in enumerate(self._lattice.states)}

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        """Pairs of core state and point as numbers in order, and where they come from."""
        keys = self._core.astype(np.int64) * self._lattice.size + self._point
        order = np.argsort(keys)
        return order, keys[order]


class RepeatedActions(Sequence[Hashable]):
    """Actions of a replicated lattice: those of the core, again and again.

    Parameters
    ----------
    actions : sequence
        Actions of the core.
    number : ndarray of int32, shape (n,)
        Which of them every action is.
    """

    def __init__(self, actions: Sequence[Hashable], number: NDArray[np.int32]) -> None:
        self._actions = actions
        self._number = number

    def __len__(self) -> int:
        return len(self._number)

    @overload
    def __getitem__(self, at: int) -> Hashable: ...
    @overload
    def __getitem__(self, at: slice) -> list[Hashable]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self._actions[one] for one in self._number[at].tolist()]
        return self._actions[int(self._number[at])]

    def __iter__(self) -> Iterator[Hashable]:
        return iter([self._actions[one] for one in self._number.tolist()])
