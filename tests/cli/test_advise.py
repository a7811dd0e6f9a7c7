"""``mdpdice advise``: the best action and the value of every action."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from mdpdice import At, Win, solve
from mdpdice.games.farkle import FarkleRace
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.games.school import Rules, bob
from mdpdice.looks import look_of


def answer(result, status=0):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_farkle(run):
    data = answer(run("advise", "farkle", "-p", "cap=1000", "-p", "dice=3", "roll=1,1,5", "points=300", "--json"))
    assert data["state"] == "roll=1,1,5 points=300"
    assert data["action"] == data["actions"][0]["action"]
    assert {"Bank": {"points": 250}} in [entry["action"] for entry in data["actions"]]
    values = [entry["value"] for entry in data["actions"]]
    assert values == sorted(values, reverse=True)
    assert data["value"] == pytest.approx(values[0])
    assert data["lower"] <= data["value"] <= data["upper"]
    assert data["ties"] == [data["action"]]
    assert data["status"] == "certified"


def test_mixed_dice_are_written_with_spaces(run):
    options = ("-p", "dice=Odd die,Odd die,Lucky die", "-p", "cap=400")
    data = answer(run("advise", "farkle", *options, *["roll=1@Odd", "die,5@Lucky", "die", "points=50"], "--json"))
    assert data["state"] == "roll=1@Odd die,5@Lucky die points=50"
    assert {"Keep": {"points": 100, "dice": [0, 1]}} in [entry["action"] for entry in data["actions"]]
    text = run("advise", "farkle", *options, "roll=1@Odd die,5@Lucky die points=50")
    assert text.output.startswith("Set aside the 1 (Odd die) and the 5 (Lucky die) for 150; 200 at risk")
    assert "set aside the 1 (Odd die) for 100; 150 at risk, roll 1 x Lucky die" not in text.output
    every = run("advise", "farkle", *options, "--all", "roll=1@Odd die,5@Lucky die points=50").output
    assert "set aside the 1 (Odd die) for 100; 150 at risk, roll 1 x Lucky die" in every
    for words in ("Keep", "Bank", "Menu", "At(", "{", "}"):
        assert words not in every


@pytest.mark.slow
def test_position_of_another_public_solver(run):
    """The README of github.com/phlip9/kcddice, with the wiki's decimals and a maximum of 4000."""
    dice = "Ordinary die," * 3 + "hk=368:105:105:105:105:212," * 2 + "kcd1/Odd die"
    roll = "roll=1@Ordinary die,1@hk,1@hk,5@Ordinary die,5@Ordinary die,5@Odd die"
    options = ("-p", f"dice={dice}", "-p", "cap=4000", "-p", "at_cap=clip")
    data = answer(run("advise", "farkle", *options, *roll.split(), "--json"))
    values = [round(entry["value"], 1) for entry in data["actions"]]
    assert values[0] == 2120.6
    assert {970.2, 953.4, 902.5, 687.7, 660.3} <= set(values)


def test_horizon(run, pig):
    values = [answer(run("advise", pig, 10, "--horizon", n, "--json"))["value"] for n in (1, 2, 20)]
    assert values[0] == 10
    assert values[0] < values[1] < values[2]
    none_left = answer(run("advise", pig, 10, "--horizon", 0, "--json"))
    assert none_left["action"] is None
    assert none_left["notes"] == ["no decision is left"]


def test_text(run, pig):
    result = run("advise", pig, "12")
    assert result.exit_code == 0
    sentence, _, head, best, other, _, value, proof = result.output.splitlines()
    assert sentence == "Roll."
    assert head.split() == ["value", "loss", "risk", "of", "losing", "the", "turn"]
    points = dict.fromkeys(range(20, 26))
    worth = {at: Fraction(at) for at in points}
    for at in range(19, 11, -1):
        worth[at] = max(Fraction(at), sum(worth[at + k] for k in range(2, 7)) / 6)
    assert best.split()[:2] == ["*", "roll"]
    assert float(best.split()[2]) == pytest.approx(float(worth[12]), abs=1e-8)
    assert best.split()[3:] == ["-", "16.67%"]
    assert other.split()[:2] == ["hold", "12"]
    assert float(other.split()[2]) == pytest.approx(float(worth[12] - 12), abs=1e-5)
    assert value.endswith(" (expected total)")
    assert proof.startswith("certified")


@pytest.mark.parametrize("state", ["what", '{"a"', "[1, 2]", '{"Unknown": {}}'])
def test_states_that_do_not_exist(run, pig, state):
    result = run("advise", pig, state)
    assert result.exit_code == 2
    if "{" not in state:
        assert "is not a position of this game: node() raised TypeError" in result.output
        assert "Similar states:\n" in result.output


FROM_ELSEWHERE = "play from the start does not come here; it comes to "


def test_positions_that_play_does_not_come_to(run, pig):
    data = answer(run("advise", pig, "1", "--json"))
    assert data["action"] == "roll"
    assert data["state"] == "1"
    assert data["value"] == pytest.approx(solve(PigTurn(cap=20).at(1)).value())
    (note,) = data["notes"]
    assert note.startswith(FROM_ELSEWHERE)
    over = answer(run("advise", pig, "5000", "--json"))
    assert over["value"] == 5000
    assert over["action"] is None


def test_positions_off_the_lattice(run):
    """Two dice of three are rolled with points at risk; the values are those of the written-out game."""
    race = FarkleRace(dice=3, target=4000)
    data = answer(run("advise", "farkle-race", "-p", "dice=3", "roll=1,5", "mine=3850", "theirs=50", "--json"))
    assert any(note.startswith(FROM_ELSEWHERE) for note in data["notes"])
    assert data["status"] == "certified"
    assert data["solver"] == "layer-sweeps"
    state = look_of(race).read_state("roll=1,5 mine=3850 theirs=50")
    flat = solve(race.at(state))
    assert data["value"] == pytest.approx(flat.value(), abs=1e-7)
    wrong = run("advise", "farkle-race", "-p", "dice=3", "roll=1,5", "mine=3851")
    assert wrong.exit_code == 2
    assert "mine has the values range(0, 4000, 50). Similar states:\n" in wrong.output
    assert "Menu" not in wrong.output


def test_a_file_of_a_policy_is_asked(run, pig, tmp_path):
    path = tmp_path / "policy.npz"
    assert run("policy", pig, "--save", path).exit_code == 0
    assert run("advise", pig, "12", "--policy", path).output == f"{path}: roll.\n"
    assert run("advise", pig, "1", "--policy", path).exit_code == 2


def test_states_of_farkle_that_cannot_be_read(run):
    small = ("-p", "dice=2", "-p", "cap=300")
    for words in (["hello"], ["roll=1,7"], ["roll=2,3"], ["roll=1,1,1"], ["roll=1@Odd die"]):
        assert run("advise", "farkle", *small, *words).exit_code == 2
    result = run("advise", "farkle", *small, "roll=1,5", "points=77")
    assert result.exit_code == 2
    assert "roll=1,5 points=" in result.output


def test_a_read_state_that_raises_is_no_crash(run, write):
    path = write(
        """
        from mdpdice import Game, end
        from mdpdice.looks import Look
        class Raising(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return end()
        class Unhashable(Raising):
            pass
        class RaisingLook(Look, of=Raising):
            def read_state(self, text):
                return int(text)
        class UnhashableLook(Look, of=Unhashable):
            def read_state(self, text):
                return [text]
        """
    )
    for name in ("Raising", "Unhashable"):
        result = run("advise", f"{path}:{name}", "zero")
        assert result.exit_code == 2
        assert "could not be read as a state" in result.output


def test_where_nobody_decides(run, pig):
    data = answer(run("advise", "farkle", "-p", "cap=300", "dice=6", "--json"))
    assert data["action"] is None
    assert data["actions"] == []
    assert data["value"] > 0
    result = run("advise", "farkle", "-p", "cap=300", "dice=6")
    assert result.exit_code == 0
    assert "no decision here" in result.output
    assert run("advise", "farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none", "roll=1").exit_code == 1


GAMES = """
    from fractions import Fraction
    from mdpdice import Game, Node, decide, end, go

    class Nim(Game[int, int]):
        '''Take one or two; who takes the last loses.'''
        def start(self) -> int:
            return 4
        def node(self, n: int) -> Node[int, int]:
            if n <= 0:
                return end(1 if n == 0 else -1)
            return decide([(k, go(n - k)) for k in (1, 2)], player=n % 2)

    class Mirror(Game[int, Fraction]):
        '''A state and its negative are the same.'''
        def start(self) -> int:
            return 3
        def canonical(self, n: int) -> int:
            return abs(n)
        def node(self, n: int):
            down = go(1 - n)
            options = [(Fraction(1, 2), down), (Fraction(1, 3), end(0)), ((1, "x"), down)]
            return end(7) if n == 0 else decide(options)

    class Odd(Game[int, object]):
        '''Actions without a text.'''
        def start(self) -> int:
            return 0
        def node(self, n: int):
            return decide([(complex(1, 2), end(1)), (True, end(0)), (None, end(-1))])
"""


def test_the_minimiser_takes_the_least(run, write):
    data = answer(run("advise", f"{write(GAMES)}:Nim", "3", "--json", "--solver", "backward-induction"))
    values = [entry["value"] for entry in data["actions"]]
    assert values == sorted(values)
    assert data["value"] == values[0]


def test_symmetry_and_ties(run, write):
    path = write(GAMES)
    data = answer(run("advise", f"{path}:Mirror", "--json", "--", "-2"))
    assert data["state"] == "2"
    assert any("symmetry" in note for note in data["notes"])
    assert data["ties"] == [{"Fraction": "1/2"}, [1, "x"]]
    text = run("advise", f"{path}:Mirror", "2").output
    assert "* 1/2" in text
    assert "= 1 x" in text
    assert "as good as the best" in text


def test_actions_without_a_text(run, write):
    path = write(GAMES)
    data = answer(run("advise", f"{path}:Odd", "0", "--json"))
    assert [entry["action"] for entry in data["actions"]] == ["(1+2j)", True, None]
    assert "* (1+2j)" in run("advise", f"{path}:Odd", "0").output


def test_not_proved(run, pig, plug_in):
    data = answer(run("advise", pig, "10", "--solver", "too-high", "--json"), status=1)
    assert data["value"] is None
    assert {entry["value"] for entry in data["actions"]} == {None}
    assert all(isinstance(entry["estimate"], float) for entry in data["actions"])
    assert "not proved" in run("advise", pig, "10", "--solver", "too-high").output


def test_a_race_says_whose_chance_it_is(run):
    race = ("pig-race", "-p", "goal=15", "mine=3", "theirs=5", "turn=6")
    data = answer(run("advise", *race, "--json"))
    text = run("advise", *race).output
    assert f"value      {data['value']:.10g} (chance to win of the player to move)\n" in text
    assert [(entry["words"], entry["risk"]) for entry in data["actions"]] in (
        [("roll", 1 / 6), ("hold 6: 9 in all", None)],
        [("hold 6: 9 in all", None), ("roll", 1 / 6)],
    )
    little = run("advise", "pig-turn", "12", "--sense", "min").output
    assert "(expected total, minimised)" in little
    reach = run("advise", "pig-turn", "12", "--objective", "payoff-at-least:20").output
    assert "(payoff-at-least:20)" in reach


def test_turns_to_win_in_are_counted_from_the_position(run):
    race = ["pig-race", "-p", "goal=12"]
    data = answer(run("advise", *race, "--objective", "win-within:2", "--json", "mine=3 theirs=4 turn=5"))
    there = PigRace(goal=12).at(At("play", mine=3, theirs=4, turn=5))
    solution = solve(there, Win(within=2))
    assert data["estimate"] == pytest.approx(solution.value(), abs=1e-12)
    assert data["notes"] == []
    assert {move["action"]: move["estimate"] for move in data["actions"]} == pytest.approx(solution.q(solution.start))


def test_two_moves_or_all(run):
    asked = ("advise", "farkle", "-p", "dice=3", "-p", "cap=500", "roll=1,1,5")
    data = answer(run(*asked, "--json"))
    best, second, *others = data["actions"]
    short, every = run(*asked).output, run(*asked, "--all").output
    assert f"\n* {best['words']}  " in short
    assert f"\n  {second['words']}  " in short
    assert f"  {len(others)} more: --all\n" in short
    assert all(entry["words"] not in short for entry in others)
    assert all(f"\n  {entry['words']}  " in every for entry in others)
    assert "more: --all" not in every
    busts = {1: Fraction(2, 3), 2: Fraction(4, 9), 3: Fraction(5, 18)}
    for entry in data["actions"]:
        kept = entry["action"].get("Keep")
        assert entry["risk"] == (None if kept is None else pytest.approx(float(busts[kept["dice"]])))


@pytest.mark.parametrize("words", ["foo", "mine=1 theirs=2 roll=1,1,5 turn=0"])
def test_unknown_words_are_refused_with_the_form(run, words):
    result = run("advise", "farkle-race", *words.split())
    assert result.exit_code == 2
    assert "write mine=1200 theirs=800 roll=1,1,5 points=300" in result.output


def test_what_bob_does_and_why(run):
    state = "open=grade-6,full,care,trash dice=2,2,6,6,6 rerolls=1"
    data = answer(run("advise", "school", *state.split(), "--policy", "bob", "--json"))
    advice = bob(Rules(), ["grade-6", "full", "care", "trash"], (2, 2, 6, 6, 6), 1)
    assert [entry["rating"] for entry in data["actions"]] == [float(one) for one in advice.profits.values()]
    assert data["action"] == [{"Score": {"combination": "full"}}]
    assert data["outcomes"] == []  # the next turn is no part of his rating
    text = run("advise", "school", state, "--policy", "bob").output
    assert text.startswith("bob: full for 22.\n")
    assert "\n* full for 22  14.29778998" in text
    assert text.count("reroll") == 2  # of the three best
    again = state.replace("2,2,6,6,6", "1,2,6,6,6")
    data = answer(run("advise", "school", again, "--policy", "bob", "--json"))
    assert data["action"] == [{"Reroll": {"dice": [1, 2]}}]
    shown = {tuple(map(int, one["words"].split())): one for one in data["outcomes"]}
    assert len(shown) == 21
    for dice, one in shown.items():
        assert dice.count(6) >= 3
        assert one["chance"] == pytest.approx((1 if dice[0] == dice[1] or dice.count(6) == 5 else 2) / 36)
        after = bob(Rules(), ["grade-6", "full", "care", "trash"], dice, 0)
        assert one["rating"] == float(next(iter(after.profits.values())))
    mean = sum(one["chance"] * one["rating"] for one in data["outcomes"])
    assert mean == pytest.approx(data["actions"][0]["rating"])
    weights = [abs(one["chance"] * one["rating"]) for one in data["outcomes"]]
    assert weights == sorted(weights, reverse=True)


def test_what_other_policies_do(run):
    assert run("advise", "pig-turn", "21", "--policy", "hold-at:20").output == "hold-at:20: hold 21 points.\n"
    looked = run("advise", "pig-turn", "21", "--policy", "lookahead:1").output
    assert looked.startswith("lookahead:1: hold 21 points.\n")
    assert "its rating" in looked
    for wrong in ("optimal", "bold", "hold-at:x"):
        assert run("advise", "pig-turn", "21", "--policy", wrong).exit_code == 2
    assert "no decision here" in run("advise", "farkle", "dice=6", "--policy", "lookahead:1").output


@pytest.mark.parametrize(
    "asked",
    [
        "farkle -p dice=2 -p cap=300 roll=1,5",
        "farkle-race -p dice=2 -p target=400 mine=50 roll=1,5",
        "konijnenhokken -p dice=3 roll=1,2,3",
        "konijnenhokken-race -p dice=3 -p target=8 roll=1,2,3",
        "knucklebones --solver lookahead:1 6 35_/___/___ __4/__4/___",
        "pig-race -p goal=9 turn=4",
        "school -p open=care,trash open=all dice=1,2,6,6,6 rerolls=1",
        "school-combination -p combination=full dice=1,2,6,6,6 rerolls=1",
    ],
)
def test_no_game_shows_how_it_is_written(run, asked):
    output = run("advise", *asked.split(), "--all").output
    sentence, moves, *_ = output.split("\n\n")
    assert sentence.endswith(".")
    assert "\n* " in moves
    for sign in ("{", "=1", "At(", "Keep(", "Bank(", "Menu", "Score(", "Reroll(", "Take(", "Rolled", "Offer"):
        assert sign not in output
