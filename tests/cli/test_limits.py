"""``--max-states`` and ``--time-limit``, on every command that solves."""

from __future__ import annotations

import pytest

COMMANDS = {
    "solve": ["solve", "pig-turn"],
    "advise": ["advise", "pig-turn", "5"],
    "crosscheck": ["crosscheck", "pig-turn"],
    "evaluate": ["evaluate", "pig-turn", "--policy", "optimal"],
    "simulate": ["simulate", "pig-turn", "--plays", "10"],
    "policy": ["policy", "pig-turn"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_limit_of_states(run, name):
    result = run(*COMMANDS[name], "--max-states", "3")
    assert result.exit_code == 1
    assert "exploration passed max_states=3 with 6 states" in result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_limit_of_time(run, name):
    result = run(*COMMANDS[name], "--time-limit", "1e-9")
    assert result.exit_code == 130
    assert result.stderr == "Out of time.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_limits_that_are_kept_change_nothing(run, name):
    result = run(*COMMANDS[name], "--time-limit", "600", "--max-states", "1000")
    assert result.exit_code == 0


@pytest.mark.parametrize("limit", [("--time-limit", "0"), ("--time-limit", "nan"), ("--max-states", "0")])
def test_a_limit_is_positive(run, limit):
    assert run("solve", "pig-turn", *limit).exit_code == 2


def test_a_runaway_is_told_in_words_of_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.setattr("mdpdice.exploration.traversal.RUNAWAY", 1000)
    monkeypatch.setattr("mdpdice.exploration.traversal._CHECK_EVERY", 100)
    (tmp_path / "tally.py").write_text(
        "from mdpdice import Game, decide, end, go\n"
        "class Tally(Game):\n"
        "    def start(self): return 0\n"
        "    def node(self, paid): return decide({'on': go(paid + 1), 'out': end(paid)})\n"
    )
    result = run("solve", f"{tmp_path / 'tally.py'}:Tally")
    assert result.exit_code == 1
    assert "the state only rises" in result.stderr
    assert "such as --max-states 20_000_000" in result.stderr
