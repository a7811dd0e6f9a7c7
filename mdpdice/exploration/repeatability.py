"""A game must answer the same twice: a sample of its states is asked again after exploration.

A function that draws random numbers, or counts how often it was called, gives a network that
is none of the game's; nothing else would notice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from mdpdice.errors import NonDeterministicGameError
from mdpdice.modelling.counters import Update
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Game
from mdpdice.modelling.nodes import Chance, Conditional, Decide, End, Go, PassTo

__all__ = ["SAMPLE", "check_repeatable"]

SAMPLE = 16
"""States that are asked again."""


def check_repeatable(game: Game[Any, Any], states: Sequence[Hashable]) -> None:
    """Ask a game twice about some of its states, the first and the last among them.

    Raises
    ------
    NonDeterministicGameError
        It gave different answers; the message names the state and, where options differ, the action.
    """
    count = min(SAMPLE, len(states))
    for number in range(count):
        state = states[number * (len(states) - 1) // max(1, count - 1)]
        try:
            first, second = game.node(state), game.node(state)
        except Exception as error:
            msg = f"node() gave a node while the game was explored, and raised {type(error).__name__} now: {error}"
            raise NonDeterministicGameError(msg, state=state) from error
        difference = _difference(first, second)
        if difference is not None:
            action, one, other = difference
            msg = (
                f"node() was asked twice and gave {one!r} and then {other!r}; it must not draw random numbers, or "
                "change with the calls before: let chance be roll(...), and keep what changes in the state"
            )
            raise NonDeterministicGameError(msg, state=state, action=action)


def _difference(first: Any, second: Any) -> tuple[Any, Any, Any] | None:
    """The first place where two nodes differ: the action (None above decisions), and what stands there."""
    todo = [(None, first, second)]
    while todo:
        action, one, other = todo.pop()
        if type(one) is not type(other):
            return action, one, other
        if isinstance(one, Decide):
            if one.actions != other.actions or one.player != other.player:
                return action, one.actions, other.actions
            todo += list(zip(one.actions, one.options, other.options, strict=True))
            continue
        below = list(_below(one))
        if [_shown(part) for part in _leaves(one)] != [_shown(part) for part in _leaves(other)]:
            return action, one, other
        todo += [(action, a, b) for a, b in zip(below, _below(other), strict=True)]
    return None


def _below(node: Any) -> Iterator[Any]:
    """Nodes and edges inside of one."""
    if isinstance(node, Chance):
        yield from node.edges
    elif isinstance(node, Conditional):
        yield from (node.then, node.otherwise)


def _leaves(node: Any) -> Iterator[Any]:
    """What else it is made of."""
    if isinstance(node, End):
        yield node.payoff
    elif isinstance(node, Go | PassTo):
        yield from (node.state, node.reward, *node.updates)
    elif isinstance(node, Chance):
        yield from (node.reward, node.dist.weights)
    elif isinstance(node, Conditional):
        yield node.cond


def _shown(part: Any) -> Any:
    # Two expressions that are compared give an expression.
    return repr(part) if isinstance(part, Expr | Update) else part
