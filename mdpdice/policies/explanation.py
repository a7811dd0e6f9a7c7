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
from collections import Counter
from collections.abc import Iterator, Sequence
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

SLOPES = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""A difference counts whole, or its half, third and so on."""
LINE_COST = 0.02
"""Share of the loss that a second condition or a difference has to gain."""
NEGLIGIBLE = 1e-3
"""Share of the gains and losses of a line that the search may overlook."""
MOST_VALUES = 700
"""Different values of a number that is compared."""
ROUNDS, SETTLED, LONGEST, PLAYED = 3, 1e-9, 10_000, 1e-4
_SIDES = "mine", "theirs"


class Feature(NamedTuple):
    """A whole number of every state: its name, its codes and what these stand for, what is added, what it costs."""

    name: str
    codes: Ints
    values: list[float]
    added: str
    cost: int

    def told(self, least: bool, at: int) -> str:
        """Say that it is at least, or at most, a number."""
        number = self.values[at]
        if self.added == "flag":
            return self.name if least else f"not {self.name}"
        if self.name == ITSELF and not self.added:
            return f"{'from' if least else 'up to'} {number:g}"
        if self.added and not least:  # it was rounded down
            return f"{self.name} < {number + 1:g}{self.added}"
        return f"{self.name} {'>=' if least else '<='} {number:g}{self.added}"


class Line(NamedTuple):
    """What is done, by its number among the ways to choose; in which decisions; and that in words."""

    way: int
    fits: NDArray[np.bool_]
    told: str


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
    game: Game[Any, Any], solution: Solution | None = None, *, size: int = 3, progress: Progress | None = None
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
    if solution.network.horizon is not None:
        raise UnsupportedError("a rule has no stages: explain an answer without a horizon", value=solution)
    search, lines = _Search(game, solution), list[Line]()
    best: tuple[float, list[Line]] = np.inf, []
    for turn in range(ROUNDS):
        before = search.told(lines)
        for at in range(size):
            if progress is not None:
                progress("explain", {"lines": turn * size + at, "of": ROUNDS * size})
            lines = search.improved(lines, at)
        visits = search.visits(search.choice(lines))
        best = min(best, (float(visits @ search.lost(lines)), lines), key=lambda pair: pair[0])
        if search.told(lines) == before:
            break
        search.weight = (visits + search.optimal) / 2
    policy = Policy(solution.network, search.choice(best[1]))
    both = (policy, solution.policy) if solution.network.two_player else policy
    return Explanation(search.told(best[1]), policy, solution, evaluate(solution.network, both, progress=progress))


class _Search:
    """Numbers of the decisions, ways to choose, and their losses."""

    def __init__(self, game: Game[Any, Any], solution: Solution) -> None:
        net, table = solution.network, solution.nodes
        self.network, self.best, self.nodes = net, table.choice, np.flatnonzero(net.decides)
        edges = np.flatnonzero(net.decides[net.source])
        row = np.searchsorted(self.nodes, net.source[edges])  # the decision of every edge
        ahead = table.values[net.dst]
        ahead = np.where(net.sign < 0, float(net.total) - ahead, ahead)
        self.factor = np.where(net.step, float(net.factor), 1.0)
        turn = np.where((net.kind == Kind.MIN)[net.source] != (solution.sense == "min"), -1.0, 1.0)
        self.loss: Floats = np.maximum(0.0, turn * (table.values[net.source] - net.reward - self.factor * ahead))
        # Who minimises beside the player who learns the rule plays best.
        self.learns = net.kind[self.nodes] != Kind.MIN
        states = [net.states[at] for at in net.node_state[self.nodes].tolist()]
        self.names, self.ways = zip(*_ways(net, edges, row, len(states)).items(), strict=True)
        self.features = list(_features(game, states, net.actions, row))
        self.optimal = self.weight = self.visits(self.best)
        everywhere = [at for at, way in enumerate(self.ways) if (way >= 0).all()]
        self.otherwise = min(everywhere, key=lambda at: float(self.weight @ self.loss[self.ways[at]]))

    def taken(self, lines: list[Line]) -> Ints:
        """Return the edge that the rule takes in every decision."""
        found: Ints = self.ways[self.otherwise].copy()
        for line in reversed(lines):
            found[line.fits] = self.ways[line.way][line.fits]
        return found

    def choice(self, lines: list[Line]) -> Ints:
        """Return the edge that is taken in every node, as of a `Policy`."""
        found = self.best.copy()
        found[self.nodes] = np.where(self.learns, self.taken(lines), self.best[self.nodes])
        return found

    def lost(self, lines: list[Line]) -> Floats:
        """Return what the rule's action loses in every decision."""
        return self.loss[self.taken(lines)]

    def told(self, lines: list[Line]) -> tuple[str, ...]:
        """Return the rule in words."""
        return (*(line.told for line in lines), f"otherwise {self.names[self.otherwise]}")

    def visits(self, choice: Ints) -> Floats:
        """Return the mean number of visits of a play to every decision, when this policy is followed."""
        from scipy.sparse import csr_array

        net, n = self.network, self.network.n_nodes
        chance = net.weight * ~net.decides[net.source]
        chance[choice[self.nodes]] = 1.0
        some = np.flatnonzero(chance > 0)
        flow: Any = csr_array(((chance * self.factor)[some], (net.dst[some], net.source[some])), shape=(n, n))
        here, total = np.zeros(n), np.zeros(n)
        here[net.start] = 1.0
        for _ in range(LONGEST):
            total += here
            if (here := flow @ here).sum() < PLAYED:
                break
        found: Floats = total[self.nodes] * self.learns
        return found

    def improved(self, lines: list[Line], at: int) -> list[Line]:
        """Return the rule with a better line at one place; if there is none yet, with one where it gains most."""
        new, now = at >= len(lines), float(self.weight @ self.lost(lines))
        simple = [None, *(one for one in self.features if not one.cost)]
        best: tuple[float, list[Line]] = SETTLED * max(1.0, now), lines
        for place in range(len(lines) + 1) if new else (at,):
            before, after = lines[:place], lines[place + (not new) :]
            caught = np.any([line.fits for line in before], axis=0) | (self.weight <= 0)
            some, loss = np.flatnonzero(~caught), self.lost(after)
            kept = float(self.weight @ self.lost([*before, *after])) - now
            for way, edges in enumerate(self.ways):
                rows = some[edges[some] >= 0]
                gain = self.weight[rows] * (loss[rows] - self.loss[edges[rows]])
                if float(gain.clip(0).sum()) - kept <= best[0]:
                    continue
                order = np.argsort(np.abs(gain))  # what hardly counts is left out
                sums = np.abs(gain)[order].cumsum()
                heavy = order[np.searchsorted(sums, NEGLIGIBLE * sums[-1]) :]
                for one, other in itertools.product(self.features, simple):
                    if other is not None and one.name == other.name:
                        continue
                    most, ends = _corner(one, other, rows[heavy], gain[heavy])
                    most -= kept + LINE_COST * now * (one.cost + (other is not None))
                    if most > best[0] * (1 + 1e-9):
                        best = most, [*before, self._line(way, ((one, *ends[0]), (other, *ends[1]))), *after]
        return best[1]

    def _line(self, way: int, parts: tuple[tuple[Feature | None, bool, int], ...]) -> Line:
        fits, told = self.ways[way] >= 0, []
        everywhere = int(fits.sum())
        for feature, least, at in parts:
            if feature is not None:
                fits = fits & (feature.codes >= at if least else feature.codes <= at)
                told.append(feature.told(least, at))
        if int(fits.sum()) == everywhere:
            return Line(way, fits, f"{self.names[way]} wherever that is offered")
        plain = told[0].startswith(("from ", "up to "))
        return Line(way, fits, f"{self.names[way]} {'' if plain else 'if '}{' and '.join(told)}")


def _corner(one: Feature, other: Feature | None, rows: Ints, gain: Floats) -> tuple[float, list[tuple[bool, int]]]:
    """Return the best pair of thresholds, among equals the widest: gain, whether least or most, and codes."""
    shape = len(one.values), 1 if other is None else len(other.values)
    place = one.codes[rows] * shape[1] + (0 if other is None else other.codes[rows])
    table = np.bincount(place, gain, minlength=shape[0] * shape[1]).reshape(shape)
    best: tuple[float, list[tuple[bool, int]]] = -np.inf, []
    for least in itertools.product((True, False), (True,) if other is None else (True, False)):
        sums = table[:: -1 if least[0] else 1, :: -1 if least[1] else 1].cumsum(axis=0).cumsum(axis=1)
        if (most := float(sums.max())) > best[0] + 1e-12 * abs(most):
            widest = np.argwhere(sums >= most - 1e-12 * abs(most))[-1].tolist()
            best = most, [(low, n - 1 - at if low else at) for low, n, at in zip(least, shape, widest, strict=True)]
    return best


def _ways(net: Network, edges: Ints, row: Ints, n: int) -> dict[str, Ints]:
    """Ways to choose an action, and the edge of each in every decision, -1 where it offers none."""
    number: dict[Any, int] = {}
    code = np.array([number.setdefault(action, len(number)) for action in net.actions])
    kinds = Counter((at, type(action)) for at, action in zip(row.tolist(), net.actions, strict=True))
    several = {kind for (_, kind), times in kinds.items() if times > 1}
    keys: dict[str, dict[int, tuple[float, ...]]] = {}
    for action, at in number.items():
        fields, kind = init_fields(action), type(action).__name__
        if fields is None and isinstance(action, tuple) and all(type(face) is int for face in action):
            key = max(map(action.count, action), default=0), -len(action), sum(action)
            keys.setdefault("keep the most equal", {})[at] = key
            for least in range(min(action, default=6) + 1):
                told = f"keep all from {least}" if least else "keep all"
                keys.setdefault(told, {})[at] = (len(action),)
            continue
        numbers = {name: value for name, value in (fields or {}).items() if isinstance(value, int)}
        if not numbers or type(action) not in several:
            keys.setdefault(kind if numbers else phrase(action), {})[at] = ()
            continue
        for name, value in numbers.items():
            rest = tuple(other for key, other in numbers.items() if key != name)
            keys.setdefault(f"{kind} with most {name}", {})[at] = (value, *rest)
            keys.setdefault(f"{kind} with least {name}", {})[at] = (-value, *rest)
    ends = net.dst[edges]
    paid = net.reward[edges] + np.where(net.kind[ends] == Kind.END, net.payoff[ends], 0.0)
    ranked = {told: _ranks(known, len(number))[code] for told, known in keys.items()}
    ranked["what pays most at once"] = np.unique(paid, return_inverse=True)[1].astype(np.float64)
    found: dict[bytes, tuple[str, Ints]] = {}
    for told, rank in ranked.items():
        order = np.lexsort((-np.arange(len(edges)), rank, row))
        last = order[np.append(np.diff(row[order]) != 0, True)]
        way = np.full(n, -1)
        way[row[last]] = np.where(rank[last] >= 0, edges[last], -1)
        found.setdefault(way.tobytes(), (told, way))  # what comes to the same has one name
    return dict(found.values())


def _ranks(known: dict[int, tuple[float, ...]], n: int) -> Floats:
    """Rank of every action by its key, -1 of those without one."""
    order = {key: rank for rank, key in enumerate(sorted(set(known.values())))}
    found = np.full(n, -1.0)
    found[list(known)] = [order[key] for key in known.values()]
    return found


def _features(game: Game[Any, Any], states: list[Any], actions: Sequence[Any], row: Ints) -> Iterator[Feature]:
    """Numbers to compare: those that states hold, sums of two, and one less a share of the difference of two."""
    whole = game.game if isinstance(game, Unrolled) else game
    boxes = {axis.name: axis.boxes for axis in axes(whole) if axis.boxes}
    fields: list[dict[str, Any]] = [fields_of(state) for state in states]
    plain: dict[str, Any] = {}
    flags: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in fields for name in one):
        column: Any = [one.get(name) for one in fields]
        kinds, texts = {type(value) for value in column}, [*map(phrase, column)]
        if name in boxes:
            for at, box in enumerate(boxes[name]):
                flags[f"{box} used"] = [value >> at & 1 for value in column]
        elif kinds == {int}:
            plain[name] = column
        elif kinds == {tuple} and all(type(face) is int for value in column for face in value):
            plain[f"equal {name}"] = [max(map(value.count, value), default=0) for value in column]
            plain[f"sum of {name}"] = [sum(value) for value in column]
        elif kinds == {bool}:
            flags[name] = column
        elif len(set(texts)) <= 8:
            flags |= {f"{name} is {text}": [one == text for one in texts] for text in dict.fromkeys(texts)}
    for at, action in zip(row.tolist(), actions, strict=True):
        for name, value in (init_fields(action) or {}).items():
            if isinstance(value, int):
                most = plain.setdefault(f"best {name} of {type(action).__name__}", [0] * len(states))
                most[at] = max(most[at], value)
    plain = {name: np.array(column) for name, column in plain.items()}
    found = [(name, np.array(column), "flag", 0) for name, column in flags.items()]
    found += [(name, column, "", 0) for name, column in plain.items()]
    for (name, column), (more, other) in itertools.combinations(plain.items(), 2):
        if (name, more) != _SIDES:
            found.append((f"{name} + {more}", column + other, "", 1))
    if plain.keys() >= set(_SIDES):
        behind = plain["theirs"] - plain["mine"]
        found.append(("theirs - mine", behind, "", 0))
        for name, slope in itertools.product([one for one in plain if one not in _SIDES], SLOPES):
            part = f" / {slope}" * (slope > 1)
            for sign, text in ((1, "theirs - mine"), (-1, "mine - theirs")):
                found.append((name, np.floor(plain[name] - sign * behind / slope), f" + ({text}){part}", 2))
    for name, column, added, cost in found:
        values, codes = np.unique(column, return_inverse=True)
        if 1 < len(values) <= MOST_VALUES:
            yield Feature(name, codes, values.tolist(), added, cost)
