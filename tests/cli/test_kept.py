"""Kept answers: what a second command finds, and what it must not believe."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import mdpdice
from mdpdice.cli import case as cases
from mdpdice.cli.catalogue import find_game
from mdpdice.solving import kept
from mdpdice.web import page as pages

RACE = ("pig-race", "-p", "goal=15")


@pytest.fixture
def solves(monkeypatch):
    """How often the game is solved."""
    done = []
    real = mdpdice.solve

    def solve(*args, **kwargs):
        done.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(cases.mdpdice, "solve", solve)
    return done


@pytest.fixture
def asked(run):
    """Ask for advice as JSON, and count nothing; gives the data without the time."""

    def call(*args, status=0):
        result = run(*args, "--json")
        assert result.exit_code == status, result.output
        return json.loads(result.stdout)

    return call


def files(answers):
    return sorted(answers.iterdir())


def test_a_second_command_reads_what_the_first_has_solved(run, asked, solves, pig, answers):
    first = asked("advise", pig, "12")
    second = asked("advise", pig, "12")
    assert (first.pop("proof"), second.pop("proof")) == ("this run", "cached")
    assert first == second
    assert len(solves) == 1
    for command in (("tree", pig, "12", "-d", "1"), ("policy", pig), ("evaluate", pig)):
        asked(*command)
    assert run("play", pig, "--seats", "optimal").exit_code == 0
    picture = ("plot", pig, "--kind", "values", "--x", "state", "--to", answers / "values.svg")
    assert run(*picture).exit_code == 0
    assert len(solves) == 1
    assert "kept since" in run("advise", pig, "12").output
    assert answers.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in answers.glob("*.npz"))


def test_a_second_evaluate_reads_what_the_first_has_told(asked, run, pig, monkeypatch, tmp_path):
    first = asked("evaluate", pig)
    monkeypatch.setattr("mdpdice.cli.evaluate.players", None)  # nobody is asked to play again
    second = asked("evaluate", pig)
    assert second.pop("proof") == "cached"
    del first["proof"]
    assert second == first
    assert "to explore and evaluate, kept since" in run("evaluate", pig).output
    monkeypatch.undo()
    assert asked("evaluate", pig, "--policy", "random")["value"] != first["value"]
    # A file may hold something else the next time.
    file = tmp_path / "policy.npz"
    assert run("policy", pig, "--save", file).exit_code == 0
    assert asked("evaluate", pig, "--policy", file)["value"] == first["value"]
    monkeypatch.setattr("mdpdice.cli.evaluate.players", None)
    assert run("evaluate", pig, "--policy", file, "--json").exit_code != 0


@pytest.mark.parametrize("game", [("pig-turn",), RACE], ids=["one", "two"])
def test_the_optimum_is_worth_what_was_proved_with_it(asked, run, monkeypatch, game):
    solved = asked("solve", *game)
    solution = mdpdice.solve(mdpdice.explore(find_game(game[0])(**({"goal": 15} if game == RACE else {}))))
    exactly = mdpdice.evaluate(solution.network, solution.policy, exact=True).exact()
    assert solved["lower"] <= exactly <= solved["upper"]
    monkeypatch.setattr(mdpdice, "evaluate", None)
    for more in [(), ("--against", "optimal")][: 1 + (game == RACE)]:
        told = asked("evaluate", *game, *more)
        for key in ("value", "lower", "upper", "status"):
            assert told[key] == solved[key]
        assert told["outcomes"]["mean"] == pytest.approx(float(exactly), rel=1e-12)
    assert isinstance(run("evaluate", *game, "--policy", "random").exception, TypeError)


def test_solving_and_cross_checking_always_solve_and_write(asked, solves, pig):
    for _ in range(2):
        assert asked("solve", pig)["proof"] == "this run"
    assert len(solves) == 2
    assert asked("advise", pig, "12")["proof"] == "cached"
    asked("crosscheck", pig, "-p", "cap=10")
    assert asked("advise", pig, "5", "-p", "cap=10")["proof"] == "cached"
    assert len(solves) == 2


@pytest.mark.parametrize(
    "more",
    [
        ("-p", "cap=19"),
        ("-p", "bust=half"),
        ("--horizon", "3"),
        ("--sense", "min"),
        ("--epsilon", "1e-5"),
        ("--objective", "payoff-at-least:15"),
        ("--objective", "reach:12"),
        ("--solver", "value-iteration"),
        ("--no-cache",),
    ],
)
def test_another_question_is_solved(asked, solves, pig, more):
    asked("advise", pig, "12")
    data = asked("advise", pig, "12", *more)
    assert data["proof"] == "this run"
    assert len(solves) == 2
    again = asked("advise", pig, "12", *more)
    assert again["value"] == data["value"]
    assert again["proof"] == ("this run" if more == ("--no-cache",) else "cached")
    assert [entry["value"] for entry in again["actions"]] == [entry["value"] for entry in data["actions"]]


def test_other_sources_are_another_question(asked, solves, write, answers):
    game = """
        import attrs
        from mdpdice import Game, decide, end
        from prices import PRICE

        class Shop(Game[int, str]):
            def start(self):
                return 0
            def node(self, state):
                import later
                return decide({"buy": end(PRICE), "wait": end(later.PRICE)})
    """
    for name, text in (("prices", "PRICE = 3"), ("later", "PRICE = 1"), ("beside", "nothing = 0")):
        write(text, f"{name}.py")
    path = f"{write(game)}:Shop"
    try:
        assert asked("advise", path, "0")["value"] == 3
        write("nothing = 1", "beside.py")  # which the game does not import
        assert asked("advise", path, "0")["proof"] == "cached"
        for name, price in (("prices", 30), ("later", 10)):
            write(f"PRICE = {price}", f"{name}.py")
            assert asked("advise", path, "0")["proof"] == "this run"
        assert len(solves) == 3
    finally:
        for name in ("prices", "later"):
            sys.modules.pop(name, None)


def test_a_game_that_imports_from_elsewhere_is_not_kept(asked, solves, write, tmp_path, monkeypatch, answers):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far_prices.py").write_text("PRICE = 3", encoding="utf-8")
    monkeypatch.syspath_prepend(elsewhere)
    folder = tmp_path / "mine"
    folder.mkdir()
    path = folder / "shop.py"
    path.write_text(
        "from far_prices import PRICE\n"
        "from mdpdice import Game, decide, end\n"
        "class Shop(Game[int, str]):\n"
        "    def start(self):\n        return 0\n"
        "    def node(self, state):\n        return decide({'buy': end(PRICE)})\n",
        encoding="utf-8",
    )
    try:
        for _ in range(2):
            assert asked("advise", f"{path}:Shop", "0")["proof"] == "this run"
    finally:
        sys.modules.pop("far_prices", None)
    assert len(solves) == 2
    assert not answers.exists()


def test_other_versions_of_the_library(asked, solves, pig, monkeypatch):
    asked("advise", pig, "12")
    monkeypatch.setattr("mdpdice.solving.problem.library_version", lambda: "99.0")
    assert asked("advise", pig, "12")["proof"] == "this run"
    assert len(solves) == 2


@pytest.mark.filterwarnings("default::RuntimeWarning")  # the command line tells it
@pytest.mark.parametrize("where", [0, 200, -200, -1])
def test_damage_is_found_told_and_mended(run, solves, pig, answers, where):
    run("advise", pig, "12")
    (path,) = files(answers)
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    result = run("advise", pig, "12", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["proof"] == "this run"
    assert "Warning: a kept answer is left aside: " in result.stderr
    assert len(solves) == 2
    assert json.loads(run("advise", pig, "12", "--json").stdout)["proof"] == "cached"


@pytest.mark.filterwarnings("default::RuntimeWarning")  # the command line tells it
def test_an_answer_to_another_question_is_no_answer(run, asked, pig, answers):
    right = asked("advise", pig, "12")
    (path,) = files(answers)
    asked("advise", pig, "12", "-p", "bust=half")
    (other,) = set(files(answers)) - {path}
    path.write_bytes(other.read_bytes())
    result = run("advise", pig, "12", "--json")
    assert "it answers another one" in result.stderr
    assert json.loads(result.stdout)["value"] == right["value"]


@pytest.mark.filterwarnings("default::RuntimeWarning")  # the command line tells it
@pytest.mark.skipif(os.name != "posix", reason="owners and permissions of this system")
def test_what_others_may_have_written_is_not_read(run, pig, answers, monkeypatch):
    run("advise", pig, "12")
    (path,) = files(answers)

    def told():
        result = run("advise", pig, "12", "--json")
        assert json.loads(result.stdout)["proof"] == "this run"
        return result.stderr

    path.chmod(0o602)
    assert f"others may write to {path}, so no kept answer is read" in told()
    assert path.stat().st_mode & 0o777 == 0o600  # replaced
    answers.chmod(0o770)
    assert f"others may write to {answers}, so no answer is kept" in told()
    answers.chmod(0o700)
    moved = path.rename(answers / "moved")
    path.symlink_to(moved)
    assert f"{path} is not what it should be" in told()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert f"{answers} belongs to another user" in told()


@pytest.mark.filterwarnings("default::RuntimeWarning")  # the command line tells it
def test_a_folder_that_cannot_be_made_is_a_warning(run, pig, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MDPDICE_CACHE", str(tmp_path / "file" / "answers"))
    result = run("advise", pig, "12")
    assert result.exit_code == 0
    assert "Warning: the answer is not kept" in result.stderr
    monkeypatch.setenv("MDPDICE_CACHE", "")
    assert not run("advise", pig, "12").stderr
    assert json.loads(run("cache", "list", "--json").stdout) == {"folder": None, "answers": 0, "bytes": 0, "kept": []}


def test_certified_again(asked, solves, pig, monkeypatch):
    first = asked("advise", pig, "12")
    again = asked("advise", pig, "12", "--prove")
    assert again["proof"] == "this run"
    assert (again["value"], again["lower"], again["upper"]) == (first["value"], first["lower"], first["upper"])
    assert len(solves) == 1


def test_a_forged_answer_is_believed_until_it_is_certified(run, asked, pig, answers, monkeypatch):
    """The seal is no signature."""
    from mdpdice.solving import kept_files

    real = kept_files.solution_members

    def forged(*args, **more):
        members = real(*args, **more)
        return members | {"values": members["values"] + 1}

    monkeypatch.setattr(kept_files, "solution_members", forged)
    right = asked("advise", pig, "12")
    assert asked("advise", pig, "12")["value"] is not None
    result = run("advise", pig, "12", "--prove", "--json")
    assert json.loads(result.stdout)["value"] == right["value"]


def test_positions_that_play_does_not_come_to_are_kept_too(asked, solves, pig):
    first, second, other = (asked("advise", pig, points) for points in ("1", "1", "12"))
    assert (first.pop("proof"), second.pop("proof"), other["proof"]) == ("this run", "cached", "cached")
    assert first == second
    assert first["value"] != other["value"]
    assert len(solves) == 2  # from the start, and from there


def test_a_page_takes_what_is_kept_and_is_written_without(run, solves, pig, answers, tmp_path):
    assert run("export", pig, "--to", tmp_path / "first.html", "--no-cache").exit_code == 0
    assert not answers.exists()
    for again in ("second.html", "third.html"):
        assert run("export", pig, "--to", tmp_path / again).exit_code == 0
    assert len(solves) == 2


@pytest.fixture
def page(run, tmp_path):
    """Export the page of the race; gives its text, and whether it was made anew."""

    def call(*more):
        path = tmp_path / "race.html"
        with pytest.MonkeyPatch.context() as patched:
            made = []
            real = pages.page_text
            patched.setattr(pages, "page_text", lambda *args: made.append(args) or real(*args))
            result = run("export", *RACE, "--to", path, *more)
        assert result.exit_code == 0, result.output
        return path.read_text(encoding="utf-8"), bool(made)

    return call


def test_a_page_is_kept(run, page, answers):
    first, again, fresh = page(), page(), page("--no-cache")
    assert (first[1], again[1], fresh[1]) == (True, False, True)
    assert first[0] == again[0] == fresh[0]
    # Another seat, another sense, and a certificate made again ask for another page.
    for more in (("--seat", "hold-at:9"), ("--sense", "min"), ("--prove",)):
        assert page(*more)[1], more
    assert not page("--seat", "hold-at:9")[1]
    file = answers.with_name("same.html")
    told = [json.loads(run("export", *RACE, "--to", file, "--json", *more).stdout) for more in ((), ("--no-cache",))]
    assert [one.pop("proof") for one in told] == ["cached", "this run"]
    assert told[0] == told[1]
    listed = run("cache", "list").output
    assert listed.count("pig-race goal=15: total, max, a page") == 2
    assert run("cache", "clear").exit_code == 0
    assert not files(answers)
    assert page() == first


@pytest.mark.filterwarnings("default::RuntimeWarning")  # the command line tells it
def test_a_damaged_page_is_made_again(page, answers):
    whole, _ = page()
    path = next(path for path in files(answers) if whole[-90:-60].encode() in path.read_bytes())
    path.write_bytes(path.read_bytes().replace(b"<title>", b"<tutle>"))
    assert page() == (whole, True)
    assert page() == (whole, False)


@pytest.mark.parametrize(
    "game", [RACE, ("farkle-race", "-p", "dice=3"), ("konijnenhokken", "-p", "dice=3"), ("school-combination",)]
)
def test_both_routes_and_their_certificates(asked, solves, game):
    state = {"pig-race": "turn=4", "farkle-race": "roll=1,1,5 mine=400", "konijnenhokken": "roll=1,2,3"}
    asked("solve", *game)
    where = state.get(game[0], "dice=1,3,4,5,6 rerolls=1")
    fresh = asked("advise", *game, where, "--no-cache")
    found = asked("advise", *game, where)
    proved = asked("advise", *game, where, "--prove")
    assert found["proof"] == "cached"
    assert proved["proof"] == fresh["proof"] == "this run"
    for key in ("value", "lower", "upper", "actions", "ties", "states", "status"):
        assert found[key] == fresh[key], key
    for key in ("value", "lower", "upper"):
        assert proved[key] == pytest.approx(fresh[key], abs=1e-12)
    assert proved["status"] == "certified"
    assert len(solves) == 2
    assert asked("tree", *game, *where.split(), "-d", "1", "--json")["proof"] == "cached"


def test_exact_answers_stay_exact(asked, pig):
    first, second = (asked("advise", pig, "12", "--solver", "exact") for _ in range(2))
    assert (first["status"], second["status"]) == ("exact", "exact")
    assert second["proof"] == "cached"
    assert first["value"] == second["value"]


def test_what_is_not_proved_is_not_kept(asked, pig, plug_in, answers):
    for _ in range(2):
        assert asked("advise", pig, "12", "--solver", "too-high", status=1)["proof"] == "this run"
    assert not answers.exists()


def test_tables_are_kept(run, asked, solves):
    first, second = (asked("policy", *RACE) for _ in range(2))
    assert (first.pop("proof"), second.pop("proof")) == ("this run", "cached")
    assert first == second
    assert len(solves) == 1
    assert run("policy", *RACE, "--csv").output == run("policy", *RACE, "--csv", "--no-cache").output
    assert asked("policy", *RACE, "--prove")["proof"] == "this run"
    wrong = run("policy", *RACE, "--table", "none")
    assert wrong.exit_code == 2


def test_what_people_see_is_not_kept_for_programs(run, asked):
    lines = run("policy", "pig-turn").stdout.splitlines()
    assert lines[-1].startswith("... and 59 more rows")
    assert run("policy", "pig-turn").stdout.splitlines()[-41:] == lines[-41:]
    (table,) = asked("policy", "pig-turn")["tables"]
    assert len(table["rows"]) == 99
    assert len(run("policy", "pig-turn", "--csv").stdout.splitlines()) == 100


def test_two_processes_at_once(pig, asked, answers):
    """Both solve and write; whoever comes later reads one of them."""
    words = [sys.executable, "-m", "mdpdice.cli", "advise", pig, "12", "--json"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    ended = [one.communicate(timeout=300) for one in running]
    assert [one.returncode for one in running] == [0, 0, 0], ended
    assert not any(complaints for _, complaints in ended)
    assert len({json.loads(told)["value"] for told, _ in ended}) == 1
    assert len(files(answers)) == 1
    assert asked("advise", pig, "12")["proof"] == "cached"


def test_those_used_longest_ago_make_room(asked, pig, answers, monkeypatch):
    for cap in (10, 11, 12):
        asked("advise", pig, "5", "-p", f"cap={cap}")
    for age, entry in enumerate(reversed(kept.entries())):
        os.utime(entry.path, (1000 + age, 1000 + age))
    assert asked("advise", pig, "5", "-p", "cap=10")["proof"] == "cached"  # and so is used
    left = files(answers)
    mine = answers / "notes.txt"
    mine.write_text("not an answer", encoding="utf-8")
    monkeypatch.setattr(kept, "MOST_BYTES", sum(path.stat().st_size for path in left) + 100)
    asked("advise", pig, "5", "-p", "cap=13")
    assert asked("advise", pig, "5", "-p", "cap=10")["proof"] == "cached"
    assert asked("advise", pig, "5", "-p", "cap=11")["proof"] == "this run"
    assert mine.exists()


def test_what_is_kept_is_listed_and_deleted(run, asked, pig, answers):
    asked("solve", pig)
    asked("solve", "pig-turn", "--horizon", "3")
    (answers / f"{'0' * 40}.npz").write_bytes(b"nothing")
    mine = answers / ".profile"
    mine.write_text("not an answer", encoding="utf-8")
    data = asked("cache", "list")
    assert (data["folder"], data["answers"]) == (str(answers), 3)
    assert data["bytes"] == sum(entry["bytes"] for entry in data["kept"])
    text = run("cache", "list").output
    assert "  Pig cap=20 bust=nothing: total, max\n" in text
    assert "  pig-turn cap=100: total, max, horizon 3\n" in text
    assert f"{'0' * 40}.npz, which cannot be read" in text
    assert asked("cache", "clear")["deleted"] == 3
    assert asked("cache", "list")["answers"] == 0
    assert files(answers) == [mine]


# --- states of the standard input -------------------------------------------------------------------


@pytest.fixture
def told(run, monkeypatch):
    """Ask about the states of some lines."""
    from click.testing import CliRunner

    from mdpdice.cli import main

    def call(*args, lines):
        return CliRunner().invoke(main, ["advise", *map(str, args)], input=lines, prog_name="mdpdice")

    return call


def test_states_line_by_line(told, run, solves, pig):
    result = told(pig, lines="12\n\nwhat\n19\nq\n5\n")
    assert result.exit_code == 0
    assert len(solves) == 2  # and once from the state that nobody knows
    alone = [run("advise", pig, state).output.replace(", kept since", "") for state in (12, 19)]
    assert result.stdout == "".join(f"{text}\n" for text in alone)
    assert "Error: 'what' is not a position of this game" in result.stderr
    assert "q quits" not in result.stderr  # it is no terminal


def test_states_line_by_line_as_json(told, pig):
    result = told(pig, "--json", lines="12\nwhat\n19")
    assert result.exit_code == 0
    first, wrong, last = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["state"], wrong["state"], last["state"]) == ("12", "what", "19")
    assert (first["action"], last["action"]) == ("roll", "roll")
    assert "is not a position" in wrong["error"]


def test_states_line_by_line_of_policies_and_searches(told, pig):
    assert told("pig-turn", "--policy", "hold-at:20", lines="19\n21\n").stdout == (
        "hold-at:20: roll.\n\nhold-at:20: hold 21 points.\n\n"
    )
    looked = told("pig-turn", "--solver", "lookahead:1", "--json", lines="19\n21\n")
    assert looked.exit_code == 1  # estimates
    assert [json.loads(line)["state"] for line in looked.stdout.splitlines()] == ["19", "21"]


def test_a_page_of_a_kept_answer_is_the_same(run, solves, tmp_path):
    for name in ("first.html", "second.html"):
        assert run("export", *RACE, "--to", tmp_path / name).exit_code == 0
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()
    assert len(solves) == 1


def test_tables_of_a_game_do_not_stand_on_a_kept_lattice(run, monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 1000)
    assert run("advise", *RACE, "mine=5", "theirs=5", "turn=5").exit_code == 0
    result = run("policy", *RACE)
    assert (result.exit_code, "no network" in result.output) == (0, False)


def test_parts_and_tables_of_a_kept_lattice_are_not_solved_again(run, solves, monkeypatch, tmp_path):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 1000)
    assert run("advise", *RACE, "mine=5", "theirs=5", "turn=5").exit_code == 0
    to = ("--to", tmp_path / "policy.svg")
    map_of = (*to, "--kind", "policy", "--x", "turn", "--y", "mine", "--where", "theirs=5")
    for command in (
        ("plot", *RACE, *map_of),
        ("plot", *RACE, *map_of, "--policy", "hold-at:5"),
        ("policy", *RACE, *to),
    ):
        assert run(*command).exit_code == 0
    assert len(solves) == 1


def test_a_saved_policy_can_be_played_whatever_was_kept(run, monkeypatch, tmp_path):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 1000)
    assert run("advise", *RACE, "mine=5", "theirs=5", "turn=5").exit_code == 0
    assert run("policy", *RACE, "--save", tmp_path / "best.npz").exit_code == 0
    to = ("--to", tmp_path / "policy.svg", "--kind", "policy", "--x", "turn", "--y", "mine", "--where", "theirs=5")
    for command in (("evaluate", *RACE), ("plot", *RACE, *to)):
        assert run(*command, "--policy", tmp_path / "best.npz").exit_code == 0


def test_averages_are_kept(asked, solves, answers):
    """The second command finds them, with what an action costs once; --prove proves them again."""
    average = ("advise", "pig-turn", "17", "--repeated", "--objective", "average:0")
    first, second, proved = asked(*average), asked(*average), asked(*average, "--prove")
    assert [one.pop("proof") for one in (first, second, proved)] == ["this run", "cached", "this run"]
    assert first == second
    assert len(solves) == 1
    assert [one["value"] for one in (first, proved)] == [pytest.approx(8.141794893727)] * 2
    assert [action["value"] for action in proved["actions"]] == [action["value"] for action in first["actions"]]
    asked("advise", "pig-turn", "17", "--repeated", "--objective", "average")
    assert len(solves) == 2
    assert len(files(answers)) == 2
