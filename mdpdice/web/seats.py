"""Policies by name as data: what is done in every core state, by conditions on the counters or by their values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mdpdice.errors import GameError
from mdpdice.looks import Look
from mdpdice.modelling.asking import ask
from mdpdice.modelling.game import Conditional, Decide, Unavailable
from mdpdice.modelling.grid import At
from mdpdice.modelling.symbolic import ways_through
from mdpdice.web.rules import Rules

MOST_ANSWERS = 200_000
"""Answers of a policy that is asked at every value of the counters."""


def named_seats(look: Look[Any], rules: Rules, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the policies of some names, and those that the game calls usual."""
    found = []
    for name in dict.fromkeys((*names, *(one.usual for one in look.policies() if one.usual))):
        rule = look.policy(name)
        choices = None if rule is None else _choices(rule, rules)
        if choices is not None:
            found.append({"name": name, "choices": choices})
        elif name in names:
            known = ", ".join(one.form for one in look.policies()) or "none"
            why = "this game has no such policy" if rule is None else "it does not follow from the numbers alone"
            msg = f"{name!r} cannot sit in a page: {why}; those of the game are {known}, and 'mdpdice serve' seats all"
            raise GameError(msg, value=name)
    return found


def _choices(rule: Callable[[Any], Any], rules: Rules) -> list[Any] | None:
    """For every core state the place of an option, or places with conditions, or by the point of the grid."""
    count = len(rules.states) * math.prod(len(axis.values) for axis in rules.axes)
    found: list[Any] = []
    for core in rules.states:
        decisions = list(_decisions(rules.game.node(core)))
        if len(decisions) > 1:
            return None
        place = {action: at for at, action in enumerate(decisions[0])} if decisions else {}
        if not place:
            found.append(0)
        elif not rules.axes:
            found.append(place.get(ask(rule, core, what="the policy", state=core)))
        elif ways := ways_through(rule, core, rules.axes):
            places = [_tried(place.get, out) for _, out in ways]
            known = None if None in places else zip(ways, places, strict=True)
            found.append(known and [[rules.expr(cond), at] for (cond, _), at in known])
        elif count <= MOST_ANSWERS:
            points = itertools.product(*(axis.values for axis in rules.axes))
            states = (At(core, **dict(zip(rules.axis, point, strict=True))) for point in points)
            found.append({"at": [_tried(place.get, _tried(rule, state)) or 0 for state in states]})
        else:
            return None
    return None if None in found else found


def _tried(function: Callable[[Any], Any], given: Any) -> Any:
    """Return what a function says, None where it cannot."""
    try:
        return function(given)
    except Exception:  # noqa: BLE001 - play need not come there; or a rule gave scores, or what depends on counters
        return None


def _decisions(node: Any) -> Iterator[list[Any]]:
    """Yield the actions of the decisions of a core state."""
    if isinstance(node, Conditional):
        yield from _decisions(node.then)
        yield from _decisions(node.otherwise)
    elif isinstance(node, Decide):
        there = zip(node.actions, node.options, strict=True)
        yield [one for one, option in there if not isinstance(option, Unavailable | None)]
