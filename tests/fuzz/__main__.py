"""Random models against plain rational numbers: ``python -m tests.fuzz --models 10000 --seed 1 --json``.

Every model is a tree or graph of data, from which the library's game is declared and the truth is computed, in
fractions and by plain loops.  The numbers are chosen to be awkward: numpy scalars, denormals, numbers that no float
holds, parallel edges with rewards of both signs, counters with points that play cannot reach, raw networks, cycles on
the way to a goal, races, files.  A model is wrong if a proved interval misses the truth, or if a call raises something
that is no error of the library.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mdpdice import (
    At,
    Counter,
    Dist,
    Game,
    Horizon,
    Network,
    PayoffAtLeast,
    PayoffAtMost,
    Reach,
    Solution,
    Utility,
    compile_lattice,
    decide,
    end,
    explore,
    go,
    pass_to,
    roll,
    solve,
    when,
)
from mdpdice.errors import MdpDiceError
from mdpdice.formats import read_drn, read_prism_explicit, write_drn, write_prism_explicit
from tests.helpers import policy_enumeration as enumeration

SOLVERS = ("auto", "exact", "value-iteration", "policy-iteration", "backward-induction", "linear-programming")
INTEGERS: tuple[Callable[[int], Any], ...] = (int, np.int8, np.int64, np.uint8, np.float32, np.longdouble, Fraction)
AWKWARD = (Fraction(1, 10**400), 5e-324, 1e-310, 1e-162, Fraction(1, 3), 0.1, 1e16, 10**17 + 1)
MOST_POLICIES = 60
"""Pairs of policies of a raw network, all of which are tried."""


class WrongError(AssertionError):
    """What a model was told and what is true."""


def number(rng: random.Random) -> tuple[Any, Fraction]:
    """A number as a user may write it, and what it is."""
    if rng.random() < 0.25:
        given = rng.choice(AWKWARD)
        sign = rng.choice((1, -1))
        return sign * given, sign * Fraction(given)
    kind = rng.choice(INTEGERS)
    plain = rng.randint(0 if kind is np.uint8 else -3, 4)
    return kind(plain), Fraction(plain)


def weights(rng: random.Random, count: int) -> list[tuple[Any, Fraction]]:
    """Weights of outcomes: whole numbers, or probabilities the first of which is next to nothing."""
    if count > 1 and rng.random() < 0.2:
        rare = rng.choice((Fraction(1, 10**400), Fraction(5e-324), Fraction(1, 10**17)))
        found = [rare, 1 - rare * (count - 1), *[rare] * (count - 2)]
        return [(weight, weight) for weight in found]
    kind = rng.choice((int, np.int8, np.int64, np.uint8))
    plain = [rng.randint(1, 100) for _ in range(count)]
    return [(kind(weight), Fraction(weight)) for weight in plain]


def hold(found: Any, truth: Fraction | float, *where: Any, about: str) -> int:
    """One proved interval that was compared; 0 if nothing was proved there."""
    if not found.proved:
        return 0
    low, high = found.lower(*where), found.upper(*where)
    if not low <= truth <= high:
        msg = f"{about}{list(where)}: {found.status.value} [{low!r}, {high!r}], but the truth is {truth!s}"
        raise WrongError(msg)
    if found.status.value == "exact" and found.exact(*where) != truth:
        msg = f"{about}{list(where)}: exactly {found.exact(*where)}, but the truth is {truth!s}"
        raise WrongError(msg)
    return 1


# --- games that end -----------------------------------------------------------------------------------------------

Tree = tuple[Any, ...]
"""``("end", number)``, ``("go" or "pass", state, number)`` or ``("roll", [(weight, tree), ...])``."""


def tree(rng: random.Random, state: int, last: int, *, passing: bool, paying: bool, depth: int = 2) -> Tree:
    kind = rng.choice(["end", "go", "go", *["pass"] * passing, *["roll", "roll"] * (depth > 0)])
    if kind == "roll":
        kids = [
            tree(rng, state, last, passing=passing, paying=paying, depth=depth - 1) for _ in range(rng.randint(1, 3))
        ]
        if paying and state < last and rng.random() < 0.3:  # parallel edges of both signs
            to = rng.randint(state + 1, last)
            kids += [("go", to, (7, Fraction(7))), ("go", to, (-7, Fraction(-7)))]
        return ("roll", list(zip(weights(rng, len(kids)), kids, strict=True)))
    if kind == "end" or state == last:
        return ("end", number(rng))
    return (kind, rng.randint(state + 1, last), number(rng) if paying else (0, Fraction(0)))


def declared(spec: Tree) -> Any:
    match spec:
        case ("end", (given, _)):
            return end(given)
        case ("go", state, (given, _)):
            return go(state, reward=given)
        case ("pass", state, (given, _)):
            return pass_to(state, reward=given)
        case ("roll", kids):
            faces = Dist({at: given for at, ((given, _), _) in enumerate(kids)})
            return roll(faces, lambda at: declared(kids[at][1]))
    raise AssertionError(spec)


def tree_game(rng: random.Random, *, passing: bool, paying: bool) -> tuple[Game[Any, Any], list[list[Tree]]]:
    last = rng.randint(1, 4)
    nodes = [
        [tree(rng, state, last, passing=passing, paying=paying) for _ in range(rng.randint(1, 3))]
        for state in range(last + 1)
    ]
    game = Game.of(start=0, node=lambda s: decide([(at, declared(one)) for at, one in enumerate(nodes[s])]))
    return game, nodes


def tree_value(nodes: list[list[Tree]], steps: int | None = None) -> Callable[[int, int | None], Fraction]:
    def of(spec: Tree, left: int | None) -> Fraction:
        match spec:
            case ("end", (_, plain)):
                return plain
            case ("go", state, (_, plain)):
                return plain + at(state, left)
            case ("pass", state, (_, plain)):
                return plain - at(state, left)
            case ("roll", kids):
                whole = sum(weight for (_, weight), _ in kids)
                return sum((weight / whole * of(kid, left) for (_, weight), kid in kids), Fraction(0))
        raise AssertionError(spec)

    @cache
    def at(state: int, left: int | None) -> Fraction:
        if left == 0:
            return Fraction(0)
        return max(of(option, None if left is None else left - 1) for option in nodes[state])

    return at


def games(rng: random.Random) -> int:
    game, nodes = tree_game(rng, passing=rng.random() < 0.4, paying=True)
    value, count = tree_value(nodes), 0
    for solver in rng.sample(SOLVERS, 2):
        count += answered(game, lambda found, who=solver: hold(found, value(0, None), about=who), solver=solver)
    steps = rng.randint(1, 3)
    return count + answered(game, lambda found: hold(found, value(0, steps), about="horizon"), Horizon(steps))


# --- thresholds and utilities --------------------------------------------------------------------------------------


def worth_value(nodes: list[list[Tree]], worth: Callable[[Fraction], Fraction]) -> Fraction:
    """The best mean of what the whole payoff is worth, with the sum beside the state."""

    def of(spec: Tree, so_far: Fraction) -> Fraction:
        match spec:
            case ("end", (_, plain)):
                return worth(so_far + plain)
            case ("go", state, (_, plain)):
                return at(state, so_far + plain)
            case ("roll", kids):
                whole = sum(weight for (_, weight), _ in kids)
                return sum((weight / whole * of(kid, so_far) for (_, weight), kid in kids), Fraction(0))
        raise AssertionError(spec)

    @cache
    def at(state: int, so_far: Fraction) -> Fraction:
        return max(of(option, so_far) for option in nodes[state])

    return at(0, Fraction(0))


def objectives(rng: random.Random) -> int:
    game, nodes = tree_game(rng, passing=False, paying=rng.random() < 0.5)
    given, plain = number(rng)
    solver = rng.choice(SOLVERS)
    asked: list[tuple[Any, Callable[[Fraction], Fraction]]] = [
        (PayoffAtLeast(given), lambda payoff: Fraction(payoff >= plain)),
        (PayoffAtMost(given), lambda payoff: Fraction(payoff <= plain)),
        (Utility(lambda payoff: np.int64(payoff > 1)), lambda payoff: Fraction(float(payoff) > 1)),
    ]
    count = 0
    for objective, worth in asked:
        truth = worth_value(nodes, worth)
        count += answered(
            game, lambda found, t=truth, o=objective: hold(found, t, about=f"{o} "), objective, solver=solver
        )
    return count


# --- counters -----------------------------------------------------------------------------------------------------


def lattices(rng: random.Random) -> int:
    size, step = rng.randint(4, 12), rng.randint(1, 3)
    faces = {rng.randint(1, 3): rng.randint(1, 4) for _ in range(rng.randint(1, 3))}
    scale, toll, bonus = (Fraction(rng.randint(-3, 3), rng.randint(1, 3)) for _ in range(3))
    odd = rng.choice([Fraction(0), Fraction(10**17 + 1), Fraction(1, 10**12)])

    class Climb(Game[str, str]):
        x = Counter(range(size), outside="clip")

        def start(self) -> str:
            return "a"

        def node(self, _: str) -> Any:
            on = roll(Dist(faces), lambda k: go("a", self.x.add(k), reward=k * toll + odd * (self.x % 2)))
            hop = go("a", self.x.add(step), reward=bonus)
            rest = decide({"on": on, "hop": hop, "stop": end(scale * self.x)})
            return when(self.x >= size - 1, end(scale * self.x), rest)

    @cache
    def at(x: int) -> Fraction:
        if x >= size - 1:
            return scale * x
        whole = sum(faces.values())
        on = sum(
            (Fraction(w, whole) * (k * toll + odd * (x % 2) + at(min(x + k, size - 1))) for k, w in faces.items()),
            Fraction(0),
        )
        return max(on, bonus + at(min(x + step, size - 1)), scale * x)

    def everywhere(found: Any) -> int:
        count = 0
        for x in range(size):
            try:
                count += hold(found, at(x), At("a", x=x), about="lattice ")
            except MdpDiceError:
                continue  # play cannot come there
        return count

    return answered(compile_lattice(Climb()), everywhere) + answered(Climb(), everywhere)


# --- raw networks -------------------------------------------------------------------------------------------------


def networks(rng: random.Random) -> int:
    n = rng.randint(2, 4)
    discount = rng.choice([1, 1, Fraction(1, 2), 1 - Fraction(1, 10**17)])
    kinds = (enumeration.CHANCE, enumeration.MAX, enumeration.MAX, enumeration.MIN)
    pays = rng.choice([(0,), (0, -1), (0, 1), (0, 1, -1), (0, 5e-324, -1e-310)])
    nodes: list[tuple[Any, Any]] = []
    for _ in range(n):
        kind, size = rng.choice(kinds), rng.choice((1, 2, 2))
        step = [discount != 1 or rng.random() < 0.5 for _ in range(size)]
        weights = [1.0] if size == 1 else rng.choice([[0.5, 0.5], [0.25, 0.75], [2.0**-52, 1 - 2.0**-52]])
        nodes.append(
            (
                kind,
                [
                    (rng.randint(0, n), rng.choice(pays), w if kind == enumeration.CHANCE else 1.0, 1, s)
                    for w, s in zip(weights, step, strict=True)
                ],
            )
        )
    network = enumeration.network([*nodes, (enumeration.END, rng.choice([0, 1, -2, 1e-310]))], discount=discount)
    if enumeration.policies(network) > MOST_POLICIES or (best := enumeration.best_value(network)) is None:
        return 0
    count = 0
    for solver in rng.sample(SOLVERS, 2):
        count += answered(network, lambda found: _at_every_node(found, best), solver=solver)
    return count


def _at_every_node(found: Any, best: list[Any]) -> int:
    if not found.proved:
        return 0
    for node, truth in enumerate(best):
        low, high = found.nodes.lowers[node], found.nodes.uppers[node]
        if not low <= truth <= high:
            msg = f"{found.solver}, node {node}: {found.status.value} [{low!r}, {high!r}], but the truth is {truth!s}"
            raise WrongError(msg)
    return len(best)


# --- reaching -----------------------------------------------------------------------------------------------------

Graph = list[list[list[tuple[int, Fraction]]]]
"""Chances of the next state, by state and action; a state without actions ends the play."""


def reached(graph: Graph, goal: set[int], better: Callable[..., Fraction]) -> list[Fraction]:
    """Chance to reach the goal from every state, by trying every policy."""
    best: list[Fraction] | None = None
    for policy in itertools.product(*(range(max(1, len(rows))) for rows in graph)):
        row = [dict(actions[a]) if actions else {} for actions, a in zip(graph, policy, strict=True)]
        able, more = set(goal), {-1}
        while more:
            more = {s for s, ahead in enumerate(row) if s not in able and able & set(ahead)}
            able |= more
        unknown = sorted(able - goal)
        chances = dict.fromkeys(range(len(graph)), Fraction(0)) | dict.fromkeys(goal, Fraction(1))
        matrix = [
            [Fraction(s == to) - row[s].get(to, Fraction(0)) for to in unknown]
            + [sum((row[s].get(to, Fraction(0)) for to in goal), Fraction(0))]
            for s in unknown
        ]
        chances |= dict(zip(unknown, enumeration.solve_linear(matrix), strict=True))
        found = [chances[s] for s in range(len(graph))]
        best = found if best is None else list(map(better, best, found))
    assert best is not None
    return best


def reaching(rng: random.Random) -> int:
    size = rng.randint(2, 4)
    given: list[list[list[tuple[int, Any]]]] = []
    graph: Graph = []
    for _ in range(size):
        given.append([])
        graph.append([])
        for _ in range(rng.randint(0, 2)):
            to = rng.sample(range(size), rng.randint(1, size))
            drawn = weights(rng, len(to))
            whole = sum(plain for _, plain in drawn)
            given[-1].append([(s, weight) for s, (weight, _) in zip(to, drawn, strict=True)])
            graph[-1].append([(s, plain / whole) for s, (_, plain) in zip(to, drawn, strict=True)])
    goal, sense = set(rng.sample(range(size), rng.randint(1, 2))), rng.choice(("max", "min"))
    shunned = set(rng.sample(range(size), rng.randint(0, 1))) - goal

    def node(s: int) -> Any:
        rows = [roll(Dist({to: w for to, w in row if w}), go) for row in given[s]]
        return decide(list(enumerate(rows))) if rows else end(0)

    stopped = [[] if s in shunned else rows for s, rows in enumerate(graph)]
    truth = reached(stopped, goal, max if sense == "max" else min)[0]
    objective = Reach(goal.__contains__, avoiding=shunned.__contains__, sense=sense)  # play may come to none
    count = 0
    for solver in rng.sample(SOLVERS, 2):
        count += answered(
            Game.of(start=0, node=node),
            lambda found, who=solver: hold(found, truth, about=f"{who} {objective} "),
            objective,
            solver=solver,
        )
    return count


# --- races on lattices --------------------------------------------------------------------------------------------


def races(rng: random.Random) -> int:
    goal, gift = rng.randint(3, 6), rng.randint(1, 2)
    faces = {k: rng.randint(1, 5) for k in range(rng.randint(2, 4))}  # 0: the other one gets the gift
    prize, toll = Fraction(rng.randint(1, 3), rng.randint(1, 3)), Fraction(rng.randint(-2, 2), 7)

    class Race(Game[str, str]):
        mine = Counter(range(goal + 1), outside="clip")
        theirs = Counter(range(goal + 1), outside="clip")

        def start(self) -> str:
            return "turn"

        def node(self, _: str) -> Any:
            def passed(k: int) -> Any:
                more, other = (self.mine, self.theirs + gift) if k == 0 else (self.mine + k, self.theirs)
                return pass_to("turn", self.mine.set(other), self.theirs.set(more), reward=k * toll)

            rest = decide({"dare": roll(Dist(faces), passed), "safe": passed(1)})
            won, lost = self.mine >= goal, self.theirs >= goal
            return when(won, end(prize), when(lost, end(-prize), rest))

    @cache
    def at(mine: int, theirs: int) -> Fraction:
        if mine >= goal:
            return prize
        if theirs >= goal:
            return -prize

        def passed(k: int) -> Fraction:
            more, other = (mine, theirs + gift) if k == 0 else (mine + k, theirs)
            return k * toll - at(min(other, goal), min(more, goal))

        whole = sum(faces.values())
        return max(passed(1), sum((Fraction(w, whole) * passed(k) for k, w in faces.items()), Fraction(0)))

    def everywhere(found: Any) -> int:
        count = 0
        for mine, theirs in itertools.product(range(goal), repeat=2):
            try:
                count += hold(found, at(mine, theirs), At("turn", mine=mine, theirs=theirs), about="race ")
            except MdpDiceError:
                continue  # play cannot come there
        return count

    return answered(compile_lattice(Race()), everywhere) + answered(Race(), everywhere)


# --- files --------------------------------------------------------------------------------------------------------


def files(rng: random.Random) -> int:
    """Solutions that were saved, and models that were written for other tools: what is read is worth the same."""
    game, nodes = tree_game(rng, passing=False, paying=True)
    truth, count = tree_value(nodes)(0, None), 0
    with tempfile.TemporaryDirectory() as folder:
        kept, model = Path(folder, "solution.npz"), Path(folder, "model")
        try:
            network = explore(game)
            solve(game).save(kept)
            count += hold(Solution.load(kept, game), truth, about="loaded ")
            network.save(kept)
            count += answered(Network.load(kept), lambda found: hold(found, truth, about="network "))
        except MdpDiceError:
            return count
        for write, read in ((write_drn, read_drn), (write_prism_explicit, read_prism_explicit)):
            with contextlib.suppress(MdpDiceError):
                write(network, model, exact=True)
                back = read(model, exact=True).network()
                about = f"{read.__name__} "
                count += answered(back, lambda found, what=about: hold(found, truth, about=what))
    return count


# --- the run ------------------------------------------------------------------------------------------------------


def answered(model: Any, look: Callable[[Any], int], *args: Any, **options: Any) -> int:
    """Look at what `solve` answers, if it does; a refusal that is an error of the library is no answer."""
    try:
        found = solve(model, *args, **options)
    except MdpDiceError:
        return 0
    return look(found)


FAMILIES = (games, objectives, lattices, networks, reaching, races, files)


def one(seed: int, at: int) -> tuple[str, int, str]:
    """Family of a model, how many values of it were compared, and what is wrong."""
    family = FAMILIES[at % len(FAMILIES)]
    try:
        return family.__name__, family(random.Random(f"{seed} {at}")), ""
    except Exception as error:  # noqa: BLE001 - everything that is no answer and no error of the library is a find
        return family.__name__, 0, f"{type(error).__name__}: {error}"


def numbers(first: int, models: int, seconds: float) -> Iterator[int]:
    until = time.monotonic() + seconds
    for at in range(first, first + models):
        if time.monotonic() > until:
            return
        yield at


def main() -> int:
    """Try models, and return how many are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--models", type=int, default=1000, help="how many models")
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to try a find again")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    wrong, values, tried = [], 0, 0
    for at in numbers(asked.first, asked.models, asked.seconds):
        family, compared, text = one(asked.seed, at)
        tried, values = tried + 1, values + compared
        if text:
            wrong.append({"model": at, "family": family, "what": text})
    if asked.json:
        print(json.dumps({"models": tried, "values": values, "wrong": len(wrong), "finds": wrong}))
    else:
        for find in wrong:
            print(f"model {find['model']} ({find['family']}): {find['what']}")
        print(f"{tried:,} models, {values:,} values, {len(wrong)} wrong")
    return min(len(wrong), 100)


if __name__ == "__main__":
    sys.exit(main())
