"""Blackjack with many decks: hit, stand or double; the dealer stands on 17 and looks for a blackjack first."""

import attrs

from mdpdice import Dist, Edge, Game, Node, certainly, decide, end, go, roll, solve

CARD = Dist({**dict.fromkeys(range(1, 10), 1), 10: 4})


@attrs.frozen
class Hand:
    """A hand, soft while an ace counts 11, and the card that the dealer shows; two cards (`fresh`) may be doubled."""

    total: int
    soft: bool
    up: int
    fresh: bool = False


def plus(total: int, soft: bool, card: int) -> tuple[int, bool]:
    """A total with one card more, and whether it is soft."""
    total, soft = (total + 11, True) if card == 1 and total <= 10 else (total + card, soft)
    return (total - 10, False) if total > 21 and soft else (total, soft)


class Blackjack(Game[Hand | str, str]):
    """One round; the value is what a stake of 1 wins, and a blackjack wins 3/2."""

    def start(self) -> str:
        return "deal"

    def node(self, state: Hand | str) -> Node[Hand | str, str]:
        if isinstance(state, str):
            return roll(CARD, CARD, CARD, CARD, self.dealt)
        up, hands = state.up, CARD.map(lambda card: plus(state.total, state.soft, card))
        theirs = CARD.given(lambda card: {up, card} != {1, 10}).map(lambda card: plus(*plus(0, False, up), card))
        for _ in range(10):  # the dealer draws up to 16, and who has 17 draws no more
            theirs = theirs.bind(lambda two: CARD.map(lambda c: plus(*two, c)) if two[0] < 17 else certainly(two))

        def shown(mine: int, stake: int) -> Edge[Hand]:
            win = theirs.map(lambda hand: 1 if hand[0] > 21 else (mine > hand[0]) - (mine < hand[0]))
            return end(-stake) if mine > 21 else roll(win, lambda sign: end(stake * sign))

        double = roll(hands, lambda hand: shown(hand[0], 2)) if state.fresh else None
        hit = roll(hands, lambda hand: go(Hand(hand[0], hand[1], up)) if hand[0] <= 21 else end(-1))
        return decide({"stand": shown(state.total, 1), "hit": hit, "double": double})

    def dealt(self, a: int, b: int, up: int, hidden: int) -> Edge[Hand]:
        """Two cards for each."""
        total, soft = plus(*plus(0, False, a), b)
        if {up, hidden} == {1, 10}:
            return end(-1 if total < 21 else 0)
        return end(1.5) if total == 21 else go(Hand(total, soft, up, fresh=True))


if __name__ == "__main__":
    print(f"Blackjack: a stake of 1 wins {solve(Blackjack()).value():.12f}")
