"""Random games, and an evaluator that follows the text of the design and uses no part of the library's arithmetic.

The evaluator asks the `Game` object itself, node by node, and computes with fractions.  It reads the
objects that the makers return, and nothing that was compiled from them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

from hypothesis import strategies as st

from mdpdice import ClassicMDP, Dist, Game, chance, decide, end, go, pass_to, roll
from mdpdice.modelling.game import Chance, Decide, End, Go, PassTo

# --- the evaluator -----------------------------------------------------------------------------


def value(game, horizon=None):
    """Value of a game without endless plays, or of at most `horizon` decisions, by plain recursion."""
    discount, total = Fraction(game.discount), Fraction(game.total)

    @cache
    def at(state, left, decided):
        return of(game.node(state), left, decided)

    def enter(state, left, decided):
        # A decision is one step; the first one of a play is not preceded by any.
        step = decided and isinstance(game.node(state), Decide)
        return (discount if step else 1) * at(state, left, decided)

    def of(node, left, decided):
        match node:
            case End(payoff=payoff):
                return Fraction(payoff)
            case Go(state=state, reward=reward):
                return Fraction(reward) + enter(state, left, decided)
            case PassTo(state=state, reward=reward):
                return Fraction(reward) + total - enter(state, left, decided)
            case Chance(dist=dist, edges=edges, reward=reward):
                whole = sum(dist.weights)
                mean = sum(Fraction(w, whole) * of(e, left, decided) for w, e in zip(dist.weights, edges, strict=True))
                return Fraction(reward) + mean
            case Decide(options=options, player=player):
                if left == 0:
                    return Fraction(0)
                after = None if left is None else left - 1
                return (max, min)[player](of(option, after, True) for option in options)

    return at(game.start(), horizon, False)


def solve_linear(rows, right):
    """Solution of a square system in fractions, by Gauss and Jordan; None if it has none or many."""
    n = len(rows)
    table = [[*map(Fraction, row), Fraction(b)] for row, b in zip(rows, right, strict=True)]
    for col in range(n):
        pivot = next((i for i in range(col, n) if table[i][col]), None)
        if pivot is None:
            return None
        table[col], table[pivot] = table[pivot], table[col]
        table[col] = [x / table[col][col] for x in table[col]]
        for i in range(n):
            if i != col and table[i][col]:
                factor = table[i][col]
                table[i] = [x - factor * y for x, y in zip(table[i], table[col], strict=True)]
    return [row[n] for row in table]


def best_of_all_policies(actions, gamma, sense="max"):
    """Optimal values of a small discounted process, by trying every policy.

    `actions` gives, for every state, a list of (reward, {next state: probability}).
    """
    states = list(actions)
    best = max if sense == "max" else min
    found = dict.fromkeys(states)
    for policy in product(*(actions[s] for s in states)):
        rows = [
            [(s == t) - gamma * dist.get(t, Fraction(0)) for t in states]
            for s, (_, dist) in zip(states, policy, strict=True)
        ]
        values = solve_linear(rows, [reward for reward, _ in policy])
        for s, v in zip(states, values, strict=True):
            found[s] = v if found[s] is None else best(found[s], v)
    return found


# --- random games ------------------------------------------------------------------------------

small = st.integers(-4, 4)
fractions = st.fractions(-3, 3, max_denominator=6)


def dists(outcomes, *, max_size=3):
    return st.dictionaries(outcomes, st.integers(1, 6), min_size=1, max_size=max_size).map(Dist)


@st.composite
def edges(draw, states, *, depth=2, pass_on=False):
    """An edge to one of `states`; with an empty list, an end."""
    kinds = ["end"] + ["go"] * 2 * bool(states) + ["roll"] * bool(depth) + ["pass"] * (2 * pass_on * bool(states))
    match draw(st.sampled_from(kinds)):
        case "end":
            return end(draw(fractions))
        case "go":
            return go(draw(st.sampled_from(states)), reward=draw(fractions))
        case "pass":
            return pass_to(draw(st.sampled_from(states)), reward=draw(fractions))
    faces = draw(dists(st.integers(0, 5)))
    then = {k: draw(edges(states, depth=depth - 1, pass_on=pass_on)) for k in faces.outcomes}
    return roll(faces, then.__getitem__, reward=draw(fractions))


@st.composite
def acyclic_games(draw, *, pass_on=False, players=(0,), discounts=(1,), totals=(0,)):
    """A game whose states are numbers and whose plays go to larger ones."""
    n = draw(st.integers(1, 6))
    nodes = {}
    for state in range(n):
        later = list(range(state + 1, n))
        edge = edges(later, pass_on=pass_on)
        if draw(st.booleans()):
            options = draw(st.lists(edge, min_size=1, max_size=3))
            nodes[state] = decide(list(enumerate(options)), player=draw(st.sampled_from(players)))
        else:
            nodes[state] = draw(edge)
    total = draw(st.sampled_from(totals))
    return Game.of(start=0, node=nodes.__getitem__, total=total, discount=draw(st.sampled_from(discounts)))


class Table(ClassicMDP):
    """A classic process given by a table: state -> action -> (distribution, {target: reward}); None ends."""

    def __init__(self, table, discount=1):
        self.table = table
        self.discount = discount

    def initial(self):
        return 0

    def actions(self, state):
        return list(self.table[state])

    def transition(self, state, action):
        return self.table[state][action][0]

    def reward(self, state, action, target):
        return self.table[state][action][1][target]

    def terminal(self, state):
        return self.table[state] is None


@st.composite
def tables(draw):
    n = draw(st.integers(1, 5))
    table = {}
    for state in range(n):
        if draw(st.integers(0, 4)) == 0:
            table[state] = None
            continue
        row = {}
        for action in "abc"[: draw(st.integers(1, 3))]:
            dist = draw(dists(st.integers(0, n - 1)))
            row[action] = dist, {t: draw(fractions) for t in dist.outcomes}
        table[state] = row
    return table


def written_as_nodes(table, names=lambda s: s):
    """The same process in the language of nodes, its states renamed."""

    def node(name):
        row = table[back[name]]
        if row is None:
            return end()
        return decide([(a, chance(dist.map(lambda t, r=r: go(names(t), reward=r[t])))) for a, (dist, r) in row.items()])

    back = {names(s): s for s in table}
    return Game.of(start=names(0), node=node)
