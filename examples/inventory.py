"""Inventory control: the stochastic inventory of Puterman's book, with exact values.

At the start of a month the stock is counted and some units are ordered, which come at once; at most 3 fit into the
store.  Then 0, 1 or 2 units are asked for, with probabilities 1/4, 1/2 and 1/4, and what is there is sold for
8 each.  An order costs 4, and 2 for every unit; the store costs 1 for every unit there is after the order.
What is left after the last month is worth nothing.

M. L. Puterman, *Markov Decision Processes*, Wiley 1994: section 3.2.2 has the model, and section 4.6.1 solves it
for three months.  With a stock of 0, 1, 2 and 3 they are worth 67/16, 129/16, 194/16 and 227/16.  With nothing in
store 3 units are ordered in the first month and 2 in the second; in all other cases none.
"""

from typing import TypeAlias

import attrs

from mdpdice import Dist, Game, Node, cross_check, decide, end, go, roll, solve

Shop: TypeAlias = tuple[str, int, int]  # "count" or "sell", months left, units in store

DEMAND = Dist({0: 1, 1: 2, 2: 1})


@attrs.frozen
class Inventory(Game[Shop, int]):
    """Some months of a shop, which may order units at the start of each."""

    months: int = 3
    stock: int = 0
    room: int = 3
    demand: Dist[int] = DEMAND

    def start(self) -> Shop:
        return ("count", self.months, self.stock)

    def node(self, state: Shop) -> Node[Shop, int]:
        step, months, units = state
        if step == "count":
            return decide(
                (order, go(("sell", months, units + order), reward=-self.price(order) - (units + order)))
                for order in range(self.room - units + 1)
            )
        # An afterstate: however the units came here, one number says what is sold on average.
        sold = self.demand.map(lambda asked: min(asked, units)).mean()

        def left(asked: int) -> Shop:
            return ("count", months - 1, max(units - asked, 0))

        return roll(self.demand, lambda asked: go(left(asked)) if months > 1 else end(), reward=8 * sold)

    def price(self, units: int) -> int:
        return 4 + 2 * units if units else 0


def main() -> None:
    print("months left: value in sixteenths, and what to order, with a stock of")
    print("".join(f"{stock:>12}" for stock in range(4)))
    for months in (3, 2, 1):
        row = []
        for stock in range(4):
            solution = solve(Inventory(months=months, stock=stock), solver="exact")
            row.append(f"{solution.exact() * 16}, {solution.action()}")
        print(months, "".join(f"{entry:>12}" for entry in row)[2:])
    print(f"a year from an empty store is worth {solve(Inventory(months=12)).value():.6f}")
    print(cross_check(Inventory()))


if __name__ == "__main__":
    main()
