"""The race of a game that is one turn: two players take turns, and the first with enough points wins."""

from typing import Any

import attrs

from mdpdice.errors import GameError
from mdpdice.modelling.counters import Counter, Flags, Update, axes
from mdpdice.modelling.expressions import as_expr
from mdpdice.modelling.game import A, Game, S
from mdpdice.modelling.nodes import Chance, Conditional, Decide, End, Go, Unavailable, Uncertain, end, pass_to, when


def race(turn: Game[S, A] | type[Game[S, A]], target: int) -> Game[S, A]:
    """Return the race of two players who take turns; whoever can end a turn with enough points has won.

    Parameters
    ----------
    turn : Game
        One turn, or its class.  Its ends pay what it adds to the score: whole numbers, or expressions over its
        counters.  Where it declares counters `mine` and `theirs`, these are the scores before the turn.  Count its
        points in a counter, too: as states they are explored for all scores, and a race to 100 takes minutes.
    target : int
        Points that win.

    Raises
    ------
    GameError
        When it is explored: `target` is no positive whole number, or the turn pays rewards or passes to the opponent.

    Examples
    --------
    >>> from mdpdice import race, solve
    >>> from mdpdice.games.pig import PigTurn
    >>> round(solve(race(PigTurn(), 20)).value(), 12)  # the chance to win of the player who starts
    0.615558549805
    """
    turn = turn() if isinstance(turn, type) else turn
    own = [axis for axis in axes(turn) if axis.name not in ("mine", "theirs")]
    made = {a.name: Flags(a.boxes) if a.boxes else Counter(a.values, start=a.start, outside=a.outside) for a in own}
    kind: Any = type("Race", (_Race,), made)
    game: Game[S, A] = kind(turn, target)
    return game


@attrs.frozen
class _Race(Game[Any, Any]):
    total = 1
    payoff_range = (0, 1)
    turn: Game[Any, Any]
    target: int
    mine = Counter(lambda game: range(game.target))
    theirs = Counter(lambda game: range(game.target))

    def start(self) -> Any:
        return self.turn.start()

    def canonical(self, state: Any) -> Any:
        return self.turn.canonical(state)

    def node(self, state: Any, /) -> Any:
        return self._raced(self.turn.node(state))

    def _raced(self, node: Any) -> Any:
        """Return what a node of the turn is in the race."""
        paid = as_expr(getattr(node, "reward", 0)).value != 0
        match node:
            case End():
                after = self.mine + node.payoff
                swap = (self.mine.set(self.theirs), self.theirs.set(after))
                # Those of the race itself come first.
                begun = [Update(axis.name, as_expr(axis.start)) for axis in axes(self)[2:]]
                return when(after >= self.target, end(1), pass_to(self.start(), *swap, *begun))
            case Go() | Unavailable() | None if not paid:
                return node
            case Chance() if not paid:
                return Chance(node.dist, tuple(map(self._raced, node.edges)), 0)
            case Uncertain():
                return Uncertain(tuple(map(self._raced, node.options)), node.against)
            case Conditional():
                return Conditional(node.cond, self._raced(node.then), self._raced(node.otherwise))
            case Decide():
                raced: Any = Decide(node.actions, list(map(self._raced, node.options)), node.player)
                for option in node.options:
                    if isinstance(option, End):
                        raced = when(self.mine + option.payoff >= self.target, end(1), raced)
                return raced
        raise GameError(f"race(): {node!r} in a turn, which moves by go() and pays points by end() alone", value=node)
