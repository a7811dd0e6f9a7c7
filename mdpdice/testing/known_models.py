"""Small models whose answers are known, as rationals, by an argument that fits into a line.

Each has a reason to be here: something that a solver which is nearly right gets wrong.  None of the values was found
by a solver; the tests of the kit compare them with the values of all policies and with the exact solver.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import attrs

from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Edge, Game, Node, chance, decide, end, go, pass_to, roll
from mdpdice.modelling.sense import Sense, with_sense
from mdpdice.networks.network import Network
from mdpdice.solving.problem import Problem, prepare

S = TypeVar("S", bound=Hashable)


@attrs.frozen(eq=False)
class Model:
    """One model of the battery; with a horizon a value is a tuple whose entry k has k decisions left."""

    name: str  # what reports call it
    hazard: str  # what goes wrong there, and why the value is what it is
    make: Callable[[], Game[Any, Any]]  # gives the game, a new one every time
    values: Callable[[], Mapping[Any, Any]]  # gives the exact values of its states, in payoff units
    sense: Sense = "max"  # what the player to move wants
    horizon: int | None = None  # largest number of decisions

    def game(self) -> Game[Any, Any]:
        """Return the game, with its sense."""
        return with_sense(self.make(), self.sense)

    def problem(self) -> Problem:
        """Make the model as a network and a canonical problem, so that no caller can change it for another."""
        return prepare(self.game(), horizon=self.horizon)

    def rows(self, network: Network) -> list[tuple[int | None, Hashable, int, Fraction]]:
        """Every known value as (decisions left, state, node, value)."""
        found: list[tuple[int | None, Hashable, int, Fraction]] = []
        for state, value in self.values().items():
            node = network.node_of(state)
            if isinstance(value, tuple):
                found += [(k, state, node, Fraction(each)) for k, each in enumerate(value)]
            else:
                found.append((None, state, node, Fraction(value)))
        return found


DEEP = 2_000
"""States of the longest chain: more than Python recurses."""

_RUNGS = 6


def _table(total: int = 0, discount: Fraction | int = 1, **nodes: Node[Any, Any]) -> Callable[[], Game[Any, Any]]:
    """Return a game of a few states, given one by one, the start first."""
    return lambda: Game.of(start=next(iter(nodes)), node=lambda state: nodes[state], total=total, discount=discount)


def _coin(numerator: int, denominator: int, heads: Edge[S], tails: Edge[S], reward: int = 0) -> Edge[S]:
    """Heads with the probability of a fraction."""
    return chance(Dist([(heads, numerator), (tails, denominator - numerator)]), reward=reward)


def _chain(i: int) -> Node[int, str]:
    return end() if i == DEEP else decide({"stop": end(), "on": go(i + 1, reward=1)})


def _ladder(state: Any) -> Node[Any, str]:
    if state == "centre":
        return decide({"stop": end(Fraction(3, 5)), "play": _coin(7, 10, go(("up", 1)), go(("down", 1)))})
    way, rung = state
    after: Edge[Any] = end(int(way == "up")) if rung == _RUNGS else go((way, rung + 1))
    return _coin(1, 2, after, go("centre"))


def _ladder_values() -> dict[Any, Fraction]:
    centre = Fraction(7, 10)
    values: dict[Any, Fraction] = {"centre": centre}
    for way in ("up", "down"):
        for rung in range(1, _RUNGS + 1):
            through = Fraction(1, 2 ** (_RUNGS + 1 - rung))
            values[way, rung] = through * (way == "up") + (1 - through) * centre
    return values


def _ruin(money: int) -> Node[int, str]:
    return end(money // 5) if money in {0, 5} else _coin(2, 3, go(money + 1), go(money - 1))


_F = Fraction

MODELS: tuple[Model, ...] = (
    # --- one player, without cycles ---
    Model("end", "the start is an end, and no float equals 7/3", _table(s=end(_F(7, 3))), lambda: {"s": _F(7, 3)}),
    Model(
        "chance alone",
        "no decision: 0 with 1/3 and 6 with 2/3 make 4",
        _table(s=roll(Dist({0: 1, 6: 2}), end)),
        lambda: {"s": 4},
    ),
    Model(
        "choice",
        "a third beats three tenths, which stands first",
        _table(s=decide({"sure": end(_F(3, 10)), "coin": _coin(1, 3, end(1), end(0))})),
        lambda: {"s": _F(1, 3)},
    ),
    Model(
        "losses",
        "all values are negative, so 0 is not a bound: (-1 - 4) / 2 beats -3",
        _table(s=decide({"sure": end(-3), "coin": _coin(1, 2, end(-1), end(-4))})),
        lambda: {"s": _F(-5, 2)},
    ),
    Model(
        "tie",
        "three ways to 1/2",
        _table(s=decide({"a": end(_F(1, 2)), "b": _coin(1, 2, end(1), end(0)), "c": go("t")}), t=end(_F(1, 2))),
        lambda: {"s": _F(1, 2), "t": _F(1, 2)},
    ),
    Model(
        "close",
        "the options differ by 1/1000, and the worse one stands first",
        _table(s=decide({"worse": end(_F(999, 1000)), "better": end(1)})),
        lambda: {"s": 1},
    ),
    Model(
        "costs",
        "to be minimised: 12/4 + 2 * 3/4 is less than 5",
        _table(s=decide({"walk": end(5), "bus": _coin(1, 4, end(12), end(2))})),
        lambda: {"s": _F(9, 2)},
        sense="min",
    ),
    Model(
        "rewards",
        "rewards of edges, in chance and in options: -1 + (4 + 3) / 2 + 1 / 2",
        _table(
            s=decide({"rest": end(2), "work": _coin(1, 2, go("rich", reward=4), go("poor"), reward=-1)}),
            rich=end(3),
            poor=decide({"quit": end(0), "again": _coin(1, 3, end(9), end(-3))}),
        ),
        lambda: {"s": 3, "rich": 3, "poor": 1},
    ),
    Model(
        "rare",
        "1 in 10^9, and 10^9 then: 1 is more than a sure half",
        _table(s=decide({"sure": end(_F(1, 2)), "dream": _coin(1, 10**9, end(10**9), end(0))})),
        lambda: {"s": 1},
    ),
    Model(
        "deep",
        f"a chain of {DEEP:,} decisions, 1 for each: recursion does not get there",
        lambda: Game.of(start=0, node=_chain),
        lambda: {i: DEEP - i for i in range(DEEP + 1)},
    ),
    Model(
        "patience",
        "a discount acts between decisions, and not on the payoff of an end: 3/4 * 7 beats 5",
        _table(now=decide({"take": end(5), "wait": go("later")}), later=decide({"take": end(7)}), discount=_F(3, 4)),
        lambda: {"now": _F(21, 4), "later": 7},
    ),
    # --- one player, cycles ---
    Model(
        "retry",
        "three tries on average, at 1 each",
        _table(s=decide({"give up": end(-5), "try": _coin(1, 3, end(0), go("s"), reward=-1)})),
        lambda: {"s": -3},
    ),
    Model(
        "treadmill",
        "the first option costs 1 and never ends, so its equations have no solution",
        _table(s=decide({"on": go("s", reward=-1), "leave": end(-10)})),
        lambda: {"s": -10},
    ),
    Model(
        "ruin",
        "a walk between 0 and 5, up with 2/3: (1 - 2^-i) / (1 - 2^-5)",
        lambda: Game.of(start=1, node=_ruin),
        lambda: {i: (1 - _F(1, 2**i)) / (1 - _F(1, 32)) for i in range(6)},
    ),
    Model(
        "slow",
        "one play in 1,024 moves on, to 1 or 0 with equal chances: changes are small long before 1/2 is near",
        _table(s=decide({"leave": end(_F(1, 4)), "wait": _coin(1, 1024, _coin(1, 2, end(1), end(0)), go("s"))})),
        lambda: {"s": _F(1, 2)},
    ),
    Model(
        "ladder",
        "Haddad and Monmege's chain: seven tenths, against an offer of six; from below the offer looks better for long",
        lambda: Game.of(start="centre", node=_ladder),
        _ladder_values,
    ),
    Model(
        "free circle",
        "the circle costs nothing, so any number satisfies the equations there; the best way out is 3/4",
        _table(s=decide({"to t": go("t"), "quit": end(_F(1, 4))}), t=decide({"to s": go("s"), "sell": end(_F(3, 4))})),
        lambda: {"s": _F(3, 4), "t": _F(3, 4)},
    ),
    Model(
        "idle",
        "staying for ever is worth 0, which is better than paying 2",
        _table(s=decide({"pay": end(-2), "stay": go("s")})),
        lambda: {"s": 0},
    ),
    Model(
        "annuity",
        "1 for ever, at 9/10: 10 is more than 8 now",
        _table(s=decide({"cash": end(8), "annuity": go("s", reward=1)}), discount=_F(9, 10)),
        lambda: {"s": 10},
    ),
    Model(
        "investment",
        "at 99/100, 11/10 for ever from the next move on is more than 1 from now on: 99/100 * 110",
        _table(
            s=decide({"a": go("s", reward=1), "b": go("t")}),
            t=decide({"c": go("t", reward=_F(11, 10))}),
            discount=_F(99, 100),
        ),
        lambda: {"s": _F(1089, 10), "t": 110},
    ),
    # --- horizons ---
    Model(
        "five moves",
        "1 per decision, and five of them",
        _table(s=decide({"earn": go("s", reward=1)})),
        lambda: {"s": (0, 1, 2, 3, 4, 5)},
        horizon=5,
    ),
    Model(
        "last chances",
        "to prepare pays off later, and with one decision left it is too late",
        _table(s=decide({"take": go("s", reward=1), "prepare": go("t")}), t=decide({"cash": go("s", reward=3)})),
        lambda: {"s": (0, 1, 3, 4, 6), "t": (0, 3, 4, 6, 7)},
        horizon=4,
    ),
    # --- two players ---
    Model(
        "matching",
        "the opponent takes the least: the larger of 1 and 2",
        _table(
            s=decide({"left": go("l"), "right": go("r")}),
            l=decide({"a": end(3), "b": end(1)}, player=1),
            r=decide({"a": end(2), "b": end(5)}, player=1),
        ),
        lambda: {"s": 2, "l": 1, "r": 2},
    ),
    Model(
        "race",
        "each hits with 1/3, in turns: v = 1/3 + 2/3 (1 - v)",
        _table(
            s=decide({"slow": _coin(1, 4, end(1), pass_to("s")), "fast": _coin(1, 3, end(1), pass_to("s"))}), total=1
        ),
        lambda: {"s": _F(3, 5)},
    ),
    Model(
        "bloated",
        "any number from 1/4 to 3/4 satisfies the equations; the one who can wait at no cost is the minimiser",
        _table(
            s=decide({"on": go("t"), "out": end(_F(1, 4))}), t=decide({"back": go("s"), "out": end(_F(3, 4))}, player=1)
        ),
        lambda: {"s": _F(1, 4), "t": _F(1, 4)},
    ),
    Model(
        "duel for interest",
        "at 1/2: s = 2 + t / 2 and t = s / 2",
        _table(
            s=decide({"b": go("s", reward=1), "a": go("t", reward=2)}),
            t=decide({"y": go("t", reward=_F(3, 2)), "x": go("s")}, player=1),
            discount=_F(1, 2),
        ),
        lambda: {"s": _F(8, 3), "t": _F(4, 3)},
    ),
    Model(
        "in turns",
        "what one gains the other loses, three times: 1 - (1 - 1)",
        _table(s=decide({"pass": pass_to("s"), "gain": pass_to("s", reward=1)})),
        lambda: {"s": (0, 1, 0, 1)},
        horizon=3,
    ),
)
"""The battery."""
LONGEST = next(model for model in MODELS if model.name == "deep")
"""The model on whose solve it is tried whether a solver can be stopped."""
