"""Random games with counters: random cores, axes, conditions, updates, rewards and payoffs.

Plays may be endless and counters may leave their values: what is compared is what two routes
make of one game, errors included.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from mdpdice import Counter, Flags, Game, decide, end, go, least, most, pass_to, roll, table, when

from .random_games import dists, fractions

small = st.integers(-2, 3)


@st.composite
def axes(draw):
    """Declarations of one to three counters, by name."""
    found = {}
    for name in "abc"[: draw(st.integers(1, 3))]:
        if draw(st.integers(0, 3)) == 0:
            found[name] = Flags(draw(st.integers(1, 2)))
            continue
        first, step = draw(small), draw(st.sampled_from([1, 1, 2, -1, -3]))
        values = range(first, first + step * draw(st.integers(1, 4)), step)
        outside = draw(st.sampled_from(["error", "clip", "clip", "forbid"]))
        found[name] = Counter(values, start=draw(st.sampled_from(values)), outside=outside)
    return found


@st.composite
def numbers(draw, game, depth=2):
    """A whole number, or an expression for one."""
    names = game.declared
    kind = draw(
        st.sampled_from(["counter", "counter", "constant", *["sum", "product", "extreme", "table"] * (depth > 0)])
    )
    if kind == "counter":
        return getattr(game, draw(st.sampled_from(names)))
    if kind == "constant":
        return draw(small)
    part = numbers(game, depth - 1)
    if kind == "sum":
        return draw(part) + draw(part) if draw(st.booleans()) else draw(part) - draw(part)
    if kind == "product":
        return draw(small) * draw(part)
    if kind == "extreme":
        return draw(st.sampled_from([least, most]))(draw(part), draw(part))
    entries = draw(st.lists(small, min_size=1, max_size=4))
    index = draw(part)
    # Now and then the table has no entry.
    return table(entries, index if draw(st.integers(0, 5)) == 0 else most(0, least(index, len(entries) - 1)))


@st.composite
def conditions(draw, game, depth=1):
    if depth and draw(st.integers(0, 2)) == 0:
        one, other = draw(conditions(game, depth - 1)), draw(conditions(game, depth - 1))
        return draw(st.sampled_from([lambda: one & other, lambda: one | other, lambda: ~one]))()
    left, right = getattr(game, draw(st.sampled_from(game.declared))) + 0, draw(numbers(game, 1))
    return draw(
        st.sampled_from([lambda: left < right, lambda: left >= right, lambda: left == right, lambda: left != right])
    )()


@st.composite
def rewards(draw, game, floats=False):
    """A number of any kind, or an expression for one; many are 0.

    Float expressions are for payoffs: rewards of chance inside chance are added up, float
    expressions among them as floats, which the plain route adds as the rationals that they are.
    """
    match draw(st.integers(0, 4 + floats)):
        case 0:
            return draw(numbers(game, 1)) * draw(fractions)
        case 1:
            return draw(fractions)
        case 2:
            return draw(numbers(game, 1))
        case 5:
            return draw(st.sampled_from([0.1, 0.5, -1.0])) * draw(numbers(game, 1))
    return 0


@st.composite
def moves(draw, game):
    """Updates of some of the counters."""
    found = []
    for name in game.declared:
        counter = getattr(game, name)
        if draw(st.integers(0, 2)) == 0:
            continue
        if isinstance(vars(type(game))[name], Flags):
            box = draw(st.integers(0, len(counter.boxes) - 1))
            found.append(draw(st.sampled_from([counter.add, counter.remove]))(box))
        elif draw(st.booleans()):
            found.append(counter.add(draw(small)))
        else:
            found.append(counter.set(draw(numbers(game, 1))))
    return found


@st.composite
def edges(draw, game, states, depth=2):
    kinds = ["end", "go", "go", "go"] + ["pass"] * game.passing * 2 + ["roll", "when"] * (depth > 0)
    match draw(st.sampled_from(kinds)):
        case "end":
            return end(draw(rewards(game, floats=True)))
        case "go":
            return go(draw(st.sampled_from(states)), *draw(moves(game)), reward=draw(rewards(game)))
        case "pass":
            return pass_to(draw(st.sampled_from(states)), *draw(moves(game)), reward=draw(rewards(game)))
        case "when":
            inner = edges(game, states, depth - 1)
            return when(draw(conditions(game)), draw(inner), draw(inner))
    faces = draw(dists(st.integers(0, 3)))
    then = {face: draw(edges(game, states, depth - 1)) for face in faces.outcomes}
    return roll(faces, then.__getitem__, reward=draw(rewards(game)))


@st.composite
def nodes(draw, game, states, depth=2):
    kind = draw(st.sampled_from(["edge", "decide", "decide", "decide", *["when"] * (depth > 0)]))
    if kind == "edge":
        return draw(edges(game, states))
    if kind == "when":
        inner = nodes(game, states, depth - 1)
        return when(draw(conditions(game)), draw(inner), draw(inner))
    options = []
    for action in range(draw(st.integers(1, 3))):
        edge = draw(edges(game, states))
        if draw(st.integers(0, 2)) == 0:
            edge = when(draw(conditions(game)), edge)
        options.append((action, edge))
    return decide(options, player=draw(st.sampled_from(game.players)))


@st.composite
def counter_games(draw, *, ahead=False):
    """A game with counters; with `ahead` plays go to larger core states only, so they end."""
    passing = draw(st.booleans())
    declared = draw(axes())
    game = type(
        "RandomGame",
        (Game,),
        {
            **declared,
            "declared": tuple(declared),
            "passing": passing,
            "players": (0,) if passing else (0, 0, 1),
            "total": draw(st.sampled_from([0, 0, 1])) if passing else 0,
            "start": lambda self: 0,
            "node": lambda self, state: self.nodes[state],
        },
    )()
    if game.total == 0:
        game.discount = draw(st.sampled_from([1, 1, Fraction(9, 10)]))
    n = draw(st.integers(1, 4))
    game.nodes = {
        state: draw(nodes(game, list(range(state + 1, n)) or [n])) if ahead else draw(nodes(game, list(range(n))))
        for state in range(n)
    }
    game.nodes[n] = end(draw(rewards(game, floats=True)))
    return game
