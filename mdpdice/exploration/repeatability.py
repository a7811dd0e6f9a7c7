"""A game must answer the same twice: a sample of its states is asked again after exploration.

A function that draws random numbers, or counts how often it was called, gives a network that
is not the game's; nothing else would notice.  The same holds of batches that differ from what is said of one state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

from mdpdice.errors import GameError, NonDeterministicGameError
from mdpdice.modelling.counters import Update
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import ClassicMDP, Game
from mdpdice.modelling.nodes import Chance, Conditional, Decide, End, Go, PassTo
from mdpdice.networks.choices import SUM_TOLERANCE
from mdpdice.networks.network import Network

SAMPLE = 16
"""States that are asked again."""


def check_repeatable(game: Game[Any, Any], states: Sequence[Hashable]) -> None:
    """Ask a game twice about some of its states, the first and the last among them; see `NonDeterministicGameError`.

    Where the answers differ the error names the state and, where options differ, the action.
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
            how = "let chance be roll(...) instead of random numbers, and keep in the state what changes with the calls"
            msg = f"node() was asked twice and gave {one!r} and then {other!r}; {how}"
            raise NonDeterministicGameError(msg, state=state, action=action)


def check_batches(game: ClassicMDP[Any, Any], network: Network) -> None:
    """Compare some choices that `ClassicMDP.transitions` gave with `transition` and `reward` of single states."""
    count = min(SAMPLE, network.n_states)
    for number in range(count):
        state = network.states[number * (network.n_states - 1) // max(1, count - 1)]
        edges = network.edges(network.node_of(state))
        if not edges:
            continue
        edge = edges[number * (len(edges) - 1) // max(1, count - 1)]
        action, to = network.action_of(edge), int(network.dst[edge])
        option: Any = game._option(state, action)  # noqa: SLF001 - as node() has it
        more, pays, paid = defaultdict[Any, float](float), 0.0, 0.0
        for branch in [edge] if network.node_state[to] >= 0 else network.edges(to):
            more[network.state_of(int(network.dst[branch]))] += network.weight[branch]
            pays += float(network.weight[branch] * network.reward[branch])
        for chance, one in zip(option.dist.probabilities(), option.edges, strict=True):
            more[game.canonical(one.state)] -= chance
            paid += chance * float(one.reward)
        target = max(more, key=lambda one: abs(more[one]))
        if abs(more[target]) > SUM_TOLERANCE:
            msg = f"transitions() gives {target!r} a probability that is {more[target]:.6g} more than by transition()"
            raise GameError(f"{msg}; both must say the same", state=state, action=action, value=target)
        if abs(pays - paid) > SUM_TOLERANCE * max(1.0, abs(paid)):
            msg = f"transitions() pays {pays!r} on average, and transition() with reward() {paid!r}"
            raise GameError(f"{msg}; both must say the same", state=state, action=action, value=pays)


def _difference(first: Any, second: Any) -> tuple[Any, Any, Any] | None:
    """Return the first place where two nodes differ: the action (None above decisions), and what stands there."""
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
        (leaves, inside), (others, within) = _parts(one), _parts(other)
        if [*map(_shown, leaves)] != [*map(_shown, others)]:
            return action, one, other
        todo += [(action, a, b) for a, b in zip(inside, within, strict=True)]
    return None


def _parts(node: Any) -> tuple[list[Any], list[Any]]:
    """Return what a node or an edge is made of, and the nodes and edges inside of it."""
    match node:
        case End():
            return [node.payoff], []
        case Go() | PassTo():
            return [node.state, node.reward, *node.updates], []
        case Chance():
            return [node.reward, node.dist.weights], list(node.edges)
        case Conditional():
            return [node.cond], [node.then, node.otherwise]
    return [], []


def _shown(part: Any) -> Any:
    # Two expressions that are compared give an expression.
    return repr(part) if isinstance(part, Expr | Update) else part
