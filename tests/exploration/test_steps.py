"""What a step is, where the discount acts, what a horizon counts, what an endless play is worth, whose value passes on.

Every rule has a number that a wrong reading of the rule would miss; the comments name the wrong readings.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.random_games import Table, acyclic_games, best_of_all_policies, tables, value
from helpers.small_games import COIN, game
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Discounted, Dist, Game, Horizon, Network, Status, d6, decide, end, explore, go, pass_to, roll, solve
from mdpdice.errors import CycleError, DiscountRangeError, GameError, HorizonRangeError, MdpDiceError, UnsupportedError
from mdpdice.exploration import chance_prefix

HALF = Fraction(1, 2)
SOLVERS = ["backward-induction", "value-iteration"]
both = pytest.mark.parametrize("solver", SOLVERS)


def worth(declared, expected, *, solver, tolerance=1e-9, **fields):
    answer = solve(declared, solver=solver, **fields)
    assert answer.status is Status.CERTIFIED, answer
    assert answer.value() == pytest.approx(float(expected), rel=tolerance, abs=tolerance)
    return answer


# --- discount ------------------------------------------------------------------------------------


@both
class TestDiscount:
    def test_it_acts_once_per_decision_entered(self, solver):
        # Three decisions, the second and third cost a step each: 8 / 4. Counting edges gives 8 / 8, counting all
        # decisions too; counting none gives 8.
        nodes = {
            "start": lambda: decide({"on": go("second")}),
            "second": lambda: decide({"on": go("third")}),
            "third": lambda: decide({"on": end(8)}),
        }
        worth(game(nodes, discount=HALF), 2, solver=solver)

    def test_chance_between_two_decisions_costs_nothing_of_its_own(self, solver):
        nodes = {
            "start": lambda: decide({"on": go("toss")}),
            "toss": lambda: roll(COIN, lambda s: go("more")),
            "more": lambda: roll(COIN, lambda s: go("second")),
            "second": lambda: decide({"on": end(8)}),
        }
        worth(game(nodes, discount=HALF), 4, solver=solver)

    def test_an_inline_roll_and_a_state_of_chance_are_alike(self, solver):
        inline = {
            "start": lambda: decide({"on": roll(COIN, lambda s: go("second") if s == "h" else end(6))}),
            "second": lambda: decide({"on": end(8)}),
        }
        stated = {
            "start": lambda: decide({"on": go("toss")}),
            "toss": lambda: roll(COIN, lambda s: go("second") if s == "h" else end(6)),
            "second": inline["second"],
        }
        for nodes in (inline, stated):
            worth(game(nodes, discount=HALF), 5, solver=solver)  # (8/2 + 6) / 2

    def test_ends_are_not_discounted(self, solver):
        # The payoff is paid in full, however it is reached: by an option, a roll or a state.
        for way in (end(8), roll(d6, lambda k: end(8)), go("over")):
            nodes = {"start": lambda way=way: decide({"stop": way}), "over": lambda: end(8)}
            worth(game(nodes, discount=HALF), 8, solver=solver)

    def test_the_chance_prefix_is_not_discounted(self, solver):
        # Two tosses before the first decision.
        nodes = {
            "deal": lambda: roll(COIN, lambda s: go("cut")),
            "cut": lambda: roll(COIN, lambda s: go("first")),
            "first": lambda: decide({"on": end(8)}),
        }
        worth(game(nodes, start="deal", discount=HALF), 8, solver=solver)

    def test_the_same_chance_costs_a_step_when_it_comes_later(self, solver):
        # "deal" starts the play and is reached again: V(first) = max(4, 3 + V(first) / 2) = 6. The start is worth 6;
        # if its toss cost a step it would be 3, and if no toss did the value would be infinite.
        nodes = {
            "deal": lambda: roll(COIN, lambda s: go("first")),
            "first": lambda: decide({"stop": end(4), "again": go("deal", reward=3)}),
        }
        answer = worth(game(nodes, start="deal", discount=HALF), 6, solver="value-iteration")
        assert answer.value("first") == pytest.approx(6)
        assert answer.action("first") == "again"
        if solver == "backward-induction":
            with pytest.raises(CycleError):
                solve(game(nodes, start="deal", discount=HALF), solver=solver)

    def test_rewards_are_not_discounted_on_their_own_edge(self, solver):
        # 10 on the edge, then half of the 8 behind it.
        nodes = {"start": lambda: decide({"on": go("second", reward=10)}), "second": lambda: decide({"on": end(8)})}
        worth(game(nodes, discount=HALF), 14, solver=solver)

    def test_rewards_after_a_step_are(self, solver):
        nodes = {
            "start": lambda: decide({"on": go("second")}),
            "second": lambda: decide({"on": roll(COIN, lambda s: end(8), reward=10)}),
        }
        worth(game(nodes, discount=HALF), 9, solver=solver)

    def test_rewards_on_the_edge_into_a_decision_are_not(self, solver):
        # The reward is on the very edge that takes the step.
        nodes = {
            "start": lambda: decide({"on": roll(COIN, lambda s: go("second", reward=10), reward=1)}),
            "second": lambda: decide({"on": end(8)}),
        }
        worth(game(nodes, discount=HALF), 15, solver=solver)

    def test_the_objective_replaces_the_games_own(self, solver):
        nodes = {"start": lambda: decide({"on": go("second")}), "second": lambda: decide({"on": end(8)})}
        for own in (1, HALF):
            declared = game(nodes, discount=own)
            answer = solve(declared, Discounted(Fraction(1, 4)), solver=solver)
            assert answer.value() == pytest.approx(2)

    def test_values_are_those_of_the_declaration(self, solver):
        @given(acyclic_games(discounts=(HALF, Fraction(9, 10), 1), players=(0, 1)))
        @settings(max_examples=20, deadline=None)
        def check(declared):
            worth(declared, value(declared), solver=solver)

        check()


def test_a_process_in_textbook_form_has_its_textbook_value():
    # States and actions only: the value is that of P. gamma on every transition, whatever the start.
    @given(tables(), st.sampled_from([HALF, Fraction(4, 5)]))
    @settings(max_examples=20, deadline=None)
    def check(table, gamma):
        actions = {
            s: [
                (sum(p * r[t] for t, p in probabilities(dist)), dict(probabilities(dist)))
                for dist, r in table[s].values()
            ]
            if table[s]
            else [(Fraction(0), {})]
            for s in table
        }
        if sum(len(a) > 1 for a in actions.values()) > 3:
            return
        exact = best_of_all_policies(actions, gamma)
        answer = solve(Table(table, gamma), solver="value-iteration")
        assert answer.status is Status.CERTIFIED
        for state in answer.network.states:
            assert answer.value(state) == pytest.approx(float(exact[state]), rel=1e-9, abs=1e-9)

    def probabilities(dist):
        return [(t, Fraction(w, dist.total)) for t, w in dist.items()]

    check()


@both
def test_in_arrays_every_branch_is_a_step(solver):
    # Unlike in an explored game the payoff is one step away here, and so is a state of the chance-free start.
    arrays = {
        "choice_ptr": [0, 1, 2, 2],
        "branch_ptr": [0, 2, 3],
        "target": [1, 2, 2],
        "probability": ["1/2", "1/2", 1],
        "reward": [1, 10],
        "terminal": {2: 8},
        "discount": HALF,
    }
    # V1 = 10 + 8/2 = 14, V0 = 1 + (14/2 + 8/2) / 2
    answer = worth(Network.from_choices(**arrays), Fraction(13, 2), solver=solver)
    assert answer.value(1) == pytest.approx(14)
    # The same process as a game pays 8 in full: V1 = 18, V0 = 1 + (18/2 + 8) / 2.
    nodes = {
        0: lambda: decide({"a": roll(COIN, lambda s: go(1) if s == "h" else end(8), reward=1)}),
        1: lambda: decide({"a": go(2, reward=10)}),
        2: lambda: end(8),
    }
    worth(game(nodes, start=0, discount=HALF), Fraction(19, 2), solver=solver)


def test_cycles_without_a_step_are_refused_below_discount_one():
    spin = {
        "start": lambda: decide({"a": go("spin")}),
        "spin": lambda: roll(COIN, lambda s: go("spin") if s == "h" else end(8)),
    }
    worth(game(spin), 8, solver="value-iteration")
    with pytest.raises(DiscountRangeError, match="holds no step") as caught:
        solve(game(spin, discount=HALF))
    assert caught.value.state == "spin"
    with pytest.raises(DiscountRangeError, match="holds no step"):
        solve(game(spin), Discounted(HALF))


# --- horizon -------------------------------------------------------------------------------------

#: In every round one may take what is there, or wait for it to double.
DOUBLING = {k: (lambda k=k: decide({"take": end(2**k), "wait": go(k + 1)})) for k in range(12)}
DOUBLING[12] = end


@both
class TestHorizon:
    def test_it_counts_decisions(self, solver):
        # With n decisions one waits n - 1 times and takes with the last: 2^(n-1).
        for n in range(1, 6):
            worth(game(DOUBLING, start=0), 2 ** (n - 1), solver=solver, horizon=n)

    def test_without_decisions_there_is_nothing(self, solver):
        worth(game(DOUBLING, start=0), 0, solver=solver, horizon=0)

    def test_a_play_that_is_cut_off_is_worth_what_it_collected(self, solver):
        # Each decision pays 1 and goes on for ever; the 100 of the end is out of reach.
        nodes = {"start": lambda: decide({"on": go("start", reward=1)})}
        for n in (0, 1, 7):
            worth(game(nodes), n, solver=solver, horizon=n)

    def test_the_last_decision_may_reach_an_end(self, solver):
        # Also through chance: tosses after the last decision are still made.
        nodes = {
            "start": lambda: decide({"on": go("toss")}),
            "toss": lambda: roll(COIN, lambda s: go("again") if s == "h" else end(4)),
            "again": lambda: roll(COIN, lambda s: end(8) if s == "h" else go("late")),
            "late": lambda: decide({"on": end(100)}),
        }
        # 4/2 + 8/4 + nothing for "late".
        worth(game(nodes), 4, solver=solver, horizon=1)
        worth(game(nodes), 29, solver=solver, horizon=2)

    def test_a_start_by_chance_costs_nothing(self, solver):
        nodes = {
            "deal": lambda: roll(COIN, lambda s: go("cut")),
            "cut": lambda: roll(COIN, lambda s: go("first") if s == "h" else end(2)),
            "first": lambda: decide({"on": end(8)}),
        }
        worth(game(nodes, start="deal"), 5, solver=solver, horizon=1)
        worth(game(nodes, start="deal"), 1, solver=solver, horizon=0)

    def test_it_limits_plays_with_cycles(self, solver):
        # A coin decides whether the next toss is possible: sum of 2^-k for the first n.
        nodes = {"start": lambda: decide({"toss": roll(COIN, lambda s: go("start", reward=1) if s == "h" else end())})}
        for n in (1, 2, 10):
            worth(game(nodes), 1 - HALF**n, solver=solver, horizon=n)

    def test_every_number_of_decisions_left_has_its_policy(self, solver):
        answer = solve(game(DOUBLING, start=0), solver=solver, horizon=5)
        for left in range(1, 6):
            assert answer.value(0, steps_left=left) == 2 ** (left - 1)
            assert answer.action(0, steps_left=left) == ("take" if left == 1 else "wait")
            assert answer.q(0, steps_left=left) == {"take": 1, "wait": 0 if left == 1 else 2 ** (left - 1)}
        assert answer.value(0, steps_left=0) == 0
        assert answer.action(0) == "wait"
        with pytest.raises(HorizonRangeError):
            answer.action(0, steps_left=0)
        with pytest.raises(HorizonRangeError):
            answer.value(0, steps_left=6)

    def test_with_a_discount_both_act(self, solver):
        # Two decisions: 1 + 1/2.
        nodes = {"start": lambda: decide({"on": go("start", reward=1)})}
        worth(game(nodes, discount=HALF), Fraction(3, 2), solver=solver, horizon=2)

    def test_the_objective_and_the_argument_say_the_same(self, solver):
        declared = game(DOUBLING, start=0)
        assert solve(declared, Horizon(3), solver=solver).value() == solve(declared, horizon=3, solver=solver).value()
        with pytest.raises(GameError, match="twice"):
            solve(declared, Horizon(3), horizon=3, solver=solver)

    def test_values_are_those_of_the_declaration(self, solver):
        @given(acyclic_games(discounts=(1, HALF), players=(0, 1)), st.integers(0, 4))
        @settings(max_examples=20, deadline=None)
        def check(declared, n):
            worth(declared, value(declared, n), solver=solver, horizon=n)

        check()

    def test_cyclic_processes_have_the_values_of_the_declaration(self, solver):
        @given(tables(), st.integers(0, 4))
        @settings(max_examples=20, deadline=None)
        def check(table, n):
            declared = Table(table)
            worth(declared, value(declared, n), solver=solver, horizon=n)

        check()


@pytest.mark.parametrize("horizon", [-1, 1.0, "3", True])
def test_horizons_that_are_none(horizon):
    with pytest.raises(HorizonRangeError, match="number of decisions") as caught:
        solve(game(DOUBLING, start=0), horizon=horizon)
    assert caught.value.value == horizon


# --- plays without an end ------------------------------------------------------------------------


class TestEndlessPlay:
    def test_staying_for_nothing_beats_paying_to_leave(self):
        # Bellman's equation V = max(V, -5) holds for every V above -5; the play that stays collects 0.
        nodes = {"stay?": lambda: decide({"stay": go("stay?"), "quit": end(-5)})}
        for solver in ("value-iteration", "auto"):
            answer = worth(game(nodes, start="stay?"), 0, solver=solver)
            assert answer.action() == "stay"

    def test_leaving_for_something_beats_staying_for_nothing(self):
        nodes = {"stay?": lambda: decide({"stay": go("stay?"), "quit": end(5)})}
        answer = worth(game(nodes, start="stay?"), 5, solver="value-iteration")
        assert answer.action() == "quit"

    def test_a_detour_for_nothing_is_no_value(self):
        # A circle of two states and a toss; the way out of the circle costs 1 and pays 3.
        nodes = {
            "a": lambda: decide({"on": go("b"), "toss": go("t")}),
            "b": lambda: decide({"back": go("a"), "out": end(2)}),
            "t": lambda: roll(COIN, lambda s: go("a") if s == "h" else go("b")),
        }
        for start in "abt":
            worth(game(nodes, start=start), 2, solver="value-iteration")

    def test_chance_alone_may_go_round_for_ever(self):
        # Nobody can stay here, and nobody can leave: nothing is collected.
        nodes = {"a": lambda: decide({"in": go("b"), "out": end(-1)}), "b": lambda: go("c"), "c": lambda: go("b")}
        worth(game(nodes, start="a"), 0, solver="value-iteration")

    def test_what_was_collected_before_counts(self):
        nodes = {"a": lambda: decide({"in": go("b", reward=3), "out": end(1)}), "b": lambda: decide({"wait": go("b")})}
        worth(game(nodes, start="a"), 3, solver="value-iteration")

    @pytest.mark.parametrize("total", [0, 1, Fraction(2, 3), -4])
    def test_between_two_players_it_is_worth_half_of_the_total_to_both(self, total):
        # Passing for ever against stopping with less than half: nobody stops.
        nodes = {"mine": lambda: decide({"pass": pass_to("yours"), "stop": end(Fraction(total) / 2 - 1)}),
                 "yours": lambda: decide({"pass": pass_to("mine"), "stop": end(Fraction(total) / 2 - 1)})}  # fmt: skip
        answer = solve(game(nodes, start="mine", total=total), solver="value-iteration")
        assert answer.status in (Status.CERTIFIED, Status.UNCERTIFIED)
        assert answer.estimate("mine") == pytest.approx(total / 2, abs=1e-9)
        assert answer.estimate("yours") == pytest.approx(total / 2, abs=1e-9)

    def test_between_two_players_more_than_half_is_worth_stopping_for(self):
        nodes = {"mine": lambda: decide({"pass": pass_to("mine"), "stop": end(Fraction(3, 4))})}
        answer = solve(game(nodes, start="mine", total=1), solver="value-iteration")
        assert answer.estimate() == pytest.approx(0.75, abs=1e-9)


# --- the other player ----------------------------------------------------------------------------


@both
class TestPassTo:
    def test_the_movers_value_is_reward_plus_total_minus_the_opponents(self, solver):
        # The opponent makes max(2, 3) = 3 of "yours"; the mover gets 10 + 7 - 3. The reward is the mover's: negating
        # it too gives -6, forgetting the total 7, forgetting the sign 20.
        nodes = {
            "start": lambda: decide({"pass": pass_to("yours", reward=10)}),
            "yours": lambda: decide({"low": end(2), "high": end(3)}),
        }
        answer = worth(game(nodes, total=7), 14, solver=solver)
        assert answer.value("yours") == pytest.approx(3)
        assert answer.action("yours") == "high"

    def test_both_players_maximise_their_own(self, solver):
        # The mover chooses what is worst for the opponent.
        nodes = {
            "start": lambda: decide({"a": pass_to("rich"), "b": pass_to("poor")}),
            "rich": lambda: decide({"take": end(5), "leave": end(1)}),
            "poor": lambda: decide({"take": end(2), "leave": end(1)}),
        }
        answer = worth(game(nodes), -2, solver=solver)
        assert answer.action() == "b"

    def test_rewards_on_the_way_belong_to_who_moves(self, solver):
        # start pays me 1, then you collect 4 and pass to me, and I stop with 2: 1 - (4 - 2).
        nodes = {
            "start": lambda: decide({"pass": pass_to("yours", reward=1)}),
            "yours": lambda: decide({"pass": pass_to("mine", reward=4)}),
            "mine": lambda: decide({"stop": end(2)}),
        }
        worth(game(nodes), -1, solver=solver)

    def test_it_may_stand_inside_a_roll(self, solver):
        # Half of the time I go on and win; otherwise you move and win.
        nodes = {
            "start": lambda: decide({"try": roll(COIN, lambda s: go("won") if s == "h" else pass_to("won"))}),
            "won": lambda: end(1),
        }
        worth(game(nodes, total=1), HALF, solver=solver)

    def test_a_chance_start_may_give_the_move_away(self, solver):
        nodes = {
            "toss": lambda: roll(Dist({"mine": 1, "yours": 3}), lambda s: (go if s == "mine" else pass_to)("first")),
            "first": lambda: decide({"win": end(1)}),
        }
        worth(game(nodes, start="toss", total=1), Fraction(1, 4), solver=solver)

    def test_total_one_makes_values_chances_to_win(self, solver):
        # Throw a die in turn, three times each at most; the first six wins, and then the second player does.
        def node(throws):
            if throws == 6:
                return end(0)  # the player to move is the first, who did not make it
            return decide({"throw": roll(d6, lambda k: end(1) if k == 6 else pass_to(throws + 1))})

        chance = Fraction(0)
        for throws in (0, 2, 4):
            chance += Fraction(5, 6) ** throws * Fraction(1, 6)
        answer = worth(Game.of(start=0, node=node, total=1), chance, solver=solver)
        # Both players' chances at every throw add up to one.
        for throws in range(5):
            edge = Fraction(1, 6) + Fraction(5, 6) * (1 - Fraction(answer.value(throws + 1)))
            assert answer.value(throws) == pytest.approx(float(edge))

    def test_the_discount_acts_on_the_opponents_value(self, solver):
        # 1 - 1/2 * (2 - 1/2 * 4): the step does not touch the reward of its own edge.
        nodes = {
            "start": lambda: decide({"pass": pass_to("yours", reward=1)}),
            "yours": lambda: decide({"pass": pass_to("mine", reward=2)}),
            "mine": lambda: decide({"stop": end(4)}),
        }
        worth(game(nodes, discount=HALF), 1, solver=solver)

    def test_a_horizon_counts_the_decisions_of_both(self, solver):
        nodes = {
            "start": lambda: decide({"pass": pass_to("yours", reward=1)}),
            "yours": lambda: decide({"pass": pass_to("mine", reward=2)}),
            "mine": lambda: decide({"stop": end(4)}),
        }
        for n, expected in enumerate([0, 1, 1 - 2, 1 - (2 - 4), 1 - (2 - 4)]):
            worth(game(nodes), expected, solver=solver, horizon=n)

    def test_values_are_those_of_the_declaration(self, solver):
        @given(acyclic_games(pass_on=True, totals=(0, 1, Fraction(-3, 2))))
        @settings(max_examples=20, deadline=None)
        def check(declared):
            worth(declared, value(declared), solver=solver)

        check()

    def test_so_are_discounted_ones(self, solver):
        @given(acyclic_games(pass_on=True, discounts=(HALF,)), st.none() | st.integers(0, 4))
        @settings(max_examples=20, deadline=None)
        def check(declared, n):
            worth(declared, value(declared, n), solver=solver, horizon=n)

        check()


@both
def test_a_minimiser_sees_payoffs_of_the_maximiser(solver):
    nodes = {
        "start": lambda: decide({"a": go("x", reward=1), "b": end(2)}),
        "x": lambda: decide({"low": end(-5), "high": end(9)}, player=1),
    }
    answer = worth(game(nodes), 2, solver=solver)
    assert answer.action("x") == "low"
    assert answer.value("x") == -5
    nodes["x"] = lambda: decide({"low": end(7), "high": end(9)}, player=1)
    worth(game(nodes), 8, solver=solver)


def test_a_total_is_not_discounted_and_a_horizon_halves_it():
    nodes = {"start": lambda: decide({"pass": pass_to("start"), "lose": end(0)})}
    declared = game(nodes, total=1)
    for fields in ({"horizon": 3}, {"objective": Horizon(3)}):
        assert solve(declared, **fields).value() == 0.5  # nobody has lost yet
    with pytest.raises((DiscountRangeError, UnsupportedError), match="`total` other than 0"):
        solve(declared, Discounted(HALF))
    with pytest.raises(DiscountRangeError, match="`total` other than 0"):
        solve(game(nodes, total=1, discount=HALF))


def test_pig_to_two_points_is_known():
    # Piglet of Neller and Presser 2004: a coin instead of a die, first to 2 points; the first player wins with 4/7.
    def node(state):
        mine, theirs, turn = state
        if mine + turn >= 2:
            return end(1)
        return decide({
            "flip": roll(COIN, lambda s: go((mine, theirs, turn + 1)) if s == "h" else pass_to((theirs, mine, 0))),
            "hold": pass_to((theirs, mine + turn, 0)),
        })  # fmt: skip

    declared = Game.of(start=(0, 0, 0), node=node, total=1)
    answer = solve(declared, solver="value-iteration")
    assert answer.estimate() == pytest.approx(4 / 7, abs=1e-6)


def test_the_number_of_steps_on_a_play_is_the_number_of_decisions_less_one():
    # Whatever the game: on every play from the start the steps are the decisions but the first.
    @given(acyclic_games(pass_on=True))
    @settings(max_examples=20, deadline=None)
    def check(declared):
        network = explore(declared)
        todo = [(network.start, 0, 0)]
        while todo:
            node, decisions, steps = todo.pop()
            decisions += bool(network.decides[node])
            assert steps == max(0, decisions - 1)
            todo.extend((int(network.dst[e]), decisions, steps + int(network.step[e])) for e in network.edges(node))

    check()


def test_the_evaluator_of_these_tests_tells_wrong_readings_apart():
    # A reference that ignored the discount, the horizon, the sign or the total would make the tests above vacuous.
    nodes = {
        "start": lambda: decide({"pass": pass_to("yours", reward=1)}),
        "yours": lambda: decide({"pass": pass_to("mine", reward=2)}),
        "mine": lambda: decide({"stop": end(4)}),
    }
    assert value(game(nodes)) == 1 - (2 - 4)
    assert value(game(nodes, total=5)) == 1 + 5 - (2 + 5 - 4)
    assert value(game(nodes, discount=HALF)) == 1 - HALF * (2 - HALF * 4)
    assert value(game(nodes), 2) == -1
    assert value(game({"start": lambda: roll(COIN, lambda s: go("x")), "x": nodes["mine"]}, discount=HALF)) == 4


def test_no_numbers_come_out_of_a_refused_problem():
    for declared in (game({"start": lambda: decide({"a": end(float("nan"))})}), game({"start": lambda: decide({})})):
        with pytest.raises(MdpDiceError):
            solve(declared)
    assert np.isfinite(solve(game({"start": lambda: decide({"a": end(1)})})).value())


@pytest.mark.parametrize("length", [1, 5, 300])
def test_a_chance_prefix_is_the_same_however_it_is_followed(length, monkeypatch):
    """Chance in a row, with ways back into it, that is followed a step at a time, or all at once."""

    def node(at):
        if at == "choice":
            return decide({"again": go(0), "half": go(length // 2), "stop": end(1)})
        return roll(d6, lambda face: go(min(at + face, length - 1)) if at < length - 1 else go("choice"))

    found = [explore(Game.of(start=0, node=node)).digest]
    monkeypatch.setattr(chance_prefix, "STEPWISE_UP_TO", 0)
    found.append(explore(Game.of(start=0, node=node)).digest)
    assert found[0] == found[1]
