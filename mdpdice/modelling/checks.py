"""Checks of what a game returns: states, edges, nodes and numbers."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from mdpdice.errors import GameError
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.equality import Getter, as_tuple, no_parts, parts
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Chance, Conditional, Decide, End, Go, Node, Option, PassTo, Unavailable, Uncertain

# Of these every value is a sound part of a state; for any other type the value is looked at.
_ATOMS: frozenset[type] = frozenset({int, str, bool, bytes, Fraction, type(None)})


def check_state(state: Any) -> None:
    """Refuse values that cannot be told apart, or told equal, by Python."""
    kind = type(state)
    getter = _ADMITTED.get(kind) or _admit(kind, state)
    if getter is no_parts:
        if state != state:  # noqa: PLR0124 - the test for NaN, of floats and decimals
            raise GameError("NaN is not a state: it differs from itself, so exploration would never end", value=state)
        return
    inside = getter is as_tuple
    for part in state if inside else getter(state):
        if type(part) not in _ATOMS and (inside or not callable(part)):
            check_state(part)


# Types that were looked at once; what depends on the value is looked at every time.
_ADMITTED: dict[type, Getter] = {}


def _admit(kind: type, state: Any) -> Getter:
    if state is None or isinstance(state, Option | type) or callable(state):
        raise GameError(f"{state!r} is not a state; go(...) takes the state to move to", value=state)
    equal: object = kind.__eq__
    if equal is object.__eq__ and not isinstance(state, Enum):
        raise GameError(f"states of class {kind.__name__} are compared by identity; make it @attrs.frozen", value=state)
    return _ADMITTED.setdefault(kind, parts(kind))


def hashing_error(error: Exception, found: Any, place: str = "") -> GameError:
    """Return the error for an unhashable state or payoff in `found`, a node or a state."""
    if not (isinstance(error, TypeError) and "unhashable" in str(error)):
        return GameError(f"reading the node raised {type(error).__name__}: {error} (in hashing or comparing a state?)")
    wrong = next(((what, value) for what, value in _named_values(found) if not _hashable(value)), None)
    if wrong is None:
        return GameError(f"{place}a state or payoff cannot be hashed ({error}); canonical() must give a state, too")
    what, value = wrong
    part, inner = None, value
    while inner is not None:
        part, inner = inner, next((one for one in parts(type(inner))(inner) if not _hashable(one)), None)
    remedy = f"decorate {type(part).__name__} with @attrs.frozen"
    if better := _FROZEN.get(type(part)):
        remedy = f"write {better} instead of {part!r}"
    sound = {"payoff": "numbers", "state": "numbers, strings, tuples or frozen attrs values"}[what]
    msg = f"{place}the {what} {value!r} cannot be hashed ({error}); {remedy}; {what}s are {sound}"
    return GameError(msg, value=value)


_FROZEN = {
    list: "tuple(...)",
    dict: "a frozen attrs class, or tuple(sorted(d.items())),",
    set: "frozenset(...)",
    np.ndarray: "tuple(array.tolist())",
}


def _named_values(found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the states and payoffs in a node, and what they are; a state is one itself."""
    todo = [found]
    while todo:
        one = todo.pop()
        if isinstance(one, Decide | Chance | Uncertain):
            todo += reversed(one.edges if isinstance(one, Chance) else one.options)
        elif isinstance(one, Conditional):
            todo += [one.otherwise, one.then]
        elif isinstance(one, End):
            yield "payoff", one.payoff
        elif not isinstance(one, Node | Unavailable):
            yield "state", one
        elif isinstance(one, Go | PassTo):
            yield "state", one.state


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    except GameError:  # of an expression, which says itself where it may not stand
        return True
    return True


def not_an_edge_error(edge: Any) -> GameError:
    """Return the error for something that stands where an edge should, with the remedy."""
    if edge is None:
        msg = "`then` returned None instead of an edge; return go(...), pass_to(...), roll(...) or end(...)"
    elif isinstance(edge, Decide):
        msg = "a decision stands inside an option or a roll; give it a state of its own and use go(state)"
    elif isinstance(edge, Uncertain):
        msg = "solver='lookahead' does not look beyond uncertain(); use another one"
    elif isinstance(edge, Unavailable):
        msg = "when(cond, edge) stands inside chance, where an edge cannot be left out; give it a third argument"
    elif isinstance(edge, Conditional) and edge.otherwise is None:
        msg = f"when({edge.cond!r}, edge) stands inside chance, where an edge cannot be left out (give it a third "
        msg += "argument), or it needs counters and the game has none"
    elif isinstance(edge, Conditional):
        msg = f"the condition {edge.cond!r} needs counters, and the game has none; it may use its own only"
    elif isinstance(edge, Go | PassTo):
        msg = f"the update {edge.updates[0]!r} needs a counter, and the game has none; it may use its own only"
    else:
        msg = f"{edge!r} is not an edge; {_meant(edge)}use go(...), pass_to(...), roll(...) or end(...)"
    return GameError(msg, value=edge)


def not_a_node_error(node: Any) -> GameError:
    """Return the error for what `node` returned, with the remedy."""
    got = "None (a missing return?)" if node is None else repr(node)
    if isinstance(node, Unavailable) or (isinstance(node, Conditional) and node.otherwise is None):
        got = "when(cond, edge) with a false condition, or with one that may fail; give it a third argument"
    elif isinstance(node, Conditional):
        got = f"a condition on counters, {node.cond!r}, and the game has none; it may use those of its own game only"
    meant = _meant(node, also=f" or end({node!r})" if isinstance(node, numbers.Number) else "")
    forms = "end(...), go(...), pass_to(...), roll(...), chance(...) or decide(...)"
    return GameError(f"node() returned {got}; {meant}return {forms}", value=node)


def _meant(value: Any, also: str = "") -> str:
    """Return a question for whoever gave a state, a payoff or a distribution where an edge or a node belongs."""
    if isinstance(value, Dist):
        return "did you mean roll(dist, go)? "
    if value is None or callable(value) or isinstance(value, Option | Node | Expr) or not _hashable(value):
        return ""
    return f"did you mean go({value!r}){also}? "
