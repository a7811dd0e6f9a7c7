"""Twenty-one with dice, against a banker.

The player rolls one die after the other and adds the eyes up, for as long as they like; above 21 they
have lost.  Then the banker rolls until reaching at least `banker_stands`.  Who is nearer to 21
wins the stake, 1 or -1, and equal sums are worth nothing.
"""

import attrs

from mdpdice import Edge, Game, Node, decide, die, end, go, roll


@attrs.frozen
class Player:
    """The player's turn: their points."""

    points: int


@attrs.frozen
class Banker:
    """The banker's turn: their points, and those to beat."""

    points: int
    beat: int


State = Player | Banker


def _positive(value: int | str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(f"{number} is not positive")
    return number


@attrs.frozen
class TwentyOne(Game[State, str]):
    """Twenty-one with dice.

    Parameters
    ----------
    limit : int
        More than this is too much.
    banker_stands : int
        The banker rolls until reaching that many.
    sides : int
        Sides of the die.
    """

    payoff_range = (-1, 1)  # no annotation: that would make it a parameter

    limit: int = attrs.field(default=21, converter=_positive, metadata={"help": "more than this is too much"})
    banker_stands: int = attrs.field(
        default=17, converter=_positive, metadata={"help": "the banker rolls until reaching that many"}
    )
    sides: int = attrs.field(default=6, converter=_positive, metadata={"help": "sides of the die"})

    def start(self) -> State:
        return Player(0)

    def node(self, state: State) -> Node[State, str]:
        match state:
            case Player(points) if points > self.limit:
                return end(-1)
            case Player(points):
                banker: Edge[State] = go(Banker(0, points))
                more: Edge[State] = roll(die(self.sides), lambda eyes: go(Player(points + eyes)))
                return decide({"stand": banker, "roll": more})
            case Banker(points, beat) if points >= self.banker_stands:
                return end(1 if points > self.limit else (beat > points) - (beat < points))
            case Banker(points, beat):
                return roll(die(self.sides), lambda eyes: go(Banker(points + eyes, beat)))

    def estimate(self, state: State) -> float:
        """More points are better, until they are too many."""
        mine = state.points if isinstance(state, Player) else state.beat
        return 2 * mine / self.limit - 1 if mine <= self.limit else -1.0
