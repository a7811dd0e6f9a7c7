"""mdpdice plot writes the picture that is asked for, or says what is missing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mdpdice import plots
from mdpdice.cli.plot import KINDS


@pytest.fixture
def drawn(run, tmp_path, monkeypatch):
    """Draw by the command line; gives the axes or figure that was written."""
    kept = []
    save = plots.save_picture

    def keep(picture, path, **more):
        kept.append(picture)
        save(picture, path, **more)

    monkeypatch.setattr(plots, "save_picture", keep)

    def call(name, kind, *args, to="picture.png"):
        result = run("plot", name, "--kind", kind, "--to", tmp_path / to, *args)
        assert result.exit_code == 0, result.output
        assert (tmp_path / to).stat().st_size > 1000
        return kept[-1]

    return call


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_policy(drawn):
    strip = drawn("pig-turn", "policy", "-p", "cap=30")
    assert legend(strip) == ["hold", "roll", "no such state"]
    assert strip.get_title() == "pig-turn cap=30"
    ax = drawn(
        "pig-race", "policy", "-p", "goal=12", "--policy", "hold-at:4", "--x", "turn", "--y", "mine",
        "--where", "theirs=3", "--title", "Mine", to="map.svg",
    )  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("turn", "mine", "Mine")
    # Two free dimensions need no names once the third is fixed.
    free = drawn("pig-race", "policy", "-p", "goal=12", "--policy", "hold-at:4", "--where", "theirs=3")
    assert {free.get_xlabel(), free.get_ylabel()} == {"turn", "mine"}


def test_difference(drawn):
    ax = drawn("pig-turn", "difference", "-p", "cap=30", "--against", "hold-at:25")
    assert "optimal: hold; hold-at:25: roll" in [text.replace("\n", " ") for text in legend(ax)]


def test_thresholds(drawn):
    bars = drawn("farkle", "thresholds", "-p", "dice=3", "-p", "cap=1000")
    assert [bar.get_height() for bar in bars.containers[0]] == [100, 150, 350]
    chart = drawn(
        "pig-race", "thresholds", "-p", "goal=12", "--policy", "hold-at:4",
        "--x", "theirs", "--y", "mine", "--over", "turn", "--action", "hold",
    )  # fmt: skip
    assert {text.get_text() for text in chart.texts} == {"4"}


def test_values_and_stages(drawn):
    curves = drawn("pig-turn", "values", "-p", "cap=30", "--actions")
    assert [line.get_label() for line in curves.lines] == ["hold", "roll"]
    several = drawn("pig-race", "values", "-p", "goal=6", "--x", "mine", "--by", "theirs", "--where", "turn=0")
    assert len(several.lines) == 5
    chart = drawn("pig-race", "values", "-p", "goal=6", "--x", "mine", "--y", "theirs", "--where", "turn=0")
    assert chart.figure.axes[1].get_ylabel() == "value (chance to win)"
    stages = drawn("pig-turn", "stages", "-p", "cap=30", "--horizon", "5")
    assert len(stages.lines[0].get_xdata()) == 6


def test_a_grid_too_large_for_a_network(drawn, run, tmp_path, monkeypatch):
    for limit in ("FLAT_UP_TO_EDGES", "FALL_BACK_UP_TO_EDGES"):
        monkeypatch.setattr(f"mdpdice.solving.lattice_route.{limit}", 100)
    small = ("pig-race", "-p", "goal=12", "--where", "theirs=5")
    ax = drawn(small[0], "policy", *small[1:], "--policy", "hold-at:4")
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"turn", "mine"}
    assert set(legend(ax)) == {"roll", "hold", "no such state"}
    curves = drawn(small[0], "values", *small[1:], "--where", "mine=2", "--x", "turn", "--actions")
    assert sorted(line.get_label() for line in curves.lines) == ["hold", "roll"]
    assert curves.get_ylabel() == "value (chance to win)"
    wrong = run(
        "plot", "pig-race", "-p", "goal=12", "--kind", "policy", "--where", "score=1", "--to", tmp_path / "p.png"
    )
    assert wrong.exit_code == 2
    assert "mine, state, theirs, turn" in wrong.output


def test_outcomes(drawn):
    one = drawn("pig-turn", "outcomes", "--policy", "hold-at:20")
    assert legend(one) == ["mean 8.142"]
    two = drawn("pig-turn", "outcomes", "--policy", "hold-at:20", "--against", "hold-at:10", "--at-least")
    assert legend(two) == ["hold-at:20 (mean 8.142)", "hold-at:10 (mean 6.874)"]


def test_convergence_and_network(drawn):
    figure = drawn("pig-race", "convergence", "-p", "goal=8", to="bounds.pdf")
    assert len(figure.axes) == 2
    ax = drawn("piglet", "network")
    assert {one.get_label() for one in ax.collections} == {"decision", "chance", "end, with its payoff"}


def test_every_kind_is_tried_above_and_in_the_manual():
    assert set(KINDS) == {
        *("policy", "difference", "thresholds", "values", "stages", "outcomes", "convergence", "network")
    }


def test_json(run, tmp_path):
    path = tmp_path / "p.png"
    result = run("plot", "pig-turn", "-p", "cap=25", "--kind", "policy", "--to", path, "--json")
    assert json.loads(result.output) == {
        "game": "pig-turn", "parameters": {"cap": 25}, "horizon": None, "objective": "total", "sense": "max",
        "kind": "policy", "file": str(path),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("pig-turn", "--kind", "policy", "--to", "p.bmp"), 2, ".png, .svg, .pdf"),
        (("pig-turn", "--kind", "difference", "--to", "p.png"), 2, "needs --against"),
        (("pig-turn", "--kind", "stages", "--to", "p.png"), 2, "needs --horizon"),
        (("pig-turn", "--kind", "thresholds", "--to", "p.png"), 2, "knows no thresholds"),
        (("pig-turn", "--kind", "thresholds", "--over", "state", "--to", "p.png"), 2, "need --x, --y"),
        (("pig-turn", "--kind", "policy", "--x", "points", "--to", "p.png"), 2, "are: state"),
        (("piglet", "--kind", "policy", "--to", "p.png"), 2, "say with --x and --y"),
        (("piglet", "--kind", "values", "--y", "mine", "--to", "p.png"), 2, "goes with --x"),
        (("piglet", "--kind", "policy", "--where", "theirs", "--to", "p.png"), 2, "NAME=VALUE"),
        (("piglet", "--kind", "policy", "--where", "score=1", "--to", "p.png"), 2, "mine, theirs, turn"),
        (("piglet", "--kind", "policy", "--policy", "best", "--to", "p.png"), 2, "mine"),
        (("pig-turn", "--kind", "policy", "--steps-left", "1", "--to", "p.png"), 2, "goes with --horizon"),
        (("pig-turn", "--kind", "network", "--to", "p.png"), 1, "could not be read"),
        (("pig-turn", "--kind", "convergence", "--solver", "exact", "--to", "p.png"), 1, "does not iterate"),
    ],
)
def test_what_is_missing_is_said(run, tmp_path, monkeypatch, args, status, words):
    monkeypatch.chdir(tmp_path)
    result = run("plot", *args)
    assert result.exit_code == status, result.output
    assert words in result.output
    assert not list(tmp_path.iterdir())


def test_without_matplotlib():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mdpdice.cli import main; main(['plot', 'piglet', '--kind', 'network', '--to', 'p.png'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: pictures need matplotlib: pip install mdpdice[plot]"
