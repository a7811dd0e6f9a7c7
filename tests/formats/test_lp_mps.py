"""LP and MPS files: HiGHS reads them by itself, and its solution is the value of the network."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import attrs
import highspy
import numpy as np
import pytest
from helpers import reference_models
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import HealthCheck, given, settings

from mdpdice import Game, decide, end, explore, go
from mdpdice.errors import UnsupportedError
from mdpdice.formats import write_lp, write_mps
from mdpdice.games.pig import Piglet, PigTurn

WRITERS = [write_lp, write_mps]
RARELY = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def solved(path: Path) -> dict[str, float]:
    """What HiGHS makes of a file, by the names in it."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True))


def values_of(network, write, folder: Path) -> np.ndarray:
    path = folder / f"x.{write.__name__.removeprefix('write_')}"
    program = write(network, path)
    values = program.values(solved(path))
    return values if values.ndim == 1 else values[-1]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "name", ["gym_frozenlake4x4/0", "gym_frozenlake4x4/2", "gym_cliffwalking/2", "qvbs_ij.3/0", "qvbs_cdrive.2/0"]
)
def test_models_have_their_reference_values(name: str, write, tmp_path: Path) -> None:
    case = reference_models.load(name)
    network = case.objective.apply(case.network)
    if case.objective.sense == "min":
        pytest.fail("a case of a maximiser is wanted")
    values = values_of(network, write, tmp_path)[network.state_node]
    # PuLP writes 12 and 13 digits.
    assert values == pytest.approx([float(x) for x in case.exact], rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("write", WRITERS)
@RARELY
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_random_games_keep_their_values(game, write, tmp_path: Path, tools) -> None:
    network = explore(game)
    if (network.kind == 0).all():
        return
    assert values_of(network, write, tmp_path) == pytest.approx(tools.float_values(network), abs=1e-7)


@pytest.mark.parametrize("write", WRITERS)
@RARELY
@given(table=tables())
def test_random_processes_keep_their_values(table, write, tmp_path: Path, tools) -> None:
    network = explore(Table(table, discount=Fraction(1, 2)))
    if (network.kind == 0).all():
        return
    assert values_of(network, write, tmp_path) == pytest.approx(tools.float_values(network), abs=1e-7)


@pytest.mark.parametrize("write", WRITERS)
def test_costs_and_horizons(write, tmp_path: Path, tools) -> None:
    game = Game.of(start=0, node=lambda s: end(3 * s) if s else decide({"a": go(1), "b": go(2)}, player=1))
    network = explore(game)
    assert values_of(network, write, tmp_path).tolist() == tools.float_values(network).tolist() == [3, 3, 6]
    timed = attrs.evolve(explore(PigTurn(cap=20)), horizon=3)
    assert values_of(timed, write, tmp_path) == pytest.approx(tools.float_values(timed), abs=1e-7)


@pytest.mark.parametrize("write", WRITERS)
def test_two_players_are_not_one_program(write, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="not one linear program"):
        write(explore(Piglet(goal=2)), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_the_program_of_a_small_turn(tmp_path: Path) -> None:
    program = write_lp(explore(PigTurn(cap=2)), tmp_path / "x.lp")
    text = (tmp_path / "x.lp").read_text()
    assert program.names == ("v0", "v1")
    rows = [line.strip() for line in text.splitlines() if line.startswith("r")]
    # hold: nothing; roll: what the die gives; the die: (0 + 2 + ... + 6) / 6
    assert rows == ["r0: v0 >= 0", "r1: v0 - v1 >= 0", "r2: v1 = 3.33333333333"]
