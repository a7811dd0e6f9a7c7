"""Policies by name as data: what is done in every core state, by conditions on the counters or by their values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mdpdice.errors import GameError
from mdpdice.looks import Look
from mdpdice.modelling.asking import ask
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Conditional, Decide, Unavailable
from mdpdice.modelling.grid import At
from mdpdice.modelling.symbolic import ways_through
from mdpdice.web.rules import Rules

MOST_ANSWERS = 200_000
"""Answers of a policy that is asked at every value of the counters."""


def named_seats(look: Look[Any], rules: Rules, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the policies of some names, and those that the game calls usual."""
    found = []
    usual = [one.usual for one in look.policies() if one.usual and one.usual not in names]
    for name in (*names, *usual):
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
    sizes = [len(axis.values) for axis in rules.axes]
    small = max(sizes, default=0) <= MOST_ANSWERS // max(1, len(rules.states)) and len(sizes) < 3
    values = itertools.product(*((axis.values for axis in rules.axes) if small else [range(0)]))
    points = [dict(zip(rules.axis, one, strict=True)) for one in values]
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
            if not all(_known(out, place) for _, out in ways):
                return None
            found.append([[rules.expr(cond), place[out]] for cond, out in ways])
        elif points and len(points) * len(rules.states) <= MOST_ANSWERS:
            found.append({"at": [place.get(_asked(rule, At(core, **point)), 0) for point in points]})
        else:
            return None
    return None if None in found else found


def _asked(rule: Callable[[Any], Any], state: Any) -> Any:
    """Return what the rule does, None where it cannot say: play need not come there."""
    try:
        answer = rule(state)
    except Exception:  # noqa: BLE001
        return None
    return None if isinstance(answer, Dist) else answer


def _known(out: Any, place: dict[Any, int]) -> bool:
    try:
        return out in place
    except Exception:  # noqa: BLE001 - a mapping with scores, or what depends on counters
        return False


def _decisions(node: Any) -> Iterator[list[Any]]:
    """Yield the actions of the decisions of a core state."""
    if isinstance(node, Conditional):
        yield from _decisions(node.then)
        yield from _decisions(node.otherwise)
    elif isinstance(node, Decide):
        there = zip(node.actions, node.options, strict=True)
        yield [one for one, option in there if not isinstance(option, Unavailable | None)]
