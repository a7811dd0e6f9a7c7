"""Lattices against flat networks: two routes from a declared game to its values."""

from __future__ import annotations

import threading
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.counter_games import SHIPPED, Race, Sheet, make
from helpers.random_counter_games import counter_games
from hypothesis import HealthCheck, assume, given, settings

from mdpdice import (
    At,
    Counter,
    Discounted,
    Game,
    Solution,
    Status,
    Total,
    d6,
    decide,
    end,
    explore,
    go,
    roll,
    solve,
    table,
    when,
)
from mdpdice.backend import Run
from mdpdice.errors import (
    CorruptFileError,
    CounterRangeError,
    DeadEndError,
    GameError,
    MdpDiceError,
    NotCertifiedError,
    NotConvergedError,
    SolveInterrupted,
    StateLimitError,
    UnknownStateError,
    UnsupportedError,
)
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.games.farkle import FarkleRace
from mdpdice.lattices import reachable_layers as layers_module
from mdpdice.lattices.grid_tables import GridTables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layering import rank_points
from mdpdice.lattices.reachable_layers import find_layers

slow_inputs = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def both(game, **options):
    return solve(explore(game), **options), solve(compile_lattice(game), **options)


def assert_same(flat, lattice, exact=None):
    """Values, intervals, actions and the value of every action agree at every state."""
    assert lattice.lattice is not None
    network = flat.network
    for state in network.states:
        room = 1e-9 * max(1.0, abs(flat.value(state)))
        assert lattice.value(state) == pytest.approx(flat.value(state), abs=room)
        assert lattice.lower(state) <= flat.upper(state)
        assert flat.lower(state) <= lattice.upper(state)
        if exact is not None:
            assert lattice.lower(state) <= exact.exact(state) <= lattice.upper(state)
        node = network.node_of(state)
        assert lattice.kind(state) == network.kind[node]
        if not network.decides[node]:
            with pytest.raises(GameError, match="this state has no decision"):
                lattice.action(state)
            continue
        ours, theirs = lattice.q(state), flat.q(state)
        assert list(ours) == list(theirs)
        assert list(ours.values()) == pytest.approx(list(theirs.values()), abs=room)
        assert lattice.action(state) in flat.ties(state)
        assert flat.action(state) in lattice.ties(state)


# --- random games -------------------------------------------------------------------------------


@slow_inputs
@given(counter_games(ahead=True))
def test_random_games_that_end(game):
    assume(game.discount == 1)
    try:
        network = explore(game)
    except MdpDiceError:
        with pytest.raises(MdpDiceError):  # of several faults one route may find another one first
            solve(compile_lattice(game))
        return
    flat, exact = solve(network), solve(network, solver="exact")
    lattice = solve(compile_lattice(game))
    assert lattice.status is Status.CERTIFIED
    assert_same(flat, lattice, exact)


@slow_inputs
@given(counter_games())
def test_random_games_that_may_go_on_for_ever_are_right_or_not_certified(game):
    assume(game.discount == 1)
    try:
        flat = solve(explore(game), solver="exact")
    except MdpDiceError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdpdice.solving.lattice_route.MAX_SWEEPS", 300)
        try:
            lattice = solve(compile_lattice(game))
        except NotConvergedError:
            return
    if lattice.proved:
        for state in flat.network.states:
            assert lattice.lower(state) <= flat.exact(state) <= lattice.upper(state)


@slow_inputs
@given(counter_games())
def test_tables_say_what_the_lattice_says(game):
    lattice = compile_lattice(game)
    points = np.arange(lattice.size)[::-1]
    tables = GridTables(lattice).at(points)
    for update in range(len(lattice.updates)):
        assert tables.targets[update].tolist() == lattice.targets(update, points).tolist()
    assert tables.targets[-1].tolist() == points.tolist()
    for guard in range(len(lattice.guards)):
        assert tables.guards[guard].tolist() == lattice.guard_at(guard, points).tolist()
    for reward in range(len(lattice.rewards)):
        assert np.array_equal(tables.rewards[reward], lattice.reward_at(reward, points), equal_nan=True)


def test_more_points_than_32_bits_count():
    lattice = compile_lattice(Race(1300))
    assert lattice.size > 1 << 31
    points = np.array([0, 1299, lattice.size // 2, lattice.size - 1])
    tables = GridTables(lattice).at(points)
    for update in range(len(lattice.updates)):
        assert tables.targets[update].tolist() == lattice.targets(update, points).tolist()
    assert tables.targets.max() == tables.targets[-1, -1] == lattice.size - 1
    with pytest.raises(StateLimitError, match=r"2,207,140,000 points .* about 68.5 GB, and 0.1 GB .*unrolled"):
        layers_module.find_large_layers(lattice, Run(), max_bytes=1 << 27)


@pytest.mark.slow
def test_wide_numbers_of_points_change_nothing(monkeypatch):
    # Compiles the loops anew, for arrays of other types.
    narrow = solve(compile_lattice(Race(20))).table.stored
    monkeypatch.setattr(Lattice, "point_type", np.dtype(np.int64))
    wide = solve(compile_lattice(Race(20)))
    assert wide.status is Status.CERTIFIED
    assert wide.table.layers.tables.at(np.arange(3)).targets.dtype == np.int64
    assert np.array_equal(wide.table.stored, narrow, equal_nan=True)


# --- games --------------------------------------------------------------------------------------


def test_a_race_is_cyclic():
    flat, lattice = both(Race(10))
    assert lattice.solver == "layer-sweeps"
    assert lattice.width < 1e-9
    assert_same(flat, lattice, solve(explore(Race(10)), solver="exact"))


def test_a_sheet_with_boxes_on_one_pass():
    flat, lattice = both(Sheet())
    assert lattice.solver == "layer-sweeps"
    assert_same(flat, lattice, solve(explore(Sheet()), solver="exact"))


def test_a_race_with_a_larger_core():
    assert_same(*both(FarkleRace(target=300, dice=3)))


def test_the_player_to_move_may_want_little():
    assert_same(*both(Sheet(), objective=Total("min")))


def test_where_plays_may_not_end_nothing_is_claimed():
    # Nobody wants to win, so both hold for ever.
    solution = solve(compile_lattice(Race(6)), Total("min"))
    assert solution.status is Status.UNCERTIFIED
    assert "may not end" in solution.reason
    with pytest.raises(NotCertifiedError, match="explore"):
        solution.value()


def test_large_grids_are_solved_on_the_lattice(monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 1000)
    large = solve(Race(10))
    assert large.lattice is not None
    with pytest.raises(NotCertifiedError, match="use solver='exact'"):
        large.exact()
    assert solve(Race(3)).lattice is None
    # What the lattice cannot do is written out.
    assert solve(Race(10), solver="policy-iteration").lattice is None


def test_what_does_not_converge_on_the_lattice_is_written_out(monkeypatch):
    def node(game, core):
        return decide({"collect": go("s", game.n.add(1), reward=1), "stop": end()})

    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 0)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    game = make(node, n=Counter(range(3), outside="clip"))
    with pytest.raises(NotConvergedError):
        solve(compile_lattice(game))
    assert solve(game).value() == np.inf
    monkeypatch.setattr("mdpdice.solving.pipeline.FALL_BACK_UP_TO_EDGES", 0)
    with pytest.raises(NotConvergedError):
        solve(game)


@pytest.mark.parametrize("name", [*SHIPPED, "race", "sheet"])
def test_play_reaches_the_states_of_the_network(name):
    # Nodes that play comes to together are looked at as one and counted one by one.
    game = {**SHIPPED, "race": Race(6), "sheet": Sheet()}[name]
    assert find_layers(compile_lattice(game)).states == len(explore(game).states)


def test_a_layer_in_pieces_and_without_kept_tables(monkeypatch):
    expected = solve(compile_lattice(Race(12)))
    monkeypatch.setattr(layers_module, "KEPT_SHARE", 1 << 60)
    monkeypatch.setattr("mdpdice.lattices.layer_solver.CHUNK_BYTES", 1)
    monkeypatch.setattr("mdpdice.certification.checking.lattice.PIECE", 64)
    monkeypatch.setattr("mdpdice.certification.checking.lattice.KEPT", 0)
    found = solve(compile_lattice(Race(12)))
    assert np.array_equal(found.table.layers.reached, expected.table.layers.reached)
    assert np.nanmax(np.abs(found.table.stored - expected.table.stored)) < 1e-13
    assert found.status is Status.CERTIFIED


@pytest.mark.parametrize("game", [Race(12), Sheet()], ids=["to itself", "strict"])
def test_values_of_layers_that_are_listed_a_few_points_at_a_time(game, monkeypatch):
    expected = solve(compile_lattice(game)).table
    monkeypatch.setattr("mdpdice.lattices.layering.PIECE", 5)
    found = solve(compile_lattice(game)).table
    assert np.array_equal(found.stored, expected.stored, equal_nan=True)
    assert np.array_equal(found.widths, expected.widths)


def test_memory_counts_the_points_that_play_reaches(monkeypatch):
    lattice = compile_lattice(Sheet())
    monkeypatch.setattr(layers_module, "LAYERS_FROM_EDGES", 0)
    points = sum(len(layer.points) for layer in find_layers(lattice).layers)
    with pytest.raises(StateLimitError) as caught:
        layers_module.find_large_layers(lattice, Run(), max_bytes=0)
    assert caught.value.explored == 0
    grid = caught.value.value
    with pytest.raises(StateLimitError) as caught:
        layers_module.find_large_layers(lattice, Run(), max_bytes=grid + 12 * points - 1)
    assert caught.value.explored == points
    assert layers_module.find_large_layers(lattice, Run(), max_bytes=grid + 12 * points) is not None


# --- progress -----------------------------------------------------------------------------------


class Mixed(Race):
    """The progress reads the first counter and the last one."""

    def progress(self):
        return (self.mine // 2 + 0 * self.turn, self.turn * (self.mine > 3))


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize("game", [Race(9), Sheet(), Mixed(9)], ids=["two", "flags", "apart"])
def test_the_points_of_a_layer_are_those_that_have_its_number(game, infer, monkeypatch):
    ranks = rank_points(compile_lattice(game), infer=infer)
    assert ranks.count == ranks.layer.max() + 1
    monkeypatch.setattr("mdpdice.lattices.layering.PIECE", 4)
    for number in range(ranks.count):
        points = np.concatenate(list(ranks.points(number)))
        assert len(points) == ranks.length(number)
        assert np.array_equal(np.sort(points), np.flatnonzero(ranks.layer == number))
    assert not list(ranks.points(ranks.count))


def test_progress_is_found():
    assert repr(rank_points(compile_lattice(Race(10))).progress) == "(mine + theirs,)"
    found = rank_points(compile_lattice(Sheet()))
    assert found.strict
    assert "boxes.count" in repr(found.progress)


class Declared(Race):
    said = None

    def progress(self):
        return self.said


@pytest.mark.parametrize("said", ["sum", "nothing", "pair"])
def test_a_declared_progress_is_used(said):
    game = Declared(8)
    choices = {"sum": game.mine + game.theirs, "nothing": 0, "pair": (game.mine + game.theirs, 0 * game.turn)}
    Declared.said = choices[said]
    flat, lattice = both(game)
    assert (len(lattice.table.layers.layers) == 1) == (said == "nothing")
    assert_same(flat, lattice)


def test_a_progress_that_decreases_names_the_place():
    game = Declared(8)
    Declared.said = game.mine
    with pytest.raises(GameError, match="never decreases") as caught:
        solve(compile_lattice(game))
    assert isinstance(caught.value.state, At)
    assert set(caught.value.value) == {"mine", "theirs", "turn"}


# --- what a player can ask ----------------------------------------------------------------------


def test_states_that_there_are_not():
    solution = solve(compile_lattice(Race(10)))
    for state, words in (
        ("turn", "has no counter values"),
        (At("other", mine=0, theirs=0, turn=0), "not in the core"),
        (At("turn", mine=0, theirs=0), "it lacks turn; a state of this game is At"),
        (At("turn", mine=0, theirs=0, turn=1), "cannot be reached"),
    ):
        with pytest.raises(UnknownStateError, match=words):
            solution.value(state)
    assert solution.value() == solution.value(solution.start)


def test_a_file_is_certified_again(tmp_path):
    solution = solve(compile_lattice(Race(8)))
    path = tmp_path / "race.npz"
    solution.save(path)
    again = Solution.load(path, Race(8))
    assert again.status is Status.CERTIFIED
    assert again.value() == solution.value()
    with pytest.raises(CorruptFileError, match="another game"):
        Solution.load(path, Race(9))
    wrong = attrs.evolve(
        solution,
        table=attrs.evolve(
            solution.table, stored=np.where(solution.table.layers.reached, solution.table.stored + 1e-3, np.nan)
        ),
    )
    wrong.save(path)
    with pytest.raises(NotCertifiedError):
        Solution.load(path, Race(8)).value()


# --- limits and faults --------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"objective": Discounted(Fraction(1, 2))}, {"horizon": 2}, {"solver": "exact"}])
def test_what_lattices_cannot_do(options):
    with pytest.raises(UnsupportedError, match="explore"):
        solve(compile_lattice(Race(4)), **options)


def test_memory_is_looked_at_beforehand(monkeypatch):
    monkeypatch.setattr(layers_module, "available_bytes", lambda: 100_000)
    with pytest.raises(StateLimitError, match=r"points and 1 core nodes") as caught:
        solve(compile_lattice(Race(20)))
    assert caught.value.value > caught.value.limit


def test_a_solve_is_stopped_between_pieces():
    event = threading.Event()
    event.set()
    with pytest.raises(SolveInterrupted):
        solve(compile_lattice(Race(5)), cancel=event)
    with pytest.raises(SolveInterrupted, match="deadline"):
        solve(compile_lattice(Race(5)), time_limit=0.0)


def test_too_few_sweeps_say_so(monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.MAX_SWEEPS", 2)
    with pytest.raises(NotConvergedError, match="explore"):
        solve(compile_lattice(Race(10)))


class Faulty(Game[str, str]):
    points = Counter(range(4))

    def __init__(self, options):
        self.options = options

    def start(self):
        return "s"

    def node(self, state):
        return decide(self.options(self))


def test_faults_are_found_where_play_comes_to_them():
    more = {"more": lambda g: go("s", g.points.add(1))}
    with pytest.raises(CounterRangeError) as caught:
        solve(compile_lattice(Faulty(lambda g: {name: make(g) for name, make in more.items()})))
    assert (caught.value.state, caught.value.value) == (At("s", points=3), 4)
    guarded = Faulty(lambda g: {"more": when(g.points < 3, go("s", g.points.add(1)))})
    with pytest.raises(DeadEndError) as caught:
        solve(compile_lattice(guarded))
    assert caught.value.state == At("s", points=3)
    fine = Faulty(lambda g: {"more": when(g.points < 3, go("s", g.points.add(1))), "stop": end(g.points)})
    assert solve(compile_lattice(fine)).value() == 3


FAULTS = {
    "reward": lambda g: {"a": go("s", g.points.add(1), reward=table([1, 2], g.points)), "z": end()},
    "payoff": lambda g: {"a": when(g.points < 3, go("s", g.points.add(1))), "z": end(table([1], g.points))},
    "condition": lambda g: {"a": when(table([1, 2], g.points) > 0, go("s", g.points.add(1))), "z": end()},
    "new value": lambda g: {"z": end(), "a": go("s", g.points.set(1 + table([0, 1], g.points)))},
    "outside": lambda g: {"z": end(), "a": roll(d6, lambda k: go("s", g.points.add(k)))},
    "forbidden": lambda g: {"z": end(), "a": roll(d6, lambda k: go("s", g.never.add(k)))},
}


class Forbidding(Faulty):
    never = Counter(range(4), outside="forbid")


@pytest.mark.parametrize("name", FAULTS)
def test_state_action_and_value_of_a_fault_are_told_whatever_way_is_taken(name):
    told = []
    for way in (lambda game: solve(compile_lattice(game)), explore, lambda game: explore(game.unrolled())):
        with pytest.raises(GameError if name not in ("outside", "forbidden") else CounterRangeError) as caught:
            way(Forbidding(FAULTS[name]))
        error = caught.value
        told.append((error.message, error.state, error.action, error.value))
    assert told[0] == told[1] == told[2]
    assert isinstance(told[0][1], At)
    assert told[0][2] == ("z" if name == "payoff" else "a")


@pytest.mark.parametrize("where", ["reward", "condition", "new value"])
def test_counters_of_another_game_are_refused_with_their_place(where):
    other = Sheet()
    options = {
        "reward": lambda g: {"a": go("s", reward=other.penalty), "z": end()},
        "condition": lambda g: {"a": when(other.penalty > 0, go("s")), "z": end()},
        "new value": lambda g: {"a": go("s", g.points.set(other.penalty)), "z": end()},
    }[where]
    for way in (explore, compile_lattice):
        with pytest.raises(GameError, match="no counter 'penalty'") as caught:
            way(Faulty(options))
        assert (caught.value.state, caught.value.action) == ("s", "a")


def test_progress_is_told():
    told = []
    solve(compile_lattice(Race(6)), progress=lambda phase, numbers: told.append((phase, dict(numbers))))
    assert {phase for phase, _ in told} == {"explore", "solve"}
    assert told[-1][1]["layers"] == told[-1][1]["of"]


def test_the_answer_names_the_engine():
    lattice = compile_lattice(Sheet())
    assert solve(lattice).solver == "layer-sweeps"
    with pytest.raises(UnsupportedError, match="sweeps of their layers, without solver='value-iteration'"):
        solve(lattice, solver="value-iteration")
