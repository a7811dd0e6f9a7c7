"""Weighted dice in KCD Farkle: which die is worth most, and how equal futures keep mixed sets small.

Six dice show 46,656 different rolls, but a turn goes on in only as many different ways as there are
*menus*: sets of (points to take, dice to roll next).  With six dice of one kind there are about a
hundred; with six dice that are all different there are thousands, and still every one of them is
solved exactly as the fair game is.

The weights are those of the table that ships with mdpdice; it names its sources.
"""

import math

from mdpdice import pool, solve
from mdpdice.games.farkle import Die, KcdFarkle, find_die

SIX = "Odd die,Heavenly Kingdom die,Lucky die,Strip die,Even die,Shrinking die"
NAMES = ("Ordinary die", "Even die", "Lucky die", "Devil's head die", "Odd die", "Favourable die", "Weighted die")


def sizes() -> None:
    print("six dice        in order  equal dice swapped  menus  menus of all subsets  ways to roll on")
    for name, dice in (("all ordinary", "6"), ("all different", SIX)):
        book = KcdFarkle(dice=dice).book
        unordered = math.prod(
            len(pool([kind.symbols()] * number)) for kind, number in zip(book.kinds, book.full, strict=True)
        )
        menus = {menu for some in book.subsets() for menu in book.rolls(some).menus}
        keeps = sum(len(menu.keeps) for menu in menus)
        print(
            f"{name:<14}  {6**6:>8,}  {unordered:>18,}  {len(book.rolls(book.left(book.full)).menus):>5,}"
            f"  {len(menus):>20,}  {keeps:>15,}"
        )


def ranking() -> None:
    print("A turn to at most 4000 points with six dice of one kind")
    print(f"{'die':<18}  {'weights':<18}  {'value':>10}  {'bust':>6}")
    for name in NAMES:
        die = find_die(name)
        game = KcdFarkle(dice=[die] * 6, cap=4000)
        bust = float(game.book.rolls(6).bust)
        value = solve(game).value()
        print(f"{name:<18}  {':'.join(map(str, die.weights)):<18}  {value:>10.4f}  {bust:>6.1%}")


def own_die() -> None:
    # What a player noted down in 300 throws: relative weights, kept exactly.
    mine = Die("mine", (66, 45, 44, 48, 52, 45))
    game = KcdFarkle(dice=[mine, mine, *["Ordinary die"] * 4], cap=4000)
    print(f"two special dice and four ordinary ones: {solve(game).value():.4f}")


def main() -> None:
    sizes()
    print()
    ranking()
    print()
    own_die()
    game = KcdFarkle(dice=SIX, cap=500)
    print(f"six different dice, to at most 500 points: {solve(game)}")


if __name__ == "__main__":
    main()
