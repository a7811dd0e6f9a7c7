"""Every game in examples/games prints its value, and a second computation of its own gives the same.

The second computations know nothing of the library: recursions in fractions where play cannot come back, and sweeps
or elimination where it can.
"""

from __future__ import annotations

import math
import operator
import re
import runpy
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

from mdpdice import PayoffAtLeast, solve
from mdpdice.cli import main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "games"
FACES = range(1, 7)


def rolls(n: int) -> Iterator[tuple[int, ...]]:
    return product(FACES, repeat=n)


def craps() -> Fraction:
    """Over the points, the chance of the point times that of seeing it before a 7."""
    ways = Counter(map(sum, rolls(2)))
    points = sum(Fraction(ways[p], 36) * Fraction(ways[p], ways[p] + 6) for p in (4, 5, 6, 8, 9, 10))
    return Fraction(ways[7] + ways[11], 36) + points


@cache
def shut_the_box(tiles: frozenset[int] = frozenset(range(1, 10))) -> Fraction:
    if not tiles:
        return Fraction(0)
    stays = {n: Fraction(sum(tiles)) for n in range(1, 13)}
    for k in range(1, 5):
        for some in combinations(sorted(tiles), k):
            if sum(some) <= 12:
                stays[sum(some)] = min(stays[sum(some)], shut_the_box(tiles - {*some}))
    two = sum(stays[a + b] for a, b in rolls(2)) / 36
    return two if max(tiles) >= 7 else min(two, sum(stays[a] for a in FACES) / 6)


@cache
def threes(n: int = 5) -> Fraction:
    """Whoever keeps j dice keeps the j lowest."""
    if n == 0:
        return Fraction(0)
    total = Fraction(0)
    for roll in rolls(n):
        faces = sorted(0 if k == 3 else k for k in roll)
        total += min(sum(faces[:j]) + threes(n - j) for j in range(1, n + 1))
    return total / 6**n


def two_dice_pig(goal: int = 50) -> float:
    """Sweeps over the chances between two turns, each with a loop down over the points of the turn."""
    between = np.full((goal, goal), 0.5)  # mine, theirs
    clean = Counter(a + b for a, b in product(range(2, 7), repeat=2))
    for _ in range(1000):
        lost_turn, lost_all = 1 - between.T, np.tile(1 - between[:, 0], (goal, 1))
        ahead: dict[int, np.ndarray] = {}
        for turn in range(goal + 11, -1, -1):
            hold = np.ones((goal, goal))
            if turn < goal:
                hold[: goal - turn] = 1 - between.T[turn:]
            rolled = (10 * lost_turn + lost_all + sum(n * ahead.get(turn + s, 1) for s, n in clean.items())) / 36
            ahead[turn] = np.where(np.arange(goal)[:, None] + turn >= goal, 1, np.maximum(hold, rolled))
        change = np.abs(ahead[0] - between).max()
        between = ahead[0]
        if change < 1e-15:
            break
    return float(between[0, 0])


def hog(goal: int = 100) -> float:
    """Scores only grow, so one loop down over their sum is enough."""
    worth = np.zeros((10, 61))  # by dice: the chances of what a turn is worth
    clean = np.array([1.0])  # of sums without a 1
    for n in range(10):
        clean = np.convolve(clean, [0, 0, *[1 / 6] * 5])
        worth[n, : len(clean)] = clean
        worth[n, 1] = 1 - clean.sum()
    chance = np.zeros((goal, goal))
    for both in range(2 * goal - 2, -1, -1):
        for mine in range(max(0, both - goal + 1), min(goal, both + 1)):
            theirs = both - mine
            after = np.ones(61)
            near = min(61, goal - mine)
            after[:near] = 1 - chance[theirs, mine : mine + near]
            bacon = after[1 + max(theirs // 10, theirs % 10)]
            chance[mine, theirs] = max(bacon, (worth @ after).max())
    return float(chance[0, 0])


def chutes_and_ladders() -> float:
    """The linear system of the chain, the squares and jumps written out once more."""
    jumps = {1: 38, 4: 14, 9: 31, 16: 6, 21: 42, 28: 84, 36: 44, 47: 26, 49: 11, 51: 67, 56: 53, 62: 19, 64: 60, 71: 91}
    jumps |= {80: 100, 87: 24, 93: 73, 95: 75, 98: 78}
    chain = np.zeros((101, 101))
    for square in range(100):
        for face in FACES:
            to = square if square + face > 100 else square + face
            chain[square, jumps.get(to, to)] += 1 / 6
    return float(np.linalg.solve(np.eye(100) - chain[:100, :100], np.ones(100))[0])


def secretary(n: int = 100) -> Fraction:
    """The best rule of the kind "look at r, then take the next best": r / n times a harmonic sum."""
    return max(Fraction(r, n) * sum(Fraction(1, k) for k in range(r, n)) for r in range(1, n))


@cache
def pass_the_pigs(points: int = 0) -> Fraction:
    if points >= 100:
        return Fraction(points)
    ways = (
        (349, None, "plain"),
        (302, None, "dot"),
        (224, 5, "back"),
        (88, 5, "feet"),
        (30, 10, "nose"),
        (6, 15, "ear"),
    )
    thrown = Fraction(0)
    for (n, p, a), (m, q, b) in product(ways, repeat=2):
        gain = (p or 0) + (q or 0)
        if a == b:
            gain = 2 * gain or 1
        thrown += n * m * (pass_the_pigs(points + gain) if gain else 0)
    return max(Fraction(points), thrown / 999**2)


@cache
def risk(a: int = 10, b: int = 10) -> Fraction:
    """Both sides throw as many dice as they may, which is best for both."""
    if not a or not b:
        return Fraction(int(b == 0))
    m, n = min(a, 3), min(b, 2)
    total = Fraction(0)
    for faces in rolls(m + n):
        attack, defence = sorted(faces[:m])[::-1], sorted(faces[m:])[::-1]
        won = sum(x > y for x, y in zip(attack, defence, strict=False))
        total += risk(a - min(m, n) + won, b - won)
    return total / 6 ** (m + n)


CARDS = {k: Fraction(4 if k == 10 else 1, 13) for k in range(1, 11)}


def score(low: int, ace: bool) -> int:
    """The best count of a hand whose aces count 1 in `low`."""
    return low + 10 if ace and low <= 11 else low


@cache
def house(low: int, ace: bool, forbidden: int = 0) -> dict[int, Fraction]:
    """What the dealer ends with, 0 for a bust; one next card may be ruled out."""
    if score(low, ace) > 16:
        return {score(low, ace) if low <= 21 else 0: Fraction(1)}
    found: Counter[int] = Counter()
    for card, p in CARDS.items():
        if card != forbidden:
            for end, q in house(low + card, ace or card == 1).items():
                found[end] += p * q / (1 - CARDS.get(forbidden, 0))
    return found


@cache
def stand(mine: int, up: int) -> Fraction:
    if mine > 21:
        return Fraction(-1)
    return sum(p * ((mine > end) - (mine < end)) for end, p in house(up, up == 1, {1: 10, 10: 1}.get(up, 0)).items())


@cache
def hit_or_stand(low: int, ace: bool, up: int) -> Fraction:
    if low > 21:
        return Fraction(-1)
    hit = sum(p * hit_or_stand(low + card, ace or card == 1, up) for card, p in CARDS.items())
    return max(stand(score(low, ace), up), hit)


def blackjack() -> Fraction:
    total = Fraction(0)
    for a, b, up in product(CARDS, repeat=3):
        low, ace, natural = a + b, 1 in (a, b), {a, b} == {1, 10}
        theirs = CARDS.get({1: 10, 10: 1}.get(up, 0), Fraction(0))
        double = 2 * sum(p * stand(score(low + card, ace or card == 1), up) for card, p in CARDS.items())
        played = Fraction(3, 2) if natural else max(double, hit_or_stand(low, ace, up))
        total += CARDS[a] * CARDS[b] * CARDS[up] * ((1 - theirs) * played - theirs * (not natural))
    return total


def cant_stop(lengths: tuple[int, ...] = (3, 4, 3)) -> float:
    """Board by board from the last to the first: what a lost turn costs is sought by iteration."""
    ways = {now: _places(now, lengths) for now in product(*(range(n + 1) for n in lengths))}
    turns: dict[tuple[int, ...], float] = {lengths: 0.0}
    for kept in sorted(ways, key=sum, reverse=True)[1:]:
        ahead = [now for now in sorted(ways, key=sum, reverse=True) if all(map(operator.ge, now, kept))]
        guess, better = math.inf, 1.0
        while abs(guess - better) > 1e-14 * better:
            guess, worth = better, {lengths: 1.0}
            for now in ahead[1:]:
                again = sum(
                    p * min((worth[place] for place in some), default=1 + guess) for some, p in ways[now].items()
                )
                worth[now] = again if now == kept else min(again, 1 + turns[now])
            better = worth[kept]
        turns[kept] = better
    return turns[0, 0, 0]


def _places(now: tuple[int, ...], lengths: tuple[int, ...]) -> dict[frozenset[tuple[int, ...]], float]:
    """Where a throw of four dice lets the columns 6, 7 and 8 move to, with its chance."""
    found: Counter[frozenset[tuple[int, ...]]] = Counter()
    for a, b, c, d in rolls(4):
        pairs = ((a + b, c + d), (a + c, b + d), (a + d, b + c))
        moved = {tuple(min(lengths[k], now[k] + two.count(6 + k)) for k in range(3)) for two in pairs}
        found[frozenset(moved - {now})] += 1
    return {places: n / 1296 for places, n in found.items()}


GREEN_RED_YELLOW = (6, 3, 4)
SHOWN = ((3, 2, 1), (1, 2, 3), (2, 2, 2))  # of six sides of a green, red, yellow die: brains, feet, shotguns
Zombies = tuple[tuple[int, ...], ...]


@cache
def zombie_throws(hand: tuple[int, ...]) -> dict[Zombies, Fraction]:
    """How many dice of each colour show brains, feet and shotguns, one die after the other."""
    for colour in range(3):
        if hand[colour]:
            found: dict[Zombies, Fraction] = Counter()
            for shown, p in zombie_throws(tuple(n - (k == colour) for k, n in enumerate(hand))).items():
                for face, sides in enumerate(SHOWN[colour]):
                    more = tuple(n + (k == colour) for k, n in enumerate(shown[face]))
                    found[*shown[:face], more, *shown[face + 1 :]] += p * Fraction(sides, 6)
            return found
    return {((0, 0, 0),) * 3: Fraction(1)}


def plus(a: tuple[int, ...], b: tuple[int, ...], sign: int = 1) -> tuple[int, ...]:
    return tuple(x + sign * y for x, y in zip(a, b, strict=True))


class ZombieTurn:
    """All tables that a turn to `goal` can come to, and where a throw leads from each."""

    def __init__(self, goal: int, start: Zombies = ((0, 0, 0),) * 3) -> None:
        counted = sum(start[0])
        number, self.counted, entries = {(start, counted): 0}, [counted], []
        self.lost, self.won = [], []
        todo = [(start, counted)]
        for table, counted in todo:
            lost = won = 0.0
            for after, counts, p in self.thrown(table, counted):
                if sum(after[2]) > 2:
                    lost += p
                elif counts >= goal:
                    won += p
                else:
                    if (after, counts) not in number:
                        number[after, counts] = len(todo)
                        todo.append((after, counts))
                        self.counted.append(counts)
                    entries.append((number[table, counted], number[after, counts], p))
            self.lost.append(lost)
            self.won.append(won)
        rows, columns, p = zip(*entries, strict=True)
        self.chances = csr_array((p, (rows, columns)), shape=(len(todo), len(todo)))
        self.first = np.array([table == ((0, 0, 0),) * 3 for table, _ in todo])

    @staticmethod
    def thrown(table: Zombies, counted: int) -> Iterator[tuple[Zombies, int, float]]:
        up, walking, shot = table
        cup = plus(plus(plus(GREEN_RED_YELLOW, up, -1), walking, -1), shot, -1)
        new = 3 - sum(walking)
        if sum(cup) < new:
            cup, up = plus(cup, up), (0, 0, 0)
        for drawn in product(range(new + 1), repeat=3):
            if sum(drawn) == new and all(map(operator.le, drawn, cup)):
                ways = math.prod(map(math.comb, cup, drawn)) / math.comb(sum(cup), new)
                for (brains, feet, shots), p in zombie_throws(plus(walking, drawn)).items():
                    yield (plus(up, brains), feet, plus(shot, shots)), counted + sum(brains), ways * float(p)

    def sweep(self, values: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """One step of value iteration, where n banked brains are worth `worth[n]`, and `worth[-1]` those that win."""
        rolled = self.chances @ values + worth[0] * np.array(self.lost) + worth[-1] * np.array(self.won)
        return np.where(self.first, rolled, np.maximum(rolled, worth[self.counted]))


def zombie_dice(goal: int = 3) -> float:
    """Both players' chances for two scores, from the highest ones down, by sweeps over one turn of each."""
    turns = [ZombieTurn(goal - mine) for mine in range(goal)]
    chance = np.full((goal, goal), 0.5)
    for i, j in sorted(product(range(goal), repeat=2), key=sum, reverse=True):
        if i <= j:
            values = {pair: np.full(len(turns[pair[0]].lost), 0.5) for pair in ((i, j), (j, i))}
            for _ in range(300):
                for (a, b), found in values.items():
                    values[a, b] = turns[a].sweep(found, np.array([*(1 - chance[b, a:goal]), 1.0]))
                    chance[a, b] = values[a, b][0]
    return float(chance[0, 0])


SECOND: dict[str, Callable[[], Fraction | float]] = {
    "blackjack": blackjack,
    "cant_stop": cant_stop,
    "chutes_and_ladders": chutes_and_ladders,
    "craps": craps,
    "hog": hog,
    "pass_the_pigs": pass_the_pigs,
    "risk": risk,
    "secretary": secretary,
    "shut_the_box": shut_the_box,
    "threes": threes,
    "two_dice_pig": two_dice_pig,
    "zombie_dice": zombie_dice,
}


def test_every_game_is_short_and_checked() -> None:
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    assert set(scripts) == set(SECOND)
    for name, text in scripts.items():
        assert text.count("\n") < 60, name


@pytest.mark.parametrize("name", SECOND)
def test_a_second_computation_gives_what_is_printed(name: str, output_of: Callable[..., str]) -> None:
    text = output_of(f"games/{name}")
    found = re.findall(r"-?\d+\.\d{8,}", text)[0]
    second = SECOND[name]()
    assert abs(float(second) - float(found)) < 0.6 * 10.0 ** -len(found.partition(".")[2])
    if isinstance(second, Fraction) and "/" in text:
        assert str(second) in text


def test_the_chart_of_blackjack(tmp_path: Path) -> None:
    """The command of the page draws it; what it shows for these hands is in every book."""
    to = tmp_path / "hard.png"
    words = ["--kind", "policy", "--x", "up", "--y", "total", "--where", "soft=false", "--where", "fresh=true", "--to"]
    done = CliRunner().invoke(main, ["plot", f"{FOLDER / 'blackjack.py'}:Blackjack", *words, str(to)])
    assert (done.exit_code, to.stat().st_size > 10_000) == (0, True), done.output
    names = runpy.run_path(str(FOLDER / "blackjack.py"))
    solution, hand = solve(names["Blackjack"]()), names["Hand"]
    expected = {(16, 10): "hit", (16, 6): "stand", (12, 3): "hit", (12, 4): "stand", (11, 6): "double", (9, 2): "hit"}
    assert {key: solution.action(hand(key[0], False, key[1], True)) for key in expected} == expected
    assert solution.action(hand(18, True, 9, True)) == "hit"
    assert solution.action(hand(18, True, 6, True)) == "double"


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        # Two dice are left in the cup, so that brains go back into it; or all are on the table.
        (("ggggggrryy", "", "r", 0), ((6, 2, 2), (0, 0, 0), (0, 1, 0))),
        (("ggggggryyyy", "", "rr", 0), ((6, 1, 4), (0, 0, 0), (0, 2, 0))),
        (("gggggyyyy", "g", "rr", 0), ((5, 0, 4), (1, 0, 0), (0, 2, 0))),
    ],
)
def test_brains_go_back_into_the_cup(state: tuple[str, str, str, int], counts: Zombies) -> None:
    names = runpy.run_path(str(FOLDER / "zombie_dice.py"))
    to_13 = solve(names["Turn"]().at(state), PayoffAtLeast(13))
    turn, worth = ZombieTurn(13, counts), np.array([0.0] * 13 + [1.0])
    values = np.zeros(len(turn.lost))
    for _ in range(100):
        values = turn.sweep(values, worth)
    assert 0.01 < values[0] < 0.9
    assert to_13.value() == pytest.approx(values[0], abs=1e-9)


def test_values_that_others_have_found(output_of: Callable[..., str]) -> None:
    """Osborne, "Markov chains for the RISK board game revisited" (2003), has 0.506 for 5 against 5."""
    assert " 0.5062028290" in output_of("games/risk")
    assert risk(5, 5) == pytest.approx(0.506, abs=5e-4)
