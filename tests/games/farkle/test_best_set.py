"""The best set of dice against every set, and searches that are stopped or run elsewhere."""

import itertools
import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import mdpdice.games.farkle.purse
from mdpdice import solve
from mdpdice.errors import CheckpointMismatchError, CorruptFileError, GameError, SolveInterrupted
from mdpdice.games.farkle import FarkleRace, KcdFarkle, best_set, find_die
from mdpdice.games.farkle.rules import KCD
from mdpdice.games.farkle.turn_values import turn_values

EIGHT = ["Lucky", "Odd die", "Heavenly", "Even", "Ordinary", "Devil's", "Strip", "x=0:3:1:1:1:1"]
FEW = "3 x Lucky, Odd, 4 x Ordinary"


@pytest.fixture(scope="module")
def values():
    """Every set of the eight dice, solved."""
    dice = [KcdFarkle(dice=name).dice[0] for name in EIGHT]
    return {six: solve(KcdFarkle(dice=six, cap=400)) for six in itertools.combinations(dice, 6)}


def test_eight_dice_by_brute_force(values):
    # A joker and a die that never shows a 1 are among them.
    found = best_set(EIGHT, cap=400)
    best = max(values, key=lambda six: values[six].value())
    assert found.dice == best
    assert found.value == pytest.approx(values[best].value(), rel=1e-12)
    assert found.lower <= values[best].value() <= found.upper
    assert found.sets == 28 == found.solved + found.excluded
    assert found.excluded > 0


def test_what_sets_are_compared_by_is_their_value(values):
    floats = turn_values(KCD, 400, list(values))
    assert floats == pytest.approx([solution.value() for solution in values.values()], rel=1e-12)


def test_equal_dice_and_jokers_by_brute_force():
    purse = "2 x Devil's, 3 x Ordinary, 2 x Odd, Lucky"
    dice = KcdFarkle(dice="2 x Devil's, 3 x Ordinary").dice + KcdFarkle(dice="2 x Odd, Lucky").dice
    values = {six: solve(KcdFarkle(dice=six, cap=400)).value() for six in itertools.combinations(dice, 6)}
    best = max(values, key=values.__getitem__)
    found = best_set(purse, cap=400)
    assert (found.dice, found.sets, found.solved) == (best, len(values), 1)
    assert found.value == pytest.approx(values[best], rel=1e-12)


def test_sets_that_floats_cannot_tell_apart_are_all_solved():
    # The chances of the two last dice differ by less than the values may be wrong.
    found = best_set("5 x Lucky, a=9:1000000000:9:9:9:9, b=9:1000000001:9:9:9:9", cap=300)
    assert (found.sets, found.solved, found.excluded) == (3, 2, 1)
    assert found.dice[:5] == (find_die("Lucky die"),) * 5


def test_dice_of_equal_chances_count_once_and_are_named_as_owned():
    found = best_set("kcd2/A/Lu, kcd2/A/Ci, kcd2/A/Fer, 3 x Unlucky, Painter's red", cap=300)
    assert found.sets == 2
    assert [die.short_name for die in found.dice[:3]] == ["Lu die", "Ci die", "Fer die"]
    assert len(set(found.dice)) == 4


def test_six_dice_are_the_best_six():
    found = best_set("6 x Lucky", cap=300)
    assert (found.sets, found.solved, found.excluded) == (1, 1, 0)
    assert found.dice == (find_die("Lucky die"),) * 6


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_sets_are_solved_by_an_executor(kind):
    executors = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    alone = best_set(FEW, cap=300)
    with executors[kind]() as executor:
        found = best_set(FEW, executor, cap=300)
    assert found[:3] == alone[:3]
    assert found.sets == alone.sets
    assert found.solved >= alone.solved  # some are under way when it turns out that they cannot win


def test_a_race_is_won_by_one_of_the_sets_that_score_most():
    race = FarkleRace(target=300, their_dice="6 x Lucky")
    found = best_set(FEW, race=race, among=2)
    assert (found.sets, found.solved) == (5, 2)
    value = solve(FarkleRace(target=300, my_dice=found.dice, their_dice="6 x Lucky")).value()
    assert found.value == pytest.approx(value, abs=1e-9)
    every = best_set(FEW, race=race, among=99)
    assert (every.solved, every.excluded) == (5, 0)
    assert every.value >= found.value


@pytest.mark.parametrize("stop", ["sets compared", "sets solved"])
def test_a_search_that_is_stopped_goes_on(stop, tmp_path):
    file, told, race = tmp_path / "search.json", [], FarkleRace(target=250)

    def interrupt(phase, _numbers):
        if phase == stop:
            raise KeyboardInterrupt

    with pytest.raises(SolveInterrupted) as caught:
        best_set(FEW, race=race, among=3, checkpoint=file, progress=interrupt)
    assert caught.value.checkpoint == str(file)
    assert caught.value.partial is None
    _, values, solved = json.loads(file.read_text())
    assert len(values) == 5
    assert len(solved) == (stop == "sets solved")
    with pytest.raises(CheckpointMismatchError, match="for another race"):
        best_set(FEW, race=FarkleRace(target=300), among=3, checkpoint=file)
    found = best_set(FEW, race=race, among=3, checkpoint=file, progress=lambda *now: told.append(now))
    assert found == best_set(FEW, race=race, among=3)
    assert not file.exists()
    assert told == [("sets solved", {"sets": sets, "of": 3}) for sets in range(1 + len(solved), 4)]


def test_what_an_executor_has_not_begun_is_given_up(monkeypatch):
    begun, solved, race = [], mdpdice.games.farkle.purse._solved, FarkleRace(target=250)
    monkeypatch.setattr(mdpdice.games.farkle.purse, "_solved", lambda *asked: begun.append(asked) or solved(*asked))

    def interrupt(phase, _numbers):
        if phase == "sets solved":
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor, pytest.raises(SolveInterrupted):
        best_set(FEW, executor, race=race, among=5, progress=interrupt)
    assert 1 <= len(begun) < 5


def test_files_of_other_searches(tmp_path):
    file = tmp_path / "search.json"
    file.write_text('["0", {}, {}]')
    with pytest.raises(CheckpointMismatchError, match="among other dice"):
        best_set(FEW, cap=300, checkpoint=file)
    for text in ("", "{", "[1, 2]", '["x", {"a": 1}, {}]', '["x", 1, 2]'):
        file.write_text(text)
        with pytest.raises(CorruptFileError, match="no search for a best set"):
            best_set(FEW, cap=300, checkpoint=file)


@pytest.mark.parametrize(
    ("dice", "options"), [("5 x Lucky", {}), (FEW, {"cap": 0}), (FEW, {"cap": 10_001}), (FEW, {"among": 0})]
)
def test_what_cannot_be_asked(dice, options):
    with pytest.raises(GameError, match="six dice or more"):
        best_set(dice, **options)


@pytest.mark.slow
def test_fifteen_different_dice():
    purse = "Lucky, Odd die, Heavenly, Strip, Even, Shrinking, Aranka, Greasy, Grimy, King, kcd1/Ambrose, Unlucky die"
    found = best_set(f"{purse}, Wagoner, Ordinary, Lousy")
    assert [die.short_name for die in found.dice] == [
        *("Lucky die", "Odd die", "Heavenly Kingdom die", "Strip die", "Aranka's die", "Ambrose's die")
    ]
    assert found.value == pytest.approx(1128.0141792929, abs=1e-6)
    assert (found.sets, found.solved + found.excluded) == (5005, 5005)
    assert found.solved == 1
    assert found.lower <= found.value <= found.upper < found.lower + 1e-5
