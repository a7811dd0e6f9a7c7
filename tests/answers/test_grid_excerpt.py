"""Some states of a solved lattice as a solution of their own, which answers as the lattice and the network do."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    At,
    Counter,
    Dist,
    Game,
    Total,
    compile_lattice,
    decide,
    end,
    explore,
    go,
    roll,
    simulate,
    solve,
    when,
)
from mdpdice.errors import GameError, StateLimitError, UnknownStateError


@pytest.mark.parametrize(("game", "sense"), [(Race(goal=6), "max"), (Sheet(), "max"), (Sheet(), "min")])
def test_every_state_answers_as_the_lattice_does(game, sense):
    solution = solve(compile_lattice(game), Total(sense))
    flat = solve(explore(game), Total(sense))
    whole = solution.excerpt()
    assert whole.status == solution.status
    assert whole.value() == solution.value()
    network, decisions = whole.network, 0
    for state in flat.network.states:
        assert whole.value(state) == solution.value(state)
        assert (whole.lower(state), whole.upper(state)) == (solution.lower(state), solution.upper(state))
        assert whole.value(state) == pytest.approx(flat.value(state), abs=1e-9)
        node = flat.network.node_of(state)
        assert network.kind[network.node_of(state)] == flat.network.kind[node]
        if flat.network.decides[node]:
            decisions += 1
            assert whole.q(state) == solution.q(state)
            assert list(whole.q(state)) == list(flat.q(state))
            assert whole.action(state) == solution.action(state)
            assert whole.ties(state) == solution.ties(state)
    assert decisions > 50
    # Its own network, solved anew, has these values: the ends are worth what the options are.
    again = solve(network, Total(sense))
    assert np.allclose(again.nodes.values, whole.nodes.values, atol=1e-12)


def test_counters_and_fields_pick_the_states():
    solution = solve(compile_lattice(Sheet()))
    some = solution.excerpt({"penalty": 1, "state": 3})
    assert {(state.state, state.counters["penalty"]) for state in some.network.states} == {(3, 1)}
    flat = explore(Sheet()).states
    assert set(some.network.states) == {s for s in flat if (s.state, s.counters["penalty"]) == (3, 1)}
    assert some.network.n_states == 15
    with pytest.raises(
        GameError, match="'faces' is neither a counter nor a field of a state; they are: boxes, penalty, state"
    ):
        solution.excerpt({"faces": 3})
    with pytest.raises(GameError, match="play reaches no state"):
        solution.excerpt({"penalty": 7})
    with pytest.raises(StateLimitError, match="boxes, penalty") as caught:
        solution.excerpt(max_states=100)
    assert caught.value.limit == 100


def test_what_is_not_proved_stays_so():
    solution = attrs.evolve(
        solve(compile_lattice(Sheet())), status=solve(compile_lattice(Race(goal=5)), Total("min")).status
    )
    assert not solution.excerpt({"penalty": 0}).proved


def test_a_data_frame_of_some_states():
    solution = solve(compile_lattice(Race(goal=8)))
    frame = solution.to_dataframe({"theirs": 2}, decisions=True)
    assert set(frame["theirs"]) == {2}
    row = frame[(frame["mine"] == 3) & (frame["turn"] == 4)].iloc[0]
    state = At("turn", mine=3, theirs=2, turn=4)
    assert (row["state"], row["kind"], row["action"]) == (state, "MAX", solution.action(state))
    assert (row["value"], row["lower"]) == (solution.value(state), solution.lower(state))


class Climb(Game[str, str]):
    """It starts halfway, so what lies below is on the grid and cannot be reached."""

    height = Counter(range(10), start=5, outside="clip")

    def start(self):
        return "here"

    def node(self, state):
        up = go(state, self.height.add(1))
        return when(self.height == 9, end(9), decide({"up": up, "off": end(self.height * 0), "out": end(1)}))


def test_nothing_is_known_of_a_state_that_play_does_not_come_to():
    lattice = compile_lattice(Climb())
    solution = solve(lattice)
    assert solution.value(At("here", height=5)) == 9
    # One step below, the way up leads where play comes to, but the certificate did not look there.
    for question in (solution.value, solution.action, solution.q, solution.kind, solution.lower):
        for height in (3, 4):
            with pytest.raises(UnknownStateError, match="cannot be reached"):
                question(At("here", height=height))
    assert solution.to_dataframe()["height"].tolist() == [5, 6, 7, 8, 9]
    with pytest.raises(UnknownStateError, match=r"at\(state\)") as caught:
        simulate(lattice, solution.policy, 10, seed=1, state=At("here", height=3))
    assert caught.value.state == At("here", height=3)
    assert simulate(lattice, solution.policy, 10, seed=1, state=At("here", height=4)).mean == 9


class Odd(Game[str, str]):
    """Play comes to even numbers alone; at the others floats would give a wrong mean: 7/3 instead of 8/3."""

    x = Counter(range(12))

    def start(self):
        return "a"

    def node(self, state):
        odd = self.x % 2
        paid = {"p": odd * (10**17 + 1), "q": odd * -(10**17), "r": odd * 7}
        coin = roll(Dist({"p": 1, "q": 1, "r": 1}), lambda k: go("a", self.x.set(10), reward=paid[k]))
        on = decide({"on": go("a", self.x.add(2)), "stop": end(0)})
        return when(self.x >= 10, end(0), when(odd == 1, coin, on))


def test_states_without_a_proof_are_no_part_of_an_answer():
    solution = solve(compile_lattice(Odd()))
    assert (solution.value(), solution.proved) == (0, True)
    with pytest.raises(UnknownStateError, match="cannot be reached"):
        solution.value(At("a", x=1))
    # Beside one that is reached, too: what is looked up together is not what is proved together.
    assert solution.value(At("a", x=2)) == 0
    assert not solution.reaches(At("a", x=1))
    assert solution.to_dataframe()["x"].tolist() == [0, 2, 4, 6, 8, 10]
