"""Checks of what a game hands over: states, edges, nodes and numbers."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any

from mdpdice.errors import GameError
from mdpdice.modelling.equality import Getter, as_tuple, no_parts, parts
from mdpdice.modelling.game import Conditional, Decide, Go, Option, PassTo, Unavailable

__all__ = [
    "check_state",
    "hashing_error",
    "not_a_node_error",
    "not_an_edge_error",
]

# Of these every value is a sound part of a state; for any other type the value is looked at.
_ATOMS: frozenset[type] = frozenset({int, str, bool, bytes, Fraction, type(None)})


def check_state(state: Any) -> None:
    """Refuse values that cannot be told apart, or told equal, by Python."""
    kind = type(state)
    getter = _ADMITTED.get(kind) or _admit(kind, state)
    if getter is no_parts:
        if state != state:  # noqa: PLR0124 - the test for NaN, of floats and decimals
            msg = "NaN is not a state: it differs from itself, so exploration would never end"
            raise GameError(msg, value=state)
        return
    for part in state if getter is as_tuple else getter(state):
        if type(part) not in _ATOMS and not (callable(part) and not isinstance(state, tuple)):
            check_state(part)


# Types that were looked at once; what depends on the value is looked at every time.
_ADMITTED: dict[type, Getter] = {}


def _admit(kind: type, state: Any) -> Getter:
    if state is None or isinstance(state, Option | type) or callable(state):
        msg = f"{state!r} is not a state; go(...) takes the state to move to"
        raise GameError(msg, value=state)
    equal: object = kind.__eq__
    if equal is object.__eq__ and not isinstance(state, Enum):
        msg = (
            f"states of class {kind.__name__} are compared by identity, so every visit would make a new state; "
            "decorate the class with @attrs.frozen"
        )
        raise GameError(msg, value=state)
    getter = parts(kind)
    _ADMITTED[kind] = getter
    return getter


def hashing_error(error: Exception) -> GameError:
    """The error for a state or payoff that cannot be looked up in a dictionary."""
    if isinstance(error, TypeError) and "unhashable" in str(error):
        msg = (
            f"a state or payoff cannot be hashed ({error}); states are frozen attrs values, ints, strings, enums "
            "or tuples of them, payoffs are numbers"
        )
    else:
        msg = f"reading the node raised {type(error).__name__}: {error} (in hashing or comparing a state?)"
    return GameError(msg)


def not_an_edge_error(edge: Any) -> GameError:
    """The error for something that stands where an edge should, with the remedy."""
    if edge is None:
        msg = "`then` returned None instead of an edge; return go(...), pass_to(...), roll(...) or end(...)"
    elif isinstance(edge, Decide):
        msg = "a decision stands inside an option or a roll; give it a state of its own and use go(state)"
    elif isinstance(edge, Unavailable):
        msg = "when(cond, edge) stands inside chance, where an edge cannot be left out; give it a third argument"
    elif isinstance(edge, Conditional) and edge.otherwise is None:
        msg = (
            f"when({edge.cond!r}, edge) stands inside chance, where an edge cannot be left out (give it a third "
            "argument), or it needs counters and the game has none"
        )
    elif isinstance(edge, Conditional):
        msg = f"the condition {edge.cond!r} needs counters, and the game has none; it may use its own only"
    elif isinstance(edge, Go | PassTo):
        msg = (
            f"the update {edge.updates[0]!r} needs a counter, and the game has none; it may use its own only"
        )
    else:
        msg = f"{edge!r} is not an edge; use go(...), pass_to(...), roll(...) or end(...)"
    return GameError(msg, value=edge)


def not_a_node_error(node: Any) -> GameError:
    """The error for what `node` returned, with the remedy."""
    got = "None (a missing return?)" if node is None else repr(node)
    if isinstance(node, Unavailable) or (isinstance(node, Conditional) and node.otherwise is None):
        got = "when(cond, edge) with a false condition, or with one that may fail; give it a third argument"
    elif isinstance(node, Conditional):
        got = f"a condition on counters, {node.cond!r}, and the game has none; it may use those of its own game only"
    msg = f"node() returned {got}; return end(...), go(...), pass_to(...), roll(...), chance(...) or decide(...)"
    return GameError(msg, value=node)
