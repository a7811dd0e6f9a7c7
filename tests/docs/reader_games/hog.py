"""A turn of Hog, from "Games for two players": `race` keeps the scores and passes the turns."""

from mdpdice import Game, Node, d6, decide, end, product, roll


class HogTurn(Game[str, int]):
    """Choose how many dice to throw, at most three; their sum is yours, or one point if a 1 is among them."""

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, int]:
        def throw(n: int):
            return roll(product(*[d6] * n).map(lambda faces: 1 if 1 in faces else sum(faces)), end)

        return decide((n, throw(n)) for n in range(1, 4))
