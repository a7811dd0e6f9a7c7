"""Two-player Farkle against plain sweeps over faces, and by several solvers."""

import itertools

import attrs
import numpy as np
import pytest

from mdpdice import At, Policy, cross_check, evaluate, explore, simulate, solve
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.farkle import Bank, Choose, FarkleRace, Keep, Ready, Second
from mdpdice.games.farkle.menus import Menu
from mdpdice.looks import look_of
from tests.helpers import plain_farkle_race


def plain_race(offers, dice, target):
    """P(win) of the starter, by sweeps over all positions until nothing changes; scores in steps of 50.

    `offers` gives for a number of dice the (weight, best, {(points, dice next)}) of all rolls.
    """
    scores = range(0, target, 50)
    rolling = {}  # (dice, mine, theirs, turn)
    for d, mine, theirs in itertools.product(range(1, dice + 1), scores, scores):
        for turn in range(0, target - mine, 50):
            rolling[d, mine, theirs, turn] = 0.5
    change = 1.0
    while change > 1e-14:
        change = 0.0
        for (d, mine, theirs, turn), before in list(rolling.items()):
            total = wins = 0.0
            for weight, best, keeps in offers[d]:
                total += weight
                if not best:
                    wins += weight * (1 - rolling[dice, theirs, mine, 0])
                    continue
                at = mine + turn
                worth = 1.0 if at + best >= target else 1 - rolling[dice, theirs, at + best, 0]
                for points, left in keeps:
                    if at + points < target:
                        worth = max(worth, rolling[left, mine, theirs, turn + points])
                wins += weight * worth
            rolling[d, mine, theirs, turn] = wins / total
            change = max(change, abs(before - wins / total))
    return rolling


@pytest.mark.parametrize(("dice", "target"), [(2, 300), (3, 200)])
def test_every_throw_against_plain_sweeps(dice, target, oracle):
    table = oracle.offers("kcd", [((1,) * 6, False)], (dice,))
    plain = {
        number: [(weight, best, [(points, left[0]) for points, left in keeps]) for weight, best, keeps in lines]
        for (number,), (lines, _) in table.items()
    }
    expected = plain_race(plain, dice, target)
    solution = solve(explore(FarkleRace(target=target, dice=dice)), epsilon=1e-11)
    throws = [state for state in solution.network.states if isinstance(state.state, Ready)]
    assert len(throws) > 20
    for state in throws:
        at = state.counters
        key = (state.state.dice, at["mine"], at["theirs"], at["turn"])
        assert solution.value(state) == pytest.approx(expected[key], abs=1e-11), state


@pytest.mark.parametrize("target", [100, 250])
def test_back_ends_agree(target):
    report = cross_check(FarkleRace(target=target, dice=4))
    assert report.ok, report.table()
    assert report.independent >= 3


@pytest.mark.slow
def test_back_ends_agree_on_six_dice():
    report = cross_check(FarkleRace(target=500), solvers=["value-iteration", "policy-iteration"])
    assert report.ok, report.table()


@pytest.mark.slow
def test_race_to_4000():
    # Two independent programs give this value; here it is the lattice, which is too large for a network.
    solution = solve(FarkleRace())
    assert solution.value() == pytest.approx(0.557117046219, abs=1e-11)
    assert solution.lower() <= 0.557117046219 <= solution.upper()
    assert solution.width < 1e-8


def test_both_ways_to_explore():
    game = FarkleRace(target=200, dice=["Odd die", "kcd2/A/Lu die", "x=1:1:1:1:1:1"])
    fast, plain = explore(game), explore(game.unrolled())
    assert (fast.n_states, fast.n_edges) == (plain.n_states, plain.n_edges)
    assert solve(fast).value() == pytest.approx(solve(plain).value(), abs=1e-9)


def test_moves():
    game = FarkleRace(target=1000).unrolled()
    menu = Menu.of(250, [(100, 5), (200, 4), (250, 3)])
    near = options(game, At(Choose(menu), mine=600, theirs=300, turn=200))
    # 200 more would win, so they are banked and not played on with.
    assert list(near) == [Bank(250), Keep(100, 5)]
    assert repr(near[Bank(250)]) == "end(1)"
    assert near[Keep(100, 5)].state == At(Ready(5), mine=600, theirs=300, turn=300)
    far = options(game, At(Choose(menu), mine=100, theirs=300, turn=200))
    assert list(far) == [Bank(250), Keep(250, 3), Keep(200, 4), Keep(100, 5)]
    assert type(far[Bank(250)]).__name__ == "PassTo"
    assert far[Bank(250)].state == At(Ready(6), mine=300, theirs=550, turn=0)
    lost = game.node(At(Ready(1), mine=100, theirs=300, turn=200))
    passed = [edge.state for edge in lost.edges if type(edge).__name__ == "PassTo"]
    assert passed == [At(Ready(6), mine=300, theirs=100, turn=0)]


def options(game, state):
    node = game.node(state)
    known = zip(node.actions, node.options, strict=True)
    return {action: option for action, option in known if type(option).__name__ not in ("NoneType", "Unavailable")}


def test_who_starts_wins_more_often_and_less_so_in_a_longer_race():
    values = [solve(FarkleRace(target=target, dice=3)).value() for target in (50, 300, 600)]
    assert all(np.diff(values) < 0)
    assert values[-1] > 0.5


# --- parameters and text --------------------------------------------------------------------------


def test_parameters():
    assert FarkleRace(target="500", dice="3", rules="patch") == FarkleRace(500, 3, "patch")
    with pytest.raises(GameError, match="target=0: .* from 1 to 50,000"):
        FarkleRace(target=0)
    with pytest.raises(GameError, match="1 to 6 dice"):
        FarkleRace(dice=7)
    for field in attrs.fields(FarkleRace):
        assert field.metadata["help"]


@pytest.mark.parametrize("dice", [3, ["Odd die", "x=1:1:1:1:1:1"]])
def test_text_of_every_state_is_read_back(dice):
    game = FarkleRace(target=150, dice=dice)
    states = explore(game.unrolled()).states
    assert len({look_of(game).show_state(state) for state in states}) == len(states)
    for state in states:
        assert look_of(game).read_state(look_of(game).show_state(state)) == state


def test_texts():
    game = FarkleRace()
    assert (
        look_of(game).show_state(At(Ready(3), mine=1200, theirs=800, turn=350))
        == "mine=1200 theirs=800 dice=3 points=350"
    )
    assert look_of(game).read_state("dice=6") == At(Ready(6), mine=0, theirs=0, turn=0)
    for text, message in [
        ("mine=3900 theirs=0 dice=3 points=100", "has the 4000 points that win"),
        ("theirs=4000 dice=3", "has the 4000 points that win"),
        ("mine=1 mine=2 dice=3", "names a score twice"),
        ("mine=100", "write mine=1200 theirs=800 roll="),
        ("mine=1 theirs=2 roll=1,1,5 turn=0", "write mine=1200 theirs=800 roll="),
    ]:
        with pytest.raises(UnknownStateError, match=message):
            look_of(game).read_state(text)


def test_thresholds_of_both_players():
    game = FarkleRace(target=400, dice=3)
    network = explore(game)
    name = "threshold:100,250,350"
    known = look_of(game).policy_value(name)
    players = Policy.of(network, look_of(game).policy(name))
    exact = evaluate(network, players)
    assert known.value == pytest.approx(exact.value(), abs=1e-10)
    assert known.lower <= exact.upper()
    assert exact.lower() <= known.upper
    assert known.value == pytest.approx(simulate(network, players, 20_000, seed=1).mean, abs=0.02)
    assert [known.form for known in look_of(game).policies()] == ["threshold:T1,T2,T3"]
    assert look_of(game).policy("hold-at:20") is None
    assert look_of(game).policy_value("optimal") is None
    with pytest.raises(GameError, match="threshold:250,200"):
        look_of(game).policy_value("threshold:x")


# --- different dice -------------------------------------------------------------------------------

LUCKY, FAIR, EVEN = (6, 1, 2, 3, 4, 6), (1,) * 6, (2, 8, 2, 8, 2, 8)


@pytest.mark.parametrize(
    ("mine", "theirs", "target"),
    [("3 x Lucky", "2 x Ordinary", 200), ("Lucky, Even", "Ordinary, Even", 250), ("Devil, Lucky", "2 x Even", 200)],
)
def test_different_dice_against_plain_sweeps(mine, theirs, target, oracle):
    game = FarkleRace(target=target, my_dice=mine, their_dice=theirs)
    full = [tuple(turn.dice.count(kind) for kind in turn.kinds) for turn in game.turns]
    tables = [
        oracle.offers("kcd", [(kind.weights, kind.joker) for kind in turn.kinds], counts)
        for turn, counts in zip(game.turns, full, strict=True)
    ]
    expected = plain_farkle_race.plain_race(tables, full, target)
    solution = solve(explore(game), epsilon=1e-11)
    seats = set()
    for state in solution.network.states:
        seat, core = (1, state.state.state) if isinstance(state.state, Second) else (0, state.state)
        if isinstance(core, Ready):
            at, dice = state.counters, core.dice if isinstance(core.dice, tuple) else (core.dice,)
            key = (seat, dice, at["mine"], at["theirs"], at["turn"])
            assert solution.value(state) == pytest.approx(expected[key], abs=1e-11), state
            seats.add(seat)
    assert seats == {0, 1}


def test_swapped_seats_add_up():
    a, b = "2 x Lucky, Odd", "3 x Even"
    one = FarkleRace(target=400, my_dice=a, their_dice=b, my_points=100, their_points=250)
    other = FarkleRace(target=400, my_dice=b, their_dice=a, my_points=250, their_points=100)
    first, second = solve(one), solve(other)
    # A begins in one, and is the second in the other; B the other way round.
    assert second.value(At(other.begin(1), mine=100, theirs=250, turn=0)) == pytest.approx(first.value(), abs=1e-9)
    assert first.value(At(one.begin(1), mine=250, theirs=100, turn=0)) == pytest.approx(second.value(), abs=1e-9)
    (line,) = look_of(one).summary(first)
    assert line == f"your chance to win: {first.value():.10g} if you begin, {1 - second.value():.10g} if they do"


def test_the_better_dice_win_more_often_from_both_seats():
    game = FarkleRace(target=500, my_dice="3 x Lucky", their_dice="3 x Ordinary")
    solution, fair = solve(game), solve(FarkleRace(target=500, dice=3))
    assert solution.value() > fair.value()
    assert solution.value(At(game.begin(1), mine=0, theirs=0, turn=0)) < fair.value()


def test_equal_dice_are_the_same_game():
    plain, named = (FarkleRace(target=400, dice=3), FarkleRace(target=400, my_dice=3, their_dice="3 x Ordinary die"))
    assert len(named.turns) == 1
    assert explore(plain).digest == explore(named).digest
    assert len(FarkleRace(my_dice="Odd, Lucky", their_dice="Lucky, Odd").turns) == 1
    assert FarkleRace(dice=3, their_dice=2).turns[0] == FarkleRace(dice=3).turns[0]
    assert explore(plain).states[0] == At(Ready(3), mine=0, theirs=0, turn=0)


def test_points_to_start_from():
    solution = solve(FarkleRace(target=600, dice=3))
    for mine, theirs in [(300, 100), (50, 550)]:
        ahead = solve(FarkleRace(target=600, dice=3, my_points=mine, their_points=theirs))
        assert ahead.value() == pytest.approx(solution.value(At(Ready(3), mine=mine, theirs=theirs, turn=0)), abs=1e-9)
    with pytest.raises(GameError, match="'mine' starts at 600, outside its values"):
        explore(FarkleRace(target=600, my_points=600))
    with pytest.raises(GameError, match="their_points=-50: .* from 0 to 50,000"):
        FarkleRace(their_points=-50)


def test_texts_of_both_seats():
    game = FarkleRace(target=1000, my_dice="2 x Lucky, Odd", their_dice=3, my_points=100, their_points=200)
    look = look_of(game)
    mine = look.read_state("roll=1@Odd,2@lucky points=50")
    assert mine.counters == {"mine": 100, "theirs": 200, "turn": 50}
    theirs = look.read_state("player=2 roll=1,5,2")
    assert theirs.counters == {"mine": 200, "theirs": 100, "turn": 0}
    assert theirs.state == Second(Choose(game.turns[1].book.menu(((1, 2, 5),))))
    assert look.show_state(theirs).startswith("player=2 mine=200 theirs=100 roll=1,")
    assert look.words(theirs, Keep(150, 1)) == "set aside the 1 and the 5 for 150; 150 at risk, roll one die"
    assert look.words(mine, Bank(100)) == "bank the 1 (Odd die) for 100: 250 in all"
    for state in explore(attrs.evolve(game, target=300).unrolled()).states:
        assert look.read_state(look.show_state(state)) == state
    equal = look_of(FarkleRace())
    assert equal.read_state("player=2 dice=3") == equal.read_state("dice=3")


def test_thresholds_with_different_dice():
    game = FarkleRace(target=300, my_dice="2 x Lucky", their_dice=2)
    name = "threshold:100,150"
    known, network = look_of(game).policy_value(name), explore(game)
    assert known.value == pytest.approx(
        evaluate(network, Policy.of(network, look_of(game).policy(name))).value(), abs=1e-10
    )
    assert not look_of(FarkleRace(my_dice=3, their_dice=2)).policies()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "value", "states"),
    [
        ("kcd", 0.53651129, 906_885_800),
        ("patch", 0.530388094, 918_353_600),  # an independent program gives this value, too
        ("plain", 0.53695303, 662_199_800),
        ("facebook", 0.53503742, 895_415_600),
        ("zilch", 0.53480771, 922_176_600),
    ],
)
def test_families_to_10000(rules, value, states):
    solution = solve(FarkleRace(target=10_000, rules=rules))
    assert solution.value() == pytest.approx(value, abs=1e-8)
    assert solution.width < 1e-8
    assert solution.n_states == states
