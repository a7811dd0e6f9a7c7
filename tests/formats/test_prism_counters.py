"""Games with counters in the PRISM language: the text, run by an interpreter of the tests, keeps their values."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path

import attrs
import pytest
from helpers import counter_games, few_points, random_counter_games
from helpers.counter_games import LAST_TURN, SHIPPED
from helpers.prism_interpreter import Program
from hypothesis import HealthCheck, assume, given, settings

from mdpdice import (
    At,
    Counter,
    Flags,
    Game,
    Total,
    compile_lattice,
    d6,
    decide,
    end,
    explore,
    go,
    least,
    most,
    roll,
    solve,
    table,
    uniform,
    when,
)
from mdpdice.errors import GameError, MdpDiceError, UnknownStateError
from mdpdice.exploration.expansion import replicate
from mdpdice.formats import write_prism
from mdpdice.games.pig import PigTurn
from mdpdice.modelling.counters import axes
from mdpdice.modelling.expressions import FLOAT

GAMES = SHIPPED | {
    "race of the tests": counter_games.Race(goal=5),
    "sheet of the tests": counter_games.Sheet(),
    "few points": few_points.Threes(dice=2),
    "few points for two": few_points.Duel(),
}


def compared(game, path: Path) -> Program:
    """The program of a game, after its values were compared at every state of the game, by either side."""
    found = write_prism(game, path)
    program = Program(path)
    network = explore(game)
    mine = exact(network)
    other = exact(program.network, Total("min" if found.minimise else "max"))
    place = {state: at for at, state in enumerate(program.network.states)}
    met = 0
    for at, state in enumerate(network.states):
        value = mine[network.state_node[at]]
        where = found.valuation(state)
        sides = [(found.passed, where, 1)]
        if found.passed is not None:
            sides.append((found.passed, where | {found.passed: True}, -1))
        seen = [(place[key], sign) for _, v, sign in sides if (key := tuple(sorted(v.items()))) in place]
        met += bool(seen)
        for state_number, sign in seen:
            theirs = other[program.network.state_node[state_number]]
            same(found, value - found.shift, sign * theirs)
    assert met == len(network.states) or found.begun is not None
    start = program.network.node_of(tuple(sorted(found.valuation(network.states[0]).items())))
    assert start == program.network.start
    return program


def same(found, one, other) -> None:
    if any(reward.kind == FLOAT for reward in found.lattice.rewards):
        assert float(one) == pytest.approx(float(other), rel=1e-12, abs=1e-12)
    else:
        assert one == other


def exact(network, objective=None) -> list:
    solution = solve(network, objective, solver="exact")
    assert solution.nodes.exact is not None, solution.reason
    return [x if abs(x) == float("inf") else Fraction(x) for x in solution.nodes.exact[-1]]


@pytest.mark.parametrize("name", GAMES)
def test_every_shipped_game_with_counters_keeps_its_exact_values(name: str, tmp_path: Path) -> None:
    compared(GAMES[name], tmp_path / "x.prism")


def test_no_shipped_game_is_missing() -> None:
    points = [p for p in entry_points(group="mdpdice.games") if p.value.startswith("mdpdice.")]
    games = [point.load()() for point in points]
    shown = {type(game) for game in (*SHIPPED.values(), *(game for game, _ in LAST_TURN.values()))}
    assert {type(game) for game in games if axes(game)} == shown


@pytest.mark.slow
@pytest.mark.parametrize(("game", "last"), LAST_TURN.values(), ids=LAST_TURN)
def test_the_last_turn_of_a_score_sheet_keeps_its_exact_value(game, last, tmp_path: Path) -> None:
    lattice = compile_lattice(game)
    lattice = attrs.evolve(lattice, start_point=last.point(lattice.axes))
    write_prism(lattice, tmp_path / "x.prism")
    network = replicate(lattice)
    theirs = exact(Program(tmp_path / "x.prism").network)[0]
    assert theirs == exact(network)[network.start]


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(game=random_counter_games.counter_games(ahead=True))
def test_random_games_keep_their_values(game, tmp_path: Path) -> None:
    try:
        explore(game)
    except MdpDiceError:
        assume(False)
    compared(game, tmp_path / "x.prism")


@attrs.frozen
class Words(Game[str, str]):
    """Names that the language has for itself, counters with steps, a discount, and every kind of expression."""

    min = Counter(range(0, 50, 10), outside="clip")
    s = Counter(range(3, -4, -1), start=2, outside="forbid")
    used = Flags(3)
    discount = Fraction(9, 10)

    def start(self):
        return "play"

    def node(self, state):
        worth = table([5, 5, 7, 7, 7, 1], most(0, least(5, self.s % 4 + self.min // 20)))
        over = self.used.has(0, 2) & ~(self.s < 0) | (self.used.count() == 3)
        return when(
            over,
            end(worth * Fraction(1, 3) - 2 * self.used),
            decide(
                {
                    "box": when(~self.used[0], go(state, self.used.add(0), self.min.add(30), reward=worth)),
                    "other": roll(
                        d6,
                        lambda k: when(
                            self.min + k >= 20,
                            go(state, self.used.add(k % 3), self.s.set(least(3, most(-3, self.s + k - 4)))),
                            go(state, self.min.add(10), reward=Fraction(k, 2) * self.min),
                        ),
                    ),
                    "down": go(state, self.s.add(-2), self.used.add(1)),
                    "rest": end(Fraction(1, 7)),
                }
            ),
        )


def test_reserved_names_steps_and_a_discount(tmp_path: Path) -> None:
    program = compared(Words(), tmp_path / "x.prism")
    text = (tmp_path / "x.prism").read_text()
    assert "  min_ : [0..40] init 0;" in text
    assert "  s_ : [-3..3] init 2;" in text  # s is the node of the core
    assert "  used_1 : bool init false;" in text
    assert "& s_ - 2 >= -3 -> " in text
    assert "(min_'=min(40, min_ + 30))" in text
    assert program.kind == "mdp"


def test_labels_of_core_states_and_of_full_states(tmp_path: Path) -> None:
    game = CoinTurn()
    labels = {"fresh": [1], "rich": [At(0, points=2), At(1, points=0)]}
    write_prism(game, tmp_path / "x.prism", labels=labels)
    program = Program(tmp_path / "x.prism")
    assert {dict(state)["s"] for state in program.labels["fresh"]} == {2}  # node 1 is the toss
    assert len(program.labels["rich"]) == 2
    assert len(program.labels["done"]) == 1
    with pytest.raises(UnknownStateError, match="is not a core state"):
        write_prism(game, tmp_path / "x.prism", labels={"a": [7]})
    with pytest.raises(UnknownStateError, match="has the values"):
        write_prism(game, tmp_path / "x.prism", labels={"a": [At(0, points=9)]})
    with pytest.raises(GameError, match="label 'end'"):
        write_prism(game, tmp_path / "x.prism", labels={"end": [0]})


@attrs.frozen
class CoinTurn(Game[int, str]):
    """A coin for a point or the end; stop at any time."""

    points = Counter(range(4))

    def start(self):
        return 0

    def node(self, state):
        if state == 1:
            return end(self.points)
        more = roll(uniform([0, 1]), lambda k: when(self.points < 3, go(0, self.points.add(1)), go(1)) if k else end())
        return decide({"stop": go(1), "toss": more})


def test_the_text_of_a_small_turn(tmp_path: Path) -> None:
    found = write_prism(CoinTurn(), tmp_path / "x.pm")
    assert (found.kind, found.shift, found.property) == ("mdp", 0, 'R{"reward"}max=? [ C ]')
    assert found.valuation(At(1, points=2)) == {"s": 2, "points": 2}
    assert (tmp_path / "x.pm").read_text().splitlines() == SMALL.splitlines()


def test_a_game_without_counters_is_written_state_by_state(tmp_path: Path) -> None:
    found = write_prism(PigTurn(cap=5), tmp_path / "x.pm")
    explored = write_prism(explore(PigTurn(cap=5)), tmp_path / "y.pm")
    assert (tmp_path / "x.pm").read_bytes() == (tmp_path / "y.pm").read_bytes()
    assert found.property == explored.property


SMALL = """// Exported by mdpdice
// The value of the game is that of R{"reward"}max=? [ C ]
mdp

module game
  s : [0..4] init 0;
  points : [0..3] init 0;
  // 0
  [a0] s=0 -> 1 : (s'=2); // stop
  [a1] s=0 -> 1 : (s'=1); // toss
  [a0] s=1 -> 0.5 : (s'=3) + (points < 3 ? 0.5 : 0) : (s'=0)&(points'=points + 1) + (!(points < 3) ? 0.5 : 0) : (s'=2);
  // 1
  [a0] s=2 -> 1 : (s'=4)&(points'=0);
  [a0] s=3 -> 1 : (s'=4)&(points'=0);
  [a0] s=4 -> 1 : (s'=4);
endmodule

rewards "reward"
  [a0] s=2 : points;
endrewards

label "end" = s=2 | s=3;
label "done" = s=4;
"""
