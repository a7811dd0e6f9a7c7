"""Rules that a person can learn: a decision list that comes near to optimal play, and what it loses.

A rule has a few lines, "do this where that holds", and the first line that fits decides.  Conditions compare one
number of the state, a sum, or ``a + b * difference`` of two of them; what is done is an action, or an action by what
is most or least about it.  By the performance difference lemma the loss of a rule is the sum over all decisions of

    visits (when the rule is followed) * loss (of its action, with best play afterwards)

so lines are found greedily by visits times loss, with the visits of best play and of the rule in turn, and every line
is sought again while the others stay.  The search promises nothing about the best list; the loss is that of
`mdpdice.evaluate`, with its interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress
from mdpdice.errors import UnsupportedError
from mdpdice.exploration.to_network import explore
from mdpdice.looks.text import phrase
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.modelling.text import ITSELF, fields_of, init_fields
from mdpdice.modelling.unrolling import Unrolled
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.policies.evaluation import evaluate
from mdpdice.solving.pipeline import solve

__all__ = ["Explanation", "explain"]

SLOPES = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""A difference counts whole, or its half, third and so on."""
LINE_COST = 0.02
"""Share of the loss that a second condition or a difference has to gain."""
MOST_VALUES = 700
"""Different values of a number that is compared."""
NEGLIGIBLE = 1e-3
"""Share of the gains and losses of a line that the search may overlook."""
ROUNDS = 3
_SIDES = "mine", "theirs"
SETTLED = 1e-9
"""Gains below this, relative to the loss, are rounding."""
LONGEST = 10_000
PLAYED = 1e-4
"""Chance of plays that are not followed to their end for the visits."""


class Feature(NamedTuple):
    """A whole number of every state: ``told(sign, number)`` says that it is at least or at most so much."""

    codes: Ints
    values: list[Any]
    told: Callable[[str, Any], str]
    cost: int
    group: str


class Line(NamedTuple):
    """What is done, and where: its number among the ways to choose, its conditions, the decisions that they fit."""

    way: int
    told: tuple[str, ...]
    fits: NDArray[np.bool_]


@attrs.frozen(eq=False, repr=False)
class Explanation:
    """A rule in lines, and its exact loss.

    Parameters
    ----------
    lines : tuple of str
        The first one that fits decides; the last one always fits.
    policy : Policy
        The rule as a policy of the network of `solution`.
    solution : Solution
        Best play.
    evaluated : Solution
        What the rule is worth at the start; of two players the first follows it, and the other one plays best.
    """

    lines: tuple[str, ...]
    policy: Policy
    solution: Solution
    evaluated: Solution

    @property
    def loss(self) -> float:
        """What the rule loses at the start against best play, in payoff units."""
        return abs(self.solution.estimate() - self.evaluated.estimate())

    def __repr__(self) -> str:
        return "\n".join([*self.lines, f"loses {self.loss:.6g} of {self.solution.estimate():.10g}"])


def explain(
    game: Game[Any, Any],
    solution: Solution | None = None,
    *,
    size: int = 3,
    progress: Progress | None = None,
) -> Explanation:
    """Find a short rule that comes near to best play.

    Parameters
    ----------
    game : Game
        The game; ``game.at(state)`` explains what is ahead of a state.
    solution : Solution, optional
        Its answer on a network without a horizon; by default the game is explored and solved.
    size : int
        Most lines before "otherwise".
    progress : callable, optional
        Called as ``progress("explain", {"lines": ..., "of": ...})``.

    Returns
    -------
    Explanation

    Raises
    ------
    UnsupportedError
        The answer has a horizon or no network.

    Examples
    --------
    >>> from mdpdice.games.pig import PigTurn
    >>> from mdpdice.policies.explanation import explain
    >>> print(explain(PigTurn(), size=1))
    hold from 20
    otherwise roll
    loses 0 of 8.141794894
    """
    if solution is None:
        solution = solve(explore(game, progress=progress), progress=progress)
    network = solution.network
    if network.horizon is not None:
        raise UnsupportedError("a rule has no stages: explain an answer without a horizon", value=solution)
    search = _Search(game, solution)
    lines: list[Line] = []
    best: tuple[float, list[Line]] = np.inf, []
    for turn in range(ROUNDS):
        before = search.told(lines)
        for at in range(size):
            if progress is not None:
                progress("explain", {"lines": turn * size + at, "of": ROUNDS * size})
            lines = search.improved(lines, at)
        visits = search.visits(search.choice(lines))
        if (loss := float((visits * search.lost(lines)).sum())) < best[0]:
            best = loss, lines
        if search.told(lines) == before:
            break
        search.weight = (visits + search.optimal) / 2
    policy = Policy(network, search.choice(best[1]))
    both = (policy, solution.policy) if network.two_player else policy
    return Explanation(search.told(best[1]), policy, solution, evaluate(network, both, progress=progress))


class _Search:
    """Numbers of the decisions, ways to choose, and their losses."""

    def __init__(self, game: Game[Any, Any], solution: Solution) -> None:
        net, table = solution.network, solution.nodes
        self.network, self.best = net, table.choice
        self.nodes = np.flatnonzero(net.decides)
        self.edges = np.flatnonzero(net.decides[net.source])
        self.row = np.searchsorted(self.nodes, net.source[self.edges])  # the decision of every edge
        ahead = table.values[net.dst]
        worth = net.reward + np.where(net.step, float(net.factor), 1.0) * np.where(
            net.sign < 0, float(net.total) - ahead, ahead
        )
        turn = np.where((net.kind == Kind.MIN)[net.source] != (solution.sense == "min"), -1.0, 1.0)
        self.loss = np.maximum(0.0, turn * (table.values[net.source] - worth))
        # Who minimises beside the player who learns the rule plays best.
        self.learns = net.kind[self.nodes] != Kind.MIN
        states = [net.states[at] for at in net.node_state[self.nodes].tolist()]
        self.names, self.ways = _ways(net, self.edges, self.row, len(self.nodes))
        self.losses = [np.where(way >= 0, self.loss[way], np.inf) for way in self.ways]
        self.features = list(_features(game, states, self._options()))
        self.optimal = self.weight = self.visits(self.best)
        everywhere = [at for at, way in enumerate(self.ways) if (way >= 0).all()]
        self.otherwise = min(everywhere, key=lambda at: float((self.weight * self.losses[at]).sum()))

    def _options(self) -> dict[str, Floats]:
        """Most of every field of an action that a state offers."""
        decided, found = self.network.actions, {}
        for at, action in enumerate(decided):
            for name, value in (init_fields(action) or {}).items():
                if isinstance(value, int):
                    known = found.setdefault(
                        f"best {name} of {type(action).__name__}", np.zeros(len(self.nodes))
                    )
                    known[self.row[at]] = max(known[self.row[at]], value)
        return found

    def choice(self, lines: list[Line]) -> Ints:
        """The edge that the rule takes in every node, as of a `Policy`."""
        found = self.best.copy()
        found[self.nodes] = np.where(self.learns, self._taken(lines), self.best[self.nodes])
        return found

    def lost(self, lines: list[Line]) -> Floats:
        """What the rule's action loses in every decision."""
        return self.loss[self._taken(lines)]

    def _taken(self, lines: list[Line]) -> Ints:
        found = self.ways[self.otherwise].copy()
        for line in reversed(lines):
            fits = line.fits & (self.ways[line.way] >= 0)
            found[fits] = self.ways[line.way][fits]
        return found

    def told(self, lines: list[Line]) -> tuple[str, ...]:
        """The rule in words."""
        found = []
        for line in lines:
            if line.fits[self.ways[line.way] >= 0].all():
                found.append(f"{self.names[line.way]} wherever that is offered")
                continue
            first, *more = line.told
            plain = first.startswith(("from ", "up to "))
            found.append(f"{self.names[line.way]} {'' if plain else 'if '}{' and '.join((first, *more))}")
        return (*found, f"otherwise {self.names[self.otherwise]}")

    def visits(self, choice: Ints) -> Floats:
        """How often plays come to every decision in the mean, if everybody follows this."""
        from scipy.sparse import csr_array

        net, n = self.network, self.network.n_nodes
        chance = net.weight * ~net.decides[net.source]
        chance[choice[self.nodes]] = 1.0
        chance *= np.where(net.step, float(net.factor), 1.0)
        some = np.flatnonzero(chance > 0)
        flow = csr_array((chance[some], (net.dst[some], net.source[some])), shape=(n, n))
        here, total = np.zeros(n), np.zeros(n)
        here[net.start] = 1.0
        for _ in range(LONGEST):
            total += here
            here = flow @ here
            if here.sum() < PLAYED:
                break
        return total[self.nodes] * self.learns

    def improved(self, lines: list[Line], at: int) -> list[Line]:
        """The rule with a better line at one place; where there is none yet, with one more wherever it does most."""
        new = at >= len(lines)
        whole = float((self.weight * self.lost(lines)).sum())
        simple = [None, *(one for one in self.features if not one.cost)]
        best: tuple[float, list[Line]] = SETTLED * max(1.0, whole), lines
        for place in range(len(lines) + 1) if new else (at,):
            before, after = lines[:place], lines[place + (not new) :]
            open_ = self.weight > 0
            for line in before:
                open_ &= ~(line.fits & (self.ways[line.way] >= 0))
            loss, some = self.lost(after), np.flatnonzero(open_)
            kept = (
                0.0 if new else float((self.weight * (self.lost([*before, *after]) - self.lost(lines))).sum())
            )
            for way, edges in enumerate(self.ways):
                rows = some[edges[some] >= 0]
                gain = self.weight[rows] * (loss[rows] - self.losses[way][rows])
                if float(gain[gain > 0].sum()) <= best[0]:
                    continue
                order = np.argsort(np.abs(gain))  # what hardly counts is left out
                heavy = order[
                    np.searchsorted(np.abs(gain)[order].cumsum(), NEGLIGIBLE * np.abs(gain).sum()) :
                ]
                rows, gain = rows[heavy], gain[heavy]
                for one, other in itertools.product(self.features, simple):
                    if one is other or (other is not None and one.group == other.group):
                        continue
                    price = LINE_COST * whole * (one.cost + (other is not None))
                    most, signs, i, j = _corner(one, other, rows, gain)
                    if most - price - kept > best[0] * (1 + 1e-9):
                        best = (
                            most - price - kept,
                            [*before, self._line(way, one, other, signs, i, j), *after],
                        )
        return best[1]

    def _line(
        self, way: int, one: Feature, other: Feature | None, signs: tuple[str, str], i: int, j: int
    ) -> Line:
        fits, told = np.ones(len(self.nodes), dtype=bool), []
        for feature, sign, at in ((one, signs[0], i), (other, signs[1], j)):
            if feature is not None:
                fits &= feature.codes >= at if sign == ">=" else feature.codes <= at
                told.append(feature.told(sign, feature.values[at]))
        return Line(way, tuple(told), fits)


def _corner(
    one: Feature, other: Feature | None, rows: Ints, gain: Floats
) -> tuple[float, tuple[str, str], int, int]:
    """The best pair of thresholds: its gain, signs and codes; of equal ones the widest."""
    width = 1 if other is None else len(other.values)
    place = one.codes[rows] * width + (0 if other is None else other.codes[rows])
    table = np.bincount(place, gain, minlength=len(one.values) * width).reshape(-1, width)
    best = -np.inf, (">=", ">="), 0, 0
    for first in (">=", "<="):
        for second in (">=",) if other is None else (">=", "<="):
            turned = table[:: 1 if first == "<=" else -1, :: 1 if second == "<=" else -1]
            sums = turned.cumsum(axis=0).cumsum(axis=1)
            most = float(sums.max())
            if most > best[0] + 1e-12 * abs(most):
                i, j = np.argwhere(sums >= most - 1e-12 * abs(most))[-1].tolist()
                ends = i if first == "<=" else len(table) - 1 - i, j if second == "<=" else width - 1 - j
                best = most, (first, second), *ends
    return best


def _ways(net: Network, edges: Ints, row: Ints, n: int) -> tuple[list[str], list[Ints]]:
    """Ways to choose an action, and the edge of each in every decision, -1 where it offers none."""
    number: dict[Any, int] = {}
    code = np.array([number.setdefault(action, len(number)) for action in net.actions])
    keys: dict[str, dict[int, tuple[float, ...]]] = {}
    for action, at in number.items():
        fields = init_fields(action)
        if fields is None and isinstance(action, tuple) and all(type(face) is int for face in action):
            runs = max(
                (len([f for f in range(low, low + k) if f in action]) == k) * k
                for low in action or (0,)
                for k in range(7)
            )
            same = max(map(action.count, action), default=0)
            keys.setdefault("keep the most equal", {})[at] = (same, -len(action), sum(action))
            keys.setdefault("keep the longest run", {})[at] = (runs, -len(action), sum(action))
            for least in range(7):
                told = {0: "keep all", 6: "keep sixes"}.get(least, f"keep all from {least}")
                if least != 1 and all(face >= least for face in action):
                    keys.setdefault(told, {})[at] = (len(action),)
        elif fields is None:
            keys.setdefault(phrase(action), {})[at] = ()
        else:
            kind = type(action).__name__
            numbers = {name: value for name, value in fields.items() if isinstance(value, int)}
            for name, value in numbers.items():
                rest = tuple(other for key, other in numbers.items() if key != name)
                keys.setdefault(f"{kind} with most {name}", {})[at] = (value, *rest)
                keys.setdefault(f"{kind} with least {name}", {})[at] = (-value, *rest)
            if not numbers:
                keys.setdefault(phrase(action), {})[at] = ()
    paid = net.reward[edges] + np.where(net.kind[net.dst[edges]] == Kind.END, net.payoff[net.dst[edges]], 0.0)
    ranked = {told: _ranks(known, len(number))[code] for told, known in keys.items()}
    ranked |= {
        "what pays most at once": np.unique(paid, return_inverse=True)[1],
        "the first option": np.zeros(len(edges)),
    }
    found: dict[bytes, tuple[str, Ints]] = {}
    for told, rank in ranked.items():
        order = np.lexsort((-np.arange(len(edges)), rank, row))
        last = order[np.append(np.diff(row[order]) != 0, True)]
        way = np.full(n, -1)
        way[row[last]] = np.where(rank[last] >= 0, edges[last], -1)
        found.setdefault(way.tobytes(), (told, way))
    for key, (told, way) in found.items():
        lone = told.split(" with ")[0]
        if sum(other.startswith(f"{lone} with ") for other, _ in found.values()) == 1:
            found[key] = lone, way
    names, ways = zip(*found.values(), strict=True)
    return list(names), list(ways)


def _ranks(known: dict[int, tuple[float, ...]], n: int) -> Floats:
    """Rank of every action by its key, -1 of those without one."""
    order = {key: rank for rank, key in enumerate(sorted(set(known.values())))}
    found = np.full(n, -1.0)
    found[list(known)] = [order[key] for key in known.values()]
    return found


def _features(game: Game[Any, Any], states: list[Any], options: dict[str, Floats]) -> Iterator[Feature]:
    """Numbers to compare: those that states hold, sums of two, and one less a share of the difference of two."""
    boxes = {
        axis.name: axis.boxes
        for axis in axes(game.game if isinstance(game, Unrolled) else game)
        if axis.boxes
    }
    fields = [fields_of(state) for state in states]
    plain: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in fields for name in one):
        column = [one.get(name) for one in fields]
        if name in boxes:
            for at, box in enumerate(boxes[name]):
                yield from _compared(
                    f"{box} used", np.array([value >> at & 1 for value in column]), flag=True
                )
        elif all(type(value) is bool for value in column):
            yield from _compared(name, np.array(column), flag=True)
        elif all(type(value) is int for value in column):
            plain[name] = np.array(column)
        elif all(isinstance(value, tuple) and all(type(face) is int for face in value) for value in column):
            plain[f"equal {name}"] = np.array([max(map(value.count, value), default=0) for value in column])
            plain[f"sum of {name}"] = np.array([sum(value) for value in column])
        else:
            texts = [phrase(value) for value in column]
            if len(set(texts)) <= 8:
                for text in dict.fromkeys(texts):
                    yield from _compared(
                        f"{name} is {text}", np.array([one == text for one in texts]), flag=True
                    )
    plain |= options
    for name, column in plain.items():
        yield from _compared(name, column)
    for (name, column), (more, other) in itertools.combinations(plain.items(), 2):
        if name not in _SIDES or more not in _SIDES:
            yield from _compared(f"{name} + {more}", column + other, cost=1)
    if all(side in plain for side in _SIDES):
        mine, theirs = (plain[side] for side in _SIDES)
        yield from _compared("theirs - mine", theirs - mine)
        for name, column in plain.items():
            for slope, sign in itertools.product(SLOPES, (1, -1) if name not in _SIDES else ()):
                told = f" + ({'theirs - mine' if sign > 0 else 'mine - theirs'}){f' / {slope}' * (slope > 1)}"
                yield from _compared(
                    name, np.floor(column - sign * (theirs - mine) / slope), told=told, cost=2
                )


def _compared(
    name: str, column: Any, *, flag: bool = False, told: str = "", cost: int = 0
) -> Iterator[Feature]:
    """A number that is compared, if it has several values, but not too many."""

    def words(sign: str, number: Any) -> str:
        if flag:
            return name if sign == ">=" else f"not {name}"
        if name == ITSELF:
            return f"{'from' if sign == '>=' else 'up to'} {number:g}"
        if told and sign == "<=":  # of a number that was rounded down
            return f"{name} < {number + 1:g}{told}"
        return f"{name} {sign} {number:g}{told}"

    values, codes = np.unique(column, return_inverse=True)
    if 1 < len(values) <= MOST_VALUES:
        yield Feature(codes, values.tolist(), words, cost, name if told else f"{name}{told}")
