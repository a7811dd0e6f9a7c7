"""Two-player Konijnenhokken against plain sweeps over rolls, and by several solvers."""

import itertools

import attrs
import pytest

from mdpdice import At, Status, compile_lattice, cross_check, explore, simulate, solve
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.konijnenhokken import KonijnenhokkenRace
from mdpdice.games.konijnenhokken.race import Hutch, Seen
from mdpdice.looks import look_of


def plain_race(dice, target, oracle):
    """P(win) by sweeps over all positions (r1, r2, c, mine, theirs, t) until nothing changes."""
    fields = [
        f
        for f in itertools.product(range(dice + 1), range(dice + 1), range(5))
        if sum(f) < dice and (f[0] + f[1] or not f[2])
    ]
    keys = [
        (*field, mine, theirs, t)
        for field, mine, theirs in itertools.product(fields, range(target), range(target))
        for t in range(target - mine)
    ]
    rolling = dict.fromkeys(keys, 0.5)  # with the dice left
    tables = {
        (number, c): [(oracle.ways(roll), oracle.quick_allocations(roll, c)) for roll in oracle.rolls(number)]
        for number, c in itertools.product(range(1, dice + 1), range(5))
    }

    def stand(r1, r2, c, mine, theirs, t):
        points = (r1 + 2 * r2) * (c + 1)
        if mine + t + points >= target:
            return 1.0
        if r1 + r2 + c == dice:
            return stand(0, 0, 0, mine, theirs, t + points)
        stop = 1 - rolling[0, 0, 0, theirs, mine + t + points, 0]
        return max(stop, rolling[r1, r2, c, mine, theirs, t])

    change = 1.0
    while change > 1e-14:
        change = 0.0
        for key in keys:
            r1, r2, c, mine, theirs, t = key
            total = 0.0
            for ways, moves in tables[dice - r1 - r2 - c, c]:
                if moves:
                    total += ways * max(stand(r1 + a, r2 + b, c + k, mine, theirs, t) for a, b, k in moves)
                else:
                    total += ways * (1 - rolling[0, 0, 0, theirs, mine, 0])
            total /= 6 ** (dice - r1 - r2 - c)
            change = max(change, abs(total - rolling[key]))
            rolling[key] = total
    return rolling


@pytest.mark.parametrize(("dice", "target"), [(3, 5), (4, 4)])
def test_turns_against_plain_sweeps(dice, target, oracle):
    expected = plain_race(dice, target, oracle)
    solution = solve(explore(KonijnenhokkenRace(target=target, dice=dice)), epsilon=1e-11)
    seen = 0
    for state in solution.network.states:
        if isinstance(state.state, Hutch):
            field, at = state.state[:3], state.counters
            worth = expected[*field, at["mine"], at["theirs"], at["t"]]
            found = solution.q(state)["roll"] if state.state.begun else solution.value(state)
            assert found == pytest.approx(worth, abs=1e-11), state
            seen += 1
    assert seen > 50


def test_back_ends_agree():
    report = cross_check(KonijnenhokkenRace(target=5, dice=4))
    assert report.ok, report.table()
    assert report.independent >= 3


@pytest.mark.slow
@pytest.mark.parametrize("target", [10, 20])
def test_three_back_ends_agree_on_seven_dice(target):
    """The values at 10 and 20; the linear program takes minutes at 20."""
    solvers = ["value-iteration", "policy-iteration", *(["linear-programming"] if target == 10 else [])]
    report = cross_check(KonijnenhokkenRace(target=target), solvers=solvers)
    assert report.ok, report.table()


def test_value_at_10():
    solution = solve(explore(KonijnenhokkenRace(target=10)), epsilon=1e-9)
    assert solution.value() == pytest.approx(0.810091114464, abs=1e-11)


@pytest.mark.slow
def test_race_to_100():
    """420 million states on the lattice; minutes, most of them for the proof that turns end."""
    game = KonijnenhokkenRace()
    solution = solve(compile_lattice(game))
    assert solution.status is Status.CERTIFIED, solution.reason
    assert solution.width < 1e-7
    assert solution.value() == pytest.approx(0.5513048934, abs=1e-9)
    played = simulate(solution.lattice, solution.policy, plays=20_000, seed=1)
    low, high = played.interval(0.9999)
    assert low <= solution.value() <= high


def test_both_ways_to_explore():
    game = KonijnenhokkenRace(target=5, dice=4)
    fast, plain = explore(game), explore(game.unrolled())
    assert (fast.n_states, fast.n_edges) == (plain.n_states, plain.n_edges)
    assert solve(fast).value() == pytest.approx(solve(plain).value(), abs=1e-9)


BEGIN = Hutch(0, 0, 0, begun=False)


def test_moves():
    game = KonijnenhokkenRace(target=30).unrolled()
    node = game.node(At(Hutch(1, 2, 1, begun=True), mine=5, theirs=7, t=4))
    assert node.actions == ["stop", "roll"]
    # (1 + 2 * 2) * 2 points more than the 5 + 4 before.
    assert passed(node.options[0]) == At(BEGIN, mine=7, theirs=19, t=0)
    first = game.node(At(BEGIN, mine=5, theirs=7, t=0))
    assert [passed(edge) for edge in first.edges].count(At(BEGIN, mine=7, theirs=5, t=0)) == 1
    # The last die completes the run and banks its (3 + 2 * 2) * 3 points, or wins with them.
    last = At(Seen(2, 2, 2, 1, 0, 0), mine=5, theirs=7, t=3)
    (option,) = game.node(last).options
    assert option.state == At(Hutch(0, 0, 0, begun=True), mine=5, theirs=7, t=24)
    (option,) = game.node(At(last.state, mine=6, theirs=7, t=3)).options
    assert repr(option) == "end(1)"


def passed(edge):
    return edge.state if type(edge).__name__ == "PassTo" else None


# --- parameters and text --------------------------------------------------------------------------


def test_parameters():
    assert KonijnenhokkenRace(target="20", dice="5") == KonijnenhokkenRace(20, 5)
    with pytest.raises(GameError, match="target=0: .* from 1 to 1,000"):
        KonijnenhokkenRace(target=0)
    with pytest.raises(GameError, match="dice from 1 to 7"):
        KonijnenhokkenRace(dice=8)
    for field in attrs.fields(KonijnenhokkenRace):
        assert field.metadata["help"]


def test_text_of_every_state_is_read_back():
    game = KonijnenhokkenRace(target=5, dice=4)
    states = explore(game.unrolled()).states
    assert len({look_of(game).show_state(state) for state in states}) == len(states)
    for state in states:
        assert look_of(game).read_state(look_of(game).show_state(state)) == state


def test_texts():
    game = KonijnenhokkenRace()
    state = look_of(game).read_state("mine=40 theirs=52 r1=1 r2=2 c=1 t=20 roll=1,3,6")
    assert state == At(Seen(1, 2, 1, 1, 0, 1), mine=40, theirs=52, t=20)
    assert look_of(game).show_state(state) == "mine=40 theirs=52 r1=1 r2=2 c=1 t=20 roll=1,3,6"
    assert look_of(game).read_state("mine=40") == At(Hutch(0, 0, 0, begun=False), mine=40, theirs=0, t=0)
    assert look_of(game).read_state("t=20") == At(Hutch(0, 0, 0, begun=True), mine=0, theirs=0, t=20)
    for text, message in [
        ("mine=80 t=20", "has the 100 points that win"),
        ("theirs=100", "has the 100 points that win"),
        ("mine=1 mine=2", "names a score twice"),
    ]:
        with pytest.raises(UnknownStateError, match=message):
            look_of(game).read_state(text)
