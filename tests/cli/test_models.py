"""Size and structure of a game, its first file, completion in a shell, and statuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mdpdice import explore
from mdpdice.cli import main
from mdpdice.games.pig import PigRace

BIG = """
    from mdpdice import Counter, Game, Node, decide, end, go, when

    class Big(Game[str, str]):
        left = Counter(range(2_000_000))
        right = Counter(range(2_000_000))

        def start(self) -> str:
            return "play"

        def node(self, state: str) -> Node[str, str]:
            more = when(self.left < 1_999_999, go(state, self.left.add(1)))
            return decide([("stop", end(self.left)), ("on", more)])
"""
WALK = """
    from mdpdice import Game, Node, decide, end, go

    class Walk(Game[int, str]):
        def start(self) -> int:
            return 0

        def node(self, n: int) -> Node[int, str]:
            return end() if n == 5 else decide({"on": go(n + 1), "back": go(max(n - 1, 0))})

    class Endless(Walk):
        def node(self, n: int) -> Node[int, str]:
            return decide({"on": go(n + 1), "stop": end(n)})
"""


def test_counters_tell_the_grid_before_it_is_explored(run):
    data = json.loads(run("info", "pig-race", "-p", "goal=9", "--before", "--json").output)
    assert [(one["name"], one["values"]) for one in data["counters"]] == [("mine", 9), ("theirs", 9), ("turn", 9)]
    assert data["grid"] == 9**3
    assert data["states"] is None
    assert data["available_bytes"] > 0
    network = explore(PigRace(goal=9))
    assert data["bound"]["nodes"] >= network.n_nodes
    assert data["bound"]["edges"] >= network.n_edges
    assert data["bound"]["bytes"] >= network.n_edges * 34


def test_structure(run):
    data = json.loads(run("info", "pig-race", "-p", "goal=9", "--json").output)
    network = explore(PigRace(goal=9))
    assert (data["states"], data["nodes"], data["edges"]) == (network.n_states, network.n_nodes, network.n_edges)
    assert sum(data["kinds"].values()) == network.n_nodes
    assert data["players"] == 2
    assert data["digest"] == network.digest
    assert data["cyclic_components"] > 0
    assert data["end_components"] > 0
    assert "value-iteration" in data["solvers"]
    assert "backward-induction" not in data["solvers"]


def test_acyclic(run):
    result = run("info", "pig-turn")
    assert result.exit_code == 0
    assert "cycles      none" in result.output
    assert "solvers     backward-induction, exact" in result.output
    assert "105" in result.output


def test_a_cycle_is_shown(run, write):
    result = run("info", f"{write(WALK)}:Walk", "--json")
    data = json.loads(result.output)
    assert data["components"] == 2
    assert data["largest_component"] == 5
    # A walk along the cycle, by its states.
    steps = [int(state) for state in data["cycle"]]
    around = zip(steps, [*steps[1:], steps[0]], strict=True)
    assert all(b in (a + 1, max(a - 1, 0)) for a, b in around)
    assert "-> " in run("info", f"{write(WALK)}:Walk").output or len(steps) == 1


def test_what_is_too_large_is_not_explored(run, write):
    large = run("info", f"{write(BIG)}:Big")
    assert large.exit_code == 1
    assert "4,000,000,000,000 points" in large.output
    assert "not explored" in large.output
    before = run("info", f"{write(BIG)}:Big", "--before")
    assert before.exit_code == 0
    endless = run("info", f"{write(WALK)}:Endless", "--max-states", "100", "--json")
    assert endless.exit_code == 1
    assert "max_states=100" in json.loads(endless.output)["refused"]


def test_what_is_solved_on_its_lattice_is_counted(run):
    sheet = run("info", "school")
    assert sheet.exit_code == 0
    assert "25,334,926" in sheet.output  # as docs/games/school.md has it from `solve`
    assert "solvers     layer-sweeps" in sheet.output
    race = json.loads(run("info", "farkle-race", "-p", "target=2000", "--json").output)
    assert race["layers"] > 1
    assert race["solvers"] == ["layer-sweeps"]


def test_a_new_game_and_its_test_run_and_notice_a_fault(run, tmp_path):
    result = run("new", "high-dice", "--folder", tmp_path)
    assert result.exit_code == 0
    game = tmp_path / "high_dice.py"
    assert f"{game} is written" in result.output
    solved = json.loads(run("solve", f"{game}:HighDice", "--solver", "exact", "--json").output)
    assert solved["value"] == pytest.approx(14 / 3)
    assert json.loads(run("solve", f"{game}:HighDice", "-p", "rolls=1", "--json").output)["value"] == 3.5
    assert "Most rolls of a play." in run("solve", f"{game}:HighDice", "--help").output
    assert "keep" in run("advise", f"{game}:HighDice", "[5, 1]").output
    # The test runs, and that of a game which is wrong fails.
    run("new", "mine", "--folder", tmp_path)
    wrong = tmp_path / "mine.py"
    wrong.write_text(wrong.read_text("utf-8").replace("end(face)\n", "end(face + 1)\n"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "high_dice or by_hand", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert re.findall(r"^FAILED (\S+?)::(\w+)", done.stdout, re.MULTILINE) == [("test_mine.py", "test_value_by_hand")]
    assert "1 failed, 5 passed" in done.stdout


@pytest.mark.parametrize("name", ["1st", "class", "a b", "mdpdice"])
def test_names_that_cannot_be_imported(run, tmp_path, name):
    assert run("new", name, "--folder", tmp_path).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(run, tmp_path):
    (tmp_path / "test_mine.py").write_text("precious", "utf-8")
    result = run("new", "mine", "--folder", tmp_path)
    assert result.exit_code == 1
    assert "already exists" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


def test_the_shell_completes():
    def shell(**variables):
        return CliRunner().invoke(main, env=variables, prog_name="mdpdice").output

    def complete(words, at):
        return shell(_MDPDICE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(at)).split()

    for name, hook in (("bash", "complete -o"), ("zsh", "#compdef mdpdice"), ("fish", "complete --no-files")):
        assert hook in shell(_MDPDICE_COMPLETE=f"{name}_source")
    assert complete("mdpdice so", 1) == ["plain,solve"]
    assert complete("mdpdice solve pig", 2) == ["plain,pig-race", "plain,pig-turn", "plain,piglet"]
    assert complete("mdpdice solve ./my", 2) == ["file,./my"]
    assert complete("mdpdice solve farkle --solver lin", 4) == ["plain,linear-programming"]
    assert "plain,network" in complete("mdpdice plot piglet --kind ", 4)
