"""Games with one fault each: the check that is meant for it finds it, and its message says where."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import NamedTuple

import attrs
import pytest

from mdpdice import (
    ClassicMDP,
    Counter,
    Discounted,
    Dist,
    Game,
    Horizon,
    chance,
    d6,
    decide,
    end,
    go,
    pass_to,
    roll,
    when,
)
from mdpdice.errors import ConformanceError, MdpDiceError
from mdpdice.looks import Look, NamedPolicy
from mdpdice.testing import GAME_CHECKS, check_game, check_same


@attrs.frozen
class Turn(Game[int, str]):
    """A turn of Pig to 10, right in every way; the faulty games change one thing."""

    payoff_range = (0, 20)

    def start(self):
        return 0

    def node(self, points):
        return end(points) if points >= 10 else decide(self.options(points))

    def options(self, points):
        return {"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(points + k))}

    def estimate(self, points):
        return points


class FewerStatesThanItSays(Turn):
    def least_states(self):
        return 100


class ProbabilitiesDoNotSumToOne(Turn):
    def options(self, points):
        return {"hold": end(points), "roll": chance(Dist([(end(), 0.3), (go(points + 2), 0.6)]))}


class NegativeProbability(Turn):
    def options(self, points):
        return {"hold": end(points), "roll": chance(Dist([(end(), -1), (go(points + 2), 2)]))}


class NotANumberAsReward(Turn):
    def options(self, points):
        return super().options(points) | {"pay": end(float("nan"))} if points == 7 else super().options(points)


class DeadEnd(Turn):
    def options(self, points):
        return {} if points == 8 else super().options(points)


class Raises(Turn):
    def options(self, points):
        return {"hold": end([1, 2, 3][points - 7])} if points == 8 and 1 / (points - 8) else super().options(points)


class OneActionTwice(Turn):
    def options(self, points):
        return [("hold", end(points)), ("roll", go(points + 2)), ("hold", end())]


class ActionsWithOneText(Turn):
    def options(self, points):
        return [(1, end(points)), ("1", go(points + 2))]


class Day(NamedTuple):
    points: int


class Night(NamedTuple):
    points: int


class EqualStates(Turn):
    def start(self):
        return Day(0)

    def node(self, state):
        if state.points >= 10:
            return end(state.points)
        other = Night if isinstance(state, Day) else Day
        return decide(
            {"hold": end(state.points), "on": go(Day(state.points + 1)), "sleep": go(other(state.points + 1))}
        )


class RandomPayoff(Turn):
    count = itertools.count()

    def options(self, points):
        return super().options(points) | ({"hold": end(next(self.count))} if points == 9 else {})


class OptionsFromASet(Turn):
    def options(self, points):
        return {(name, end(points)) for name in ("a", "b", "c")}


class Endless(Turn):
    """Points never stop growing, so the states never end."""

    def node(self, points):
        return decide(self.options(points))


class Trap(Turn):
    def options(self, points):
        return super().options(points) | ({"wait": go("trap")} if points == 5 else {})

    def node(self, points):
        return decide({"wait": go("trap")}) if points == "trap" else super().node(points)

    def estimate(self, points):
        return 0


class CollectsWithoutEnd(Turn):
    def options(self, points):
        return super().options(points) | ({"mine": go(points, reward=1)} if points == 6 else {})


def telling(name, **methods):
    """The right game, under a name, with a look that has one method of its own."""
    game = type(name, (Turn,), {})
    type(f"{name}Look", (Look,), methods, of=game)
    return game


ForgetsPartOfTheState = telling("ForgetsPartOfTheState", show_state=lambda look, points: str(points // 2))
ReadsSomethingElse = telling("ReadsSomethingElse", read_state=lambda look, text: float(text))
RaisesOnItsOwnText = telling("RaisesOnItsOwnText", read_state=lambda look, text: {"0": 0}[text])


class TooHighAnEstimate(Turn):
    def estimate(self, points):
        return 25 if points == 9 else points


class EstimateIsNotANumber(Turn):
    def estimate(self, points):
        return float("nan") if points == 9 else points


class PayoffsOutsideTheRange(Turn):
    payoff_range = (0, 14)


class ImpossibleRange(Turn):
    payoff_range = (20, 0)


class NoDiscount(Turn):
    discount = 1.5


@attrs.frozen
class Duel(Game[tuple[int, int], str]):
    """Take 1 or 2 of two piles, in turns; who takes the last one wins.  The piles may change places."""

    piles: tuple[int, int] = (3, 2)
    total = 1

    def start(self):
        return self.canonical(self.piles)

    def node(self, piles):
        moves = {
            f"{count} of {at}": pass_to(tuple(n - count * (i == at) for i, n in enumerate(piles)))
            for at in (0, 1)
            for count in (1, 2)
            if piles[at] >= count
        }
        return decide(moves) if moves else end(0)

    def canonical(self, piles):
        return tuple(sorted(piles))


class RepresentativeOfARepresentative(Duel):
    def canonical(self, piles):
        return piles[::-1] if piles[0] != piles[1] else piles


class NoSymmetryOfTheRules(Duel):
    """Makes a pile of three count as a pile of one: (3, 1) is won, and (1, 1) is lost."""

    def start(self):
        return self.piles

    def canonical(self, piles):
        return tuple(sorted(1 if n == 3 else n for n in piles))


@attrs.frozen
class Counted(Game[str, str]):
    """The turn again, with the points as a counter."""

    points = Counter(range(17))

    def start(self):
        return "turn"

    def node(self, core):
        more = roll(d6, lambda k: end() if k == 1 else go(core, self.points.add(k)))
        return when(self.points >= 10, end(self.points), decide({"hold": end(self.points), "roll": more}))


class LeavesTheRange(Counted):
    points = Counter(range(14))


class UnrollsToAnotherGame(Counted):
    """Somebody wrote the plain form by hand, and the hold pays too little there."""

    def unrolled(self):
        plain = super().unrolled()
        node = plain.node

        def wrong(state):
            found = node(state)
            if state.counters["points"] != 9:
                return found
            options = dict(zip(found.actions, found.options, strict=True))
            return decide(options | {"hold": end(1)})

        object.__setattr__(plain, "node", wrong)
        return plain


class ProgressGoesBack(Counted):
    def progress(self):
        return -self.points


SaysThatItIsInfinite = telling("SaysThatItIsInfinite", infinite_reason=lambda look: "nobody ever holds")
NamesAPolicyThatTakesWhatThereIsNot = telling(
    "NamesAPolicyThatTakesWhatThereIsNot",
    policies=lambda look: [NamedPolicy("patient", "waits", lambda _: lambda points: "wait")],
)
NamesAPolicyThatItDoesNotKnow = telling(
    "NamesAPolicyThatItDoesNotKnow", policies=lambda look: [NamedPolicy("patient", "waits", lambda _: {}["patient"])]
)
NamesPoliciesInADictionary = telling("NamesPoliciesInADictionary", policies=lambda look: {"patient": "waits"})
CannotTellItsAnswer = telling("CannotTellItsAnswer", summary=lambda look, solution: [{}["hold"]])
NotesAreOneText = telling("NotesAreOneText", notes=lambda look: "one note")


PLANTED = [
    (ImpossibleRange, "declaration", "smaller first"),
    (NoDiscount, "declaration", "discount"),
    (ProbabilitiesDoNotSumToOne, "probabilities", r"sum.*0\.8999"),
    (NegativeProbability, "probabilities", "-1"),
    (NotANumberAsReward, "rewards", "state 7, action 'pay'"),
    (DeadEnd, "nodes", "state 8"),
    (Raises, "nodes", "ZeroDivisionError"),
    (OneActionTwice, "labels", "'hold'"),
    (ActionsWithOneText, "labels", "one text, '1'"),
    (EqualStates, "labels", "Night"),
    (RandomPayoff, "determinism", "again|twice"),
    (OptionsFromASet, "determinism", "set"),
    (Endless, "reachability", "max_states"),
    (FewerStatesThanItSays, "reachability", "least_states.. is 100, and only 15 states can be reached"),
    (Trap, "termination", "state 'trap'"),
    (CollectsWithoutEnd, "termination", "collect"),
    (ForgetsPartOfTheState, "texts", "tell them apart|show_state wrote"),
    (ReadsSomethingElse, "texts", r"reads 0\.0"),
    (RaisesOnItsOwnText, "texts", "KeyError"),
    (LeavesTheRange, "counters", "points"),
    (UnrollsToAnotherGame, "counters", "points=9"),
    (RepresentativeOfARepresentative, "canonical", "stand for itself"),
    (NoSymmetryOfTheRules, "symmetry", "equal|cannot be reached"),
    (PayoffsOutsideTheRange, "payoff_range", r"worth 15"),
    (TooHighAnEstimate, "estimate", "state 9"),
    (EstimateIsNotANumber, "estimate", "nan"),
    (ProgressGoesBack, "counters", "never decreases"),
    (SaysThatItIsInfinite, "termination", "gives None where"),
    (NamesAPolicyThatTakesWhatThereIsNot, "policies", "'wait'"),
    (NamesAPolicyThatItDoesNotKnow, "policies", "the rule of 'patient' raised KeyError"),
    (NamesPoliciesInADictionary, "policies", "return a list of NamedPolicy"),
    (CannotTellItsAnswer, "words", "summary.* raised KeyError"),
    (NotesAreOneText, "words", "not a list of lines"),
]


@pytest.mark.parametrize(("game", "check", "says"), PLANTED, ids=lambda part: getattr(part, "__name__", None))
def test_a_planted_fault_is_found_by_its_check(game, check, says):
    with pytest.raises(ConformanceError, match=says) as caught:
        check_game(game(), max_states=500)
    assert caught.value.check == check
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, MdpDiceError)
    assert game.__name__ in str(caught.value)


def test_at_least_ten_faults_and_all_checks():
    """``solution`` is about mdpdice itself: nobody knows a game that explores and cannot be certified."""
    assert {check for _, check, _ in PLANTED} == set(GAME_CHECKS) - {"solution"}


@pytest.mark.parametrize("game", [Turn(), Duel(), Counted()])
def test_without_the_fault_they_pass(game):
    report = check_game(game, max_states=500)
    assert len(report.passed) >= 10
    assert not set(report.passed) & set(report.skipped)
    assert set(report.passed) | set(report.skipped) == set(GAME_CHECKS)


# --- two declarations ----------------------------------------------------------------------------


@attrs.frozen
class Machine(ClassicMDP[int, str]):
    """Replace a machine that wears out, in the textbook form."""

    worst: int = 3
    discount: Fraction = Fraction(9, 10)
    price: int = 10

    def initial(self):
        return 0

    def actions(self, wear):
        return ["keep", "replace"]

    def transition(self, wear, action):
        before = 0 if action == "replace" else wear
        return Dist({before: 3, min(before + 1, self.worst): 2})

    def reward(self, wear, action, target):
        return -self.price if action == "replace" else -wear * wear


@attrs.frozen
class DeclaredMachine(Game[str, str]):
    """The same as nodes, with other names; the faulty ones change one thing."""

    discount: Fraction = Fraction(9, 10)
    price: int = 10
    wears_out: int = 2

    def start(self):
        return "wear 0"

    def node(self, state):
        wear = int(state.split()[1])

        def used(before):
            return Dist(
                [(go(f"wear {before}"), 5 - self.wears_out), (go(f"wear {min(before + 1, 3)}"), self.wears_out)]
            )

        return decide({"keep": chance(used(wear), reward=-wear * wear), "replace": chance(used(0), reward=-self.price)})


def rename(wear):
    return f"wear {wear}"


def test_both_declarations_of_a_classic_mdp_are_the_same():
    report = check_same(Machine(), DeclaredMachine(), rename_state=rename)
    assert report.passed["same"] == 11  # 4 states and a chance node per option, but for wear 3, which stays


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (DeclaredMachine(price=11), "replace"),
        (DeclaredMachine(wears_out=3), "chance"),
        (DeclaredMachine(discount=Fraction(8, 10)), "discount"),
        (Machine(worst=4), "corresponds|differently"),
    ],
)
def test_declarations_that_differ_are_told_apart(other, says):
    with pytest.raises(ConformanceError, match=says) as caught:
        check_same(Machine(), other)
    assert caught.value.check == "same"


def test_names_are_compared_if_asked_for():
    def swapped(wear):
        return rename({1: 2, 2: 1}.get(wear, wear))

    with pytest.raises(ConformanceError, match="state 1"):
        check_same(Machine(), DeclaredMachine(), rename_state=swapped)
    with pytest.raises(ConformanceError, match="does not reach"):
        check_same(Machine(), DeclaredMachine(), rename_state=str)
    actions = {"keep": "hold on", "replace": "buy"}
    with pytest.raises(ConformanceError):
        check_same(Machine(), DeclaredMachine(), rename_action=actions.__getitem__)


def test_merging_equal_futures_is_no_difference():
    """Two coins as a pair, and as the number of heads."""
    coins = Dist({0: 1, 1: 1})
    faces = Game.of(
        start=(), node=lambda seen: end(sum(seen)) if len(seen) == 2 else roll(coins, lambda side: go((*seen, side)))
    )
    counted = Game.of(
        start=(0, 0),
        node=lambda at: end(at[1]) if at[0] == 2 else roll(coins, lambda side: go((at[0] + 1, at[1] + side))),
    )
    assert check_same(faces, counted).passed["same"] == 7


# --- what is asked for ---------------------------------------------------------------------------


def test_skipping_is_not_passing():
    report = check_game(Turn(), max_states=500)
    assert "counters" not in report.passed
    with pytest.raises(ConformanceError, match="required.*no counters") as caught:
        check_game(Turn(), require=["counters"])
    assert caught.value.check == "counters"
    with pytest.raises(ValueError, match="no check is called 'counter'"):
        check_game(Turn(), require=["counter"])


def test_states_that_must_be_reached():
    assert check_game(Turn(), reaches=[15]).passed["reachability"]
    with pytest.raises(ConformanceError, match="cannot reach") as caught:
        check_game(Turn(), reaches=[1])
    assert (caught.value.check, caught.value.state) == ("reachability", 1)


def test_endless_plays_may_be_meant():
    with pytest.raises(ConformanceError, match="endless=True"):
        check_game(Trap())
    assert check_game(Machine(), require=["termination", "solution"])
    assert check_game(Trap(), endless=True).passed["termination"]
    assert check_game(Trap(), horizon=4).skipped["payoff_range"]
    for lasting in (Horizon(4), Discounted(Fraction(1, 2))):
        assert check_game(Trap(), lasting).passed["termination"]
    with pytest.raises(ConformanceError, match="endless=True"):
        check_game(Trap(), Discounted(1))


def test_what_is_no_game():
    for thing in (Turn, 42, None):
        with pytest.raises(ConformanceError, match="is not a Game") as caught:
            check_game(thing)
        assert caught.value.check == "declaration"


def test_the_report_is_a_table():
    report = check_game(Turn())
    lines = str(report).splitlines()
    assert lines[0] == "Turn"
    assert any(line.split()[:2] == ["counters", "skipped"] and "no counters" in line for line in lines)
    assert repr(report) == f"<Conformance: Turn, {len(report.passed)} checks passed, {len(report.skipped)} skipped>"
