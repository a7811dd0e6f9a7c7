"""Digests of lattices: answers that were saved belong to one problem."""

from __future__ import annotations

import hashlib

import numpy as np

from mdpdice.lattices.lattice import Lattice


def digest(lattice: Lattice) -> str:
    """SHA-256 of a lattice: equal digests mean the same problem."""
    hasher = hashlib.sha256()
    exprs = [guard.key for guard in lattice.guards], [reward.key for reward in lattice.rewards]
    changes = [[(one.name, one.value.key) for one in update] for update in lattice.updates]
    head = (lattice.axes, exprs, changes, lattice.start, lattice.start_point, lattice.total, lattice.discount)
    hasher.update(f"mdpdice-lattice-1 {head!r}".encode())
    for name in ("kind", "indptr", "dst", "weight", "sign", "guard", "update", "reward", "payoff"):
        array = getattr(lattice, name)
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).tobytes())
    return hasher.hexdigest()


def same_core(lattice: Lattice, other: Lattice) -> bool:
    """Whether two lattices have the same states, actions and moves, whatever they pay and whoever maximises."""
    if lattice is other:
        return True
    arrays = ("indptr", "dst", "guard", "update", "node_state")
    return (
        lattice.axes == other.axes
        and all(np.array_equal(getattr(lattice, name), getattr(other, name)) for name in arrays)
        and list(lattice.states) == list(other.states)
        and list(lattice.actions) == list(other.actions)
        and [guard.key for guard in lattice.guards] == [guard.key for guard in other.guards]
        and [[(one.name, one.value.key) for one in update] for update in lattice.updates]
        == [[(one.name, one.value.key) for one in update] for update in other.updates]
    )
