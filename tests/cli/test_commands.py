"""Help, and the installed command in a process of its own."""

from __future__ import annotations

import atexit
import gc
import json
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import attrs
import click
import click.testing
import pytest

import mdpdice
from mdpdice.cli import main
from mdpdice.cli.catalogue import game_names, load_game

MDPDICE = Path(sysconfig.get_path("scripts")) / "mdpdice"


def shell(*args, cwd=None):
    return subprocess.run(
        [MDPDICE, *map(str, args)], capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd
    )


@pytest.mark.parametrize("name", game_names())
@pytest.mark.parametrize("command", ["solve", "crosscheck", "advise"])
def test_help_describes_every_parameter(run, name, command):
    result = run(command, name, "--help")
    assert result.exit_code == 0
    told = " ".join(result.output.partition(f"Parameters of {name}")[2].split())
    for field in attrs.fields(load_game(name)):
        assert f"-p {field.alias}=" in told
    assert told.count("default: ") == len(attrs.fields(load_game(name)))


def test_help_on_a_file(run, pig):
    result = run("solve", "--horizon", "wrong", pig, "-p", "cap=wrong", "--help")  # help comes first
    assert result.exit_code == 0
    told = " ".join(result.output.split())
    assert "-p cap= The turn ends here. [a whole number; default: 20]" in told
    assert "-p bust= What is left after a 1. [nothing or half; default: nothing]" in told


def test_help_on_a_parameter_that_cannot_be_written(run, write):
    path = write(
        """
        import attrs
        from mdpdice import Dist, Game, d6, end, roll
        @attrs.frozen
        class Thrown(Game[int, str]):
            die: Dist[int] = attrs.field(default=d6, metadata={"help": "what is thrown"})
            cap: int = 3
            def start(self):
                return 0
            def node(self, state):
                return roll(self.die, end)
        """
    )
    text = run("solve", f"{path}:Thrown", "--help").output
    assert "-p cap=" in text
    assert "-p die=" not in text
    assert (
        "die what is thrown [a Dist cannot be written here; give the field a converter that takes text; default:"
        in " ".join(text.split())
    )


def test_the_tree_tells_its_estimate(run):
    text = " ".join(run("tree", "--help").output.split())
    assert "A game without estimates counts half of its total there, which is 0 in most games" in text
    assert "Without a STATE the tree begins at the start" in text


def test_help_on_a_game_without_parameters(run, write):
    path = write("from mdpdice import Game, end\nready = Game.of(start=0, node=lambda n: end())")
    assert run("solve", f"{path}:ready", "--help").output.rstrip().endswith("none")


def test_help_without_a_game(run):
    for args in (["--help"], ["-h"], ["solve", "--help"], ["advise", "--help"], ["solve", "--no-such", "--help"]):
        result = run(*args)
        assert "Usage: mdpdice" in result.output
        assert "Parameters of" not in result.output
    assert run("--version").output.split() == ["mdpdice,", "version", mdpdice.__version__]


def test_wrong_usage(run):
    for args in ([], ["nothing"], ["solve"], ["crosscheck"], ["advise"], ["cache"], ["solve", "farkle", "--no-such"]):
        assert run(*args).exit_code in ({0, 2} if not args else {2})  # click 8.2 changed what no command is


def test_help_loads_nothing_heavy():
    """Asserted by what is imported, since time depends on the machine; the time is printed."""
    program = (
        "import sys; from mdpdice.cli import main; main(['solve', '--help'], standalone_mode=False);"
        "heavy = ('numpy', 'scipy', 'numba', 'pulp', 'attrs', 'mdpdice.modelling.game');"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
    times = []
    for _ in range(3):
        started = time.perf_counter()
        assert shell("--help").returncode == 0
        times.append(time.perf_counter() - started)
    print(f"mdpdice --help: {min(times):.3f} s")


def test_the_installed_command(write, tmp_path):
    path = write(
        """
        from mdpdice import Game, d6, end, roll
        class Die(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return roll(d6, end)
        """
    )
    good = shell("solve", f"{path.name}:Die", "--json", cwd=tmp_path)
    assert good.returncode == 0, good.stderr
    assert good.stderr == ""
    assert json.loads(good.stdout)["value"] == 3.5
    assert len(good.stdout.splitlines()) == 1
    unknown = shell("solve", f"{path}:Dice")
    assert unknown.returncode == 2
    assert unknown.stdout == ""
    assert "games in" in unknown.stderr
    path.write_text("1 / 0", encoding="utf-8")
    broken = shell("solve", f"{path}:Die", "--json")
    assert broken.returncode == 1
    assert broken.stdout == ""
    assert (
        broken.stderr == f"Error: {path} could not be imported: ZeroDivisionError: division by zero (mine.py, line 1)\n"
    )


def test_the_module_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "mdpdice.cli", "solve", "no-such"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: mdpdice solve [OPTIONS] NAME")


def test_every_command_has_help():
    for command in main.commands.values():
        assert command.help
        assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.mark.parametrize(
    "args",
    [
        ("policy", "pig-turn", "--save"),
        ("play", "pig-turn", "--seats", "random", "--record"),
        ("plot", "pig-turn", "--kind", "policy", "--to"),
        ("export", "pig-turn", "--to"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_done(run, tmp_path, args):
    result = run(*args, tmp_path / "gone" / "file.png")
    assert (result.exit_code, "there is no folder" in result.output) == (2, True)
    assert str(tmp_path / "gone") in "".join(result.output.split())
    result = run(*args, tmp_path)
    assert (result.exit_code, "is a directory" in " ".join(result.output.split())) == (2, True)


def test_an_error_of_the_system_is_no_traceback(run, monkeypatch):
    def full(*_args, **_more):
        raise OSError(28, "No space left on device", "p.npz")

    monkeypatch.setattr("mdpdice.answers.policy.Policy.save", full)
    result = run("policy", "pig-turn", "--save", "p.npz")
    assert (result.exit_code, result.output) == (1, "Error: p.npz: No space left on device\n")


@pytest.mark.parametrize("args", [("export", "pig-turn", "--to", "p.doc"), ("import", __file__)])
def test_a_format_that_there_is_not(run, args):
    result = run(*args)
    assert (result.exit_code, "formats that can are: npz (.npz)" in result.output) == (2, True)


def test_names_that_the_terminal_does_not_know_are_written_in_another_way(write):
    path = write(
        """
        from mdpdice import Game, decide, end

        class Odd(Game[str, str]):
            def start(self):
                return "\\u65e5"

            def node(self, state):
                return decide({"\\ud800": end(1), "\u00f6": end(2)})
        """
    )
    for charset in ("latin-1", "utf-8"):
        runner = click.testing.CliRunner(charset=charset)
        for arguments in (["tree"], ["policy"]):
            found = runner.invoke(main, [*arguments, f"{path}:Odd"], prog_name="mdpdice")
            assert found.exit_code == 0, (charset, found.exception)
            assert "\u00f6" in found.stdout


def test_garbage_is_looked_for_less_often_in_a_process_of_its_own_only(run, monkeypatch):
    told = []
    monkeypatch.setattr(gc, "set_threshold", lambda *numbers: told.append(numbers))
    monkeypatch.setattr(atexit, "register", told.append)
    assert run("--version").exit_code == 0
    assert not told
    main(["--version"], standalone_mode=False)
    (young, *_), last = told
    assert young > gc.get_threshold()[0]
    assert last is gc.freeze
