"""The loops that certify lattices are mutated: each mutation must make a named case come out wrong.

A case is a claim about a small lattice with whether it should pass; the loops as they are get all of them right.
Everything runs in plain Python here, since compiling every mutant would take minutes.
"""

from __future__ import annotations

import functools
import inspect
import sys
from unittest import mock

import attrs
import numpy as np
import pytest
from helpers.counter_games import Race, Sheet
from helpers.mutated_modules import mutated, plain

from mdpdice import (
    Counter,
    Game,
    Kind,
    Total,
    compile_lattice,
    d6,
    decide,
    die,
    end,
    go,
    pass_to,
    roll,
    solve,
    table,
    when,
)
from mdpdice.backend import Run
from mdpdice.certification.checking import kernels as checking_kernels
from mdpdice.certification.checking import lattice as checking_lattice
from mdpdice.certification.checking.kernels import lattice as checking_lattice_kernels
from mdpdice.certification.checking.kernels import lattice_lanes
from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import find_layers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

NARROW = 1e-8


@attrs.frozen
class Duel(Game[str, str]):
    """One side wants much and the other little; five steps, each by a die whose eyes somebody may turn over."""

    at = Counter(range(3))

    def start(self):
        return "up"

    def node(self, state):
        if state in ("up", "down"):
            return when(self.at == 2, end(self.at * 3), roll(d6, lambda k: go(f"{state} {k}")))
        side, face = state.split()
        other = "down" if side == "up" else "up"
        lose = go(other, self.at.set(2), reward=-100 - self.at)
        return decide(
            {
                "keep": go(side, self.at.add(1), reward=int(face) + self.at),
                "turn": go(other, self.at.add(1), reward=7 - int(face)),
                "wait": when(self.at == 0, go(other, self.at.add(1), reward=3)),
                "lose": lose if side == "up" else None,
            },
            player=int(side == "down"),
        )


@attrs.frozen
class Wheel(Game[str, str]):
    """Nine numbers and nine options, one side after the other: every option is the best one for some number.

    No two numbers offer the same.  After some options the other side may win at once.
    """

    at = Counter(range(3))
    last = Counter(range(3))

    def start(self):
        return "up"

    def node(self, state):
        if state in ("up", "down"):
            return when(self.at == 2, end(0), roll(die(9), lambda k: go(f"{state} {k}")))
        if state in ("won", "lost"):
            return end(20 if state == "won" else -20)
        side, number = state.split()
        n = int(number)
        other = "down" if side == "up" else "up"
        options = {
            str(option): go(other, self.at.add(1), self.last.set(option % 3), reward=(option + 2 * n) % 9 + n)
            for option in range(9)
        }
        return decide(
            {**options, "stop": when(self.last == 1, go("won" if side == "up" else "lost"))}
            if number == "5"
            else options,
            player=int(side == "down"),
        )


@attrs.frozen
class Slow(Race):
    """A race with one of two dice, where half of the time it must be the bad one, which only delays the end."""

    def node(self, state):
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        bust = pass_to("turn", *swap, self.theirs.set(self.mine))
        if state in ("good", "bad"):
            most = 120 if state == "good" else 1
            return roll(die(200), lambda k: go("turn", self.turn.add(2)) if k <= most else bust)
        if state == "die":
            return decide({"good": go("good"), "bad": go("bad")})
        either = roll(die(2), lambda k: go("die" if k == 1 else "bad"))
        return when(self.mine + self.turn >= self.goal, end(1), either)


GAMES = {"sheet": Sheet, "race": lambda: Race(2), "duel": Duel, "wheel": Wheel, "slow": lambda: Slow(2)}


@functools.cache
def right(name):
    """The layers of a game, and what is right about it."""
    layers = find_layers(compile_lattice(GAMES[name]()))
    ranks = layers.ranks
    return layers, Claim(layers.program.entries, solve(layers.lattice).table.stored, ranks.layer, ranks.inner)


def off(name, number, by):
    """One stored value is wrong."""
    layers, claim = right(name)
    values = claim.values.copy()
    k, point = np.argwhere(layers.reached)[number]
    values[k, point] += by
    return layers.lattice, attrs.evolve(claim, values=values)


def as_it_is(name):
    layers, claim = right(name)
    return layers.lattice, claim


def other_sense(name):
    layers, claim = right(name)
    return layers.lattice, attrs.evolve(claim, values=solve(layers.lattice, Total("min")).table.stored)


def backwards(name):
    layers, claim = right(name)
    return layers.lattice, attrs.evolve(claim, layer=claim.layer.max() - claim.layer)


def endless():
    """Both sides hold for ever, and half of the total is a solution of the equations."""
    lattice = right("race")[0].lattice
    kind = np.where(lattice.kind == Kind.MAX, Kind.MIN, lattice.kind).astype("u1")
    layers = find_layers(attrs.evolve(lattice, kind=kind))
    values, _ = solve_layers(layers, Run())
    return layers.lattice, Claim(layers.program.entries, values, layers.ranks.layer, layers.ranks.inner)


def chosen(name, change):
    """The stored choices: the best ones, or others."""
    layers, claim = right(name)
    lattice, solution = layers.lattice, solve(layers.lattice)
    choices = np.full((lattice.n_nodes, lattice.size), -1, dtype=np.int16)
    for point in np.flatnonzero(layers.reached.any(axis=0)).tolist():
        rows, tables, at = solution.table.rows(point)
        for node in np.flatnonzero((lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)).tolist():
            turn = 1 if lattice.kind[node] == Kind.MAX else -1
            worth = [
                turn * float(rows[layers.program.edge_row[edge], at])
                if (lattice.guard[edge] < 0 or tables.guards[lattice.guard[edge], at])
                and tables.targets[lattice.update[edge], at] >= 0
                else -np.inf
                for edge in range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            ]
            choices[node, point] = int(np.argmin(worth) if change else np.argmax(worth))
    return lattice, attrs.evolve(claim, choices=choices)


def unknown():
    """Nobody knows what the worst option is worth."""
    layers, claim = right("duel")
    rewards = tuple(
        reward + 0 * table([0], Duel().at + 3) if "100" in repr(reward) else reward for reward in layers.lattice.rewards
    )
    assert repr(rewards) != repr(layers.lattice.rewards)
    return attrs.evolve(layers.lattice, rewards=rewards), claim


def outside():
    """The worst option leaves the grid."""
    layers, claim = right("duel")
    updates = tuple(
        (Duel().at.set(7),) if change.value.value == 2 else (change,) for (change,) in layers.lattice.updates
    )
    assert repr(updates) != repr(layers.lattice.updates)
    return attrs.evolve(layers.lattice, updates=updates), claim


CASES = {
    **{f"{name}: right": (functools.partial(as_it_is, name), True) for name in GAMES},
    **{f"{name}: right choices": (functools.partial(chosen, name, change=False), True) for name in GAMES},
    **{f"{name}: wrong choices": (functools.partial(chosen, name, change=True), False) for name in GAMES},
    **{
        f"{name}: value {number} off by {by}": (functools.partial(off, name, number, by), False)
        for name in GAMES
        for number, by in [(0, 1e-4), (0, -1e-4), (1, 1e-4), (-1, -1e-4), (-1, 1e-4), (0, np.inf)]
    },
    **{f"{name}: least for most": (functools.partial(other_sense, name), False) for name in ("sheet", "duel")},
    **{f"{name}: layers backwards": (functools.partial(backwards, name), False) for name in ("sheet", "duel")},
    "race: endless": (endless, False),
    "duel: unknown reward": (unknown, False),
    "duel: beyond the grid": (outside, False),
}


def width(kernels, case) -> float:
    """How far optimal value and value of the policy may be apart, by some loops."""
    lattice, claim = CASES[case][0]()
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(checking_lattice, "kernels", kernels)
        widths = verify_lattice(lattice, claim)
    return float((widths.optimal + widths.policy).max())


def mutant(old=None, new=None):
    """The loops in plain Python, with a change in one of their two modules."""
    inner = old is not None and old in inspect.getsource(lattice_lanes)
    loops = mutated(lattice_lanes, old, new, 0) if inner else plain(lattice_lanes)
    with (
        mock.patch.object(checking_kernels, "lattice_lanes", loops),
        mock.patch.dict(sys.modules, {lattice_lanes.__name__: loops}),
    ):
        if inner or old is None:
            return plain(checking_lattice_kernels)
        return mutated(checking_lattice_kernels, old, new, 0)


@functools.cache
def compiled_width(case) -> float:
    return width(checking_lattice_kernels, case)


def is_right(kernels, case) -> bool:
    """Whether loops say of a claim what they should: of one that passes, exactly how wide the intervals are."""
    found = width(kernels, case)
    if CASES[case][1]:
        return found < NARROW and found == pytest.approx(compiled_width(case), rel=1e-3, abs=0)
    return not found < NARROW


# What is changed, what to, and the case that then comes out wrong.
MUTATIONS = [
    ("best[i, j] = total - best[i, j]", "best[i, j] = best[i, j]", "race: right"),
    ("        best[i, j] += source[one, j]\n", "        best[i, j] -= source[one, j]\n", "sheet: right"),
    ("best[i, j] = best[i, j] if there[some, j] else number", "best[i, j] = best[i, j]", "sheet: right"),
    ("best[i, j] += w * best[one, j]", "best[i, j] += best[one, j]", "wheel: right"),
    ("(w * best[three, j] + x * best[four, j])", "(w * best[three, j])", "sheet: right"),
    ("(first + (y * best[five, j] + z * best[six, j]))", "first", "sheet: right"),
    ("(w * best[one, j] + x * best[two, j])", "(w * best[one, j])", "wheel: right"),
    ("if more else 0.0) + (w *", "if False else 0.0) + (w *", "wheel: right"),
    ("return max(two, one)", "return two", "wheel: right"),
    ("return min(two, one)", "return two", "wheel: right"),
    ("first = better(1, best[two, j], better(1, best[one, j], best[i, j]))", "first = best[i, j]", "wheel: right"),
    ("best[i, j] = better(1, best[four, j], better(1, best[three, j], first))", "best[i, j] = first", "wheel: right"),
    ("better(1, best[one, j], best[i, j]))", "best[one, j])", "wheel: right"),
    ("first = better(-1, best[two, j], better(-1, best[one, j], best[i, j]))", "first = best[i, j]", "wheel: right"),
    ("best[i, j] = better(-1, best[four, j], better(-1, best[three, j], first))", "best[i, j] = first", "wheel: right"),
    ("better(-1, best[one, j], best[i, j]))", "best[one, j])", "wheel: right"),
    ("two, three, four = arg[min(e + 1, final)],", "two, three, four = arg[e],", "wheel: right"),
    (
        "best[i, j] = source[one, j] if there[some, j] & better else best[i, j]",
        "best[i, j] = source[one, j] if better else best[i, j]",
        "wheel: right",
    ),
    ("near[e] &= chosen", "near[e] = 0", "race: endless"),
    ("near[e] &= chosen", "near[e] &= live[e]", "race: right"),
    ("not turn * best[one, j] < turn * best[i, j] - limit", "False", "race: endless"),
    ("not turn * best[one, j] < turn * best[i, j] - limit", "True", "race: right"),
    ("word = live[b, e] if mean or side == free else near[b, e]", "word = live[b, e]", "race: right"),
    ("word = live[b, e] if mean or side == free else near[b, e]", "word = near[b, e]", "race: right"),
    (
        "            if to == -1:\n                continue\n",
        "            if to == -1:\n                free |= lane\n                continue\n",
        "sheet: right",
    ),
    ("if to < 0 or layer[to] < layer[points[first + j]] or not", "if to < 0 or not", "sheet: layers backwards"),
    ("row_read[r, j] = values[k, to]", "row_read[r, j] = 0.0", "sheet: right"),
    (
        "            if layer[to] == layer[points[first + j]]:\n                within |= lane",
        "            if layer[to] == layer[points[first + j]]:\n                within |= np.uint64(0)",
        "race: right",
    ),
    (
        "live = free & word_guard[guard[q] if guard[q] >= 0 else len(guards)]",
        "live = free & word_guard[len(guards)]",
        "sheet: right",
    ),
    (
        "live = free & word_guard[guard[q] if guard[q] >= 0 else len(guards)]",
        "live = word_guard[guard[q] if guard[q] >= 0 else len(guards)]",
        "sheet: right",
    ),
    (
        "loops.leave(best, i, row_guard, some, -turn[q] * np.inf, wide)",
        "loops.leave(best, i, row_guard, some, turn[q] * np.inf, wide)",
        "sheet: right",
    ),
    ("inside[q] = there[0, i] & within", "inside[q] = np.uint64(0)", "race: right"),
    ("return spoilt != 0, itself != 0", "return spoilt != 0, False", "race: right"),
    ("itself |= arg[e] >= n and inside[arg[e] - n] != 0", "itself |= False", "race: right"),
    ("chosen = word_guard[some] & there[0, one]", "chosen = there[0, one]", "sheet: right"),
    ("if choices[i, points[first + j]] != number[e]:", "if False:", "sheet: wrong choices"),
    ("defect[i] = abs(1.0 - whole)", "defect[i] = 0.0", "sheet: right"),
    (
        "room[n + q], slack[0, n + q] = near, 4 * ULP * _least(near), 0.0",
        "room[n + q], slack[0, n + q] = near, 0.0, 0.0",
        "sheet: right",
    ),
    (
        "room[i] = (1.0 + defect[i]) * rooms + ((2 * terms + 8) * ULP + defect[i]) * _least(largest)",
        "room[i] = rooms",
        "sheet: right",
    ),
    ("slack[0, i] += 0.0 if following else 2 * rooms", "slack[0, i] += 0.0", "sheet: right"),
    (
        "                distance = abs(best[i, j] - value)",
        "                distance = 0.0",
        "sheet: value 0 off by 0.0001",
    ),
    (
        "                distance = abs(best[i, j] - value)",
        "                distance = best[i, j] - value",
        "sheet: value 0 off by 0.0001",
    ),
    (
        "                distance = abs(best[i, j] - value)",
        "                distance = value - best[i, j]",
        "sheet: value 0 off by -0.0001",
    ),
    (
        "        if _block(first, lanes, core, claim, tables, rooms, found, whole, defect):\n            itself = 1.0",
        "        if _block(first, lanes, core, claim, tables, rooms, found, whole, defect):\n            itself = 0.0",
        "race: right",
    ),
    ("most_room = max(most_room, room[i] + 2 * ULP * _least(size[i]))", "most_room = 0.0", "sheet: right"),
    ("most_slack = max(most_slack, slack[0, i])", "most_slack = 0.0", "sheet: right"),
    ("later[r, j] = w[0, k, p] if p >= 0 else 0.0", "later[r, j] = 0.0", "race: right"),
    ("later[n_reads + r, j] = w[1, k, p] if p >= 0 else 0.0", "later[n_reads + r, j] = 0.0", "race: endless"),
    ("if word == 0 or (q >= 0 and empty[ports[0][q]]):", "if word == 0 or q >= 0:", "race: right"),
    ("if inner[i] and begin < finish and (mean or side == free):", "if inner[i] and begin < finish:", "slow: right"),
    ("np.concatenate((arg, arg + n))", "np.concatenate((arg, arg))", "slow: right"),
    ("there[1, i], bad[i] = covered,", "there[1, i], bad[i] = held,", "wheel: right"),
    ("covered |= there[int(number[e] < 0), arg[e]]", "covered |= np.uint64(0)", "sheet: right"),
    ("if word != spelt:", "if False:", "race: endless"),
    (
        "            _taken(first, lanes, core, claim, tables, rooms, room, live[b], near[b])\n",
        "            pass\n",
        "race: endless",
    ),
    ("            noted[b] = True\n", "            noted[b] = False\n", "race: endless"),
    ("early[k, p] = True", "early[k, p] = False", "race: endless"),
    ("elif start + p >= blocks[b]:", "elif start + p < blocks[b]:", "race: endless"),
    ("                    w[side, k, to] = steps", "                    w[side, k, to] = 1.0", "race: right"),
    ("most_read[r] = max(most_read[r], size_read[r])", "most_read[r] = 0.0", "sheet: right"),
    ("most_reward[r] = max(most_reward[r], size_reward[r])", "most_reward[r] = 0.0", "sheet: right"),
    ("limit = 2 * room[i]", "limit = -1.0", "race: endless"),
    ("turned = ports[1][q] if q >= 0 else flip[e]", "turned = 0", "race: right"),
    ("steps = 1.0 + back[side * n + entries[k], j]", "steps = back[side * n + entries[k], j]", "race: right"),
    ("if early[k, to] and not rise <= grown:", "if False:", "race: endless"),
    ("                    if not steps <= longest:", "                    if False:", "race: right"),
    (
        "            if number < np.inf:\n                size = max(size, number)",
        "            if True:\n                size = max(size, number)",
        "duel: unknown reward",
    ),
    ("if to < 0 or layer[to]", "if layer[to]", "duel: beyond the grid"),
    ("            unknown |= word_reward[reward[q]]", "            unknown |= np.uint64(0)", "duel: unknown reward"),
    ("there[0, i], bad[i] = live, live & unknown", "there[0, i], bad[i] = live, np.uint64(0)", "duel: unknown reward"),
    ("return spoilt != 0, itself != 0", "return False, itself != 0", "duel: unknown reward"),
    ("wrong |= bad[arg[e]] & there[int(number[e] < 0), arg[e]]", "wrong |= np.uint64(0)", "duel: unknown reward"),
    ("wrong |= bad[arg[e]] & there[int(number[e] < 0), arg[e]]", "wrong |= bad[arg[e]]", "wheel: right"),
    ("                wrong |= chosen & unknown", "                wrong |= np.uint64(0)", "duel: unknown reward"),
    ("= covered, wrong | (held & ~covered)", "= covered, held & ~covered", "duel: unknown reward"),
    (
        "                if bad[i] >> np.uint64(j) & np.uint64(1) or not distance < np.inf:",
        "                if not distance < np.inf:",
        "duel: unknown reward",
    ),
    (
        "or not distance < np.inf:\n                    distance = np.inf",
        "and False:\n                    distance = np.inf",
        "duel: unknown reward",
    ),
]


PLAIN = mutant()


@pytest.mark.parametrize("case", CASES)
def test_plain_loops_are_right(case):
    assert is_right(PLAIN, case)


@pytest.mark.parametrize(("old", "new", "case"), MUTATIONS, ids=range(len(MUTATIONS)))
def test_mutants_are_caught(old, new, case):
    assert not is_right(mutant(old, new), case)
