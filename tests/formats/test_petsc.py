"""PETSc binary matrices: their bytes, round trips, and files that are wrong."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers import reference_models
from helpers.random_games import Table, tables
from hypothesis import HealthCheck, given, settings

from mdpdice import explore, solve
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats import read_petsc, write_petsc
from mdpdice.formats.arrays import from_pymdptoolbox
from mdpdice.games.pig import Piglet, PigTurn

RARELY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# mdptoolbox.example.forest() as its rows state by state; values in the docstring of PolicyIteration.
FOREST = [[[0.1, 0.9, 0.0], [1.0, 0.0, 0.0]], [[0.1, 0.0, 0.9], [1.0, 0.0, 0.0]], [[0.1, 0.0, 0.9], [1.0, 0.0, 0.0]]]
FOREST_R = [[0.0, 0.0], [0.0, 1.0], [4.0, 2.0]]
FOREST_VALUES = [26.244, 29.484, 33.484]


def packed(matrix) -> bytes:
    """A matrix in PETSc's layout, number by number as its manual page of MatLoad lists them."""
    rows = [[(j, x) for j, x in enumerate(row) if x] for row in matrix]
    flat = [pair for row in rows for pair in row]
    data = struct.pack(">4i", 1211216, len(matrix), len(matrix[0]), len(flat))
    data += struct.pack(f">{len(rows)}i", *(len(row) for row in rows))
    data += struct.pack(f">{len(flat)}i", *(j for j, _ in flat))
    return data + struct.pack(f">{len(flat)}d", *(x for _, x in flat))


STACKED = [row for state in FOREST for row in state]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "P.bin").write_bytes(packed(STACKED))
    (tmp_path / "g.bin").write_bytes(packed(FOREST_R))
    return tmp_path / "P.bin", tmp_path / "g.bin"


def test_the_forest_is_read_and_has_its_published_values(files, tools) -> None:
    network = read_petsc(*files, discount="9/10")
    assert tools.float_values(network)[:3] == pytest.approx(FOREST_VALUES, abs=1e-9)
    costs = read_petsc(*files, mode="cost", discount="9/10")
    assert (costs.reward == -network.reward).all()


def test_the_bytes_are_those_of_the_manual_page(files, tmp_path: Path) -> None:
    network = from_pymdptoolbox(np.array(FOREST).transpose(1, 0, 2), FOREST_R, 0.9)
    table = write_petsc(network, tmp_path / "mine.bin", tmp_path / "mine.costs.bin")
    assert (tmp_path / "mine.bin").read_bytes() == files[0].read_bytes()
    assert (tmp_path / "mine.costs.bin").read_bytes() == files[1].read_bytes()
    assert table.discount == 0.9
    write_petsc(network, tmp_path / "mine.bin", tmp_path / "mine.costs.bin", mode="cost")
    assert (tmp_path / "mine.costs.bin").read_bytes() == packed((-np.array(FOREST_R)).tolist())


def unpacked(path: Path) -> np.ndarray:
    """A file of PETSc as a dense array, read word by word."""
    data = path.read_bytes()
    _, rows, columns, entries = struct.unpack_from(">4i", data)
    widths = struct.unpack_from(f">{rows}i", data, 16)
    indices = struct.unpack_from(f">{entries}i", data, 16 + 4 * rows)
    values = struct.unpack_from(f">{entries}d", data, 16 + 4 * rows + 4 * entries)
    matrix = np.zeros((rows, columns))
    np.add.at(matrix, (np.repeat(np.arange(rows), widths), list(indices)), values)
    return matrix


def cheapest(transitions: np.ndarray, costs: np.ndarray, discount: float) -> np.ndarray:
    """Least expected costs, shape (n,), by policy iteration with dense systems."""
    states = np.arange(len(costs))
    policy = costs.argmin(axis=1)
    while True:
        value = np.linalg.solve(np.eye(len(costs)) - discount * transitions[states, policy], costs[states, policy])
        worth = costs + discount * transitions @ value
        better = worth.min(axis=1) < value - 1e-9 * np.abs(value).max()
        if not better.any():
            return value
        policy = np.where(better, worth.argmin(axis=1), policy)


@pytest.mark.parametrize("discount", [0.9, 0.999])
def test_a_pendulum_of_madupite(discount: float, robot: Path) -> None:
    # Files that the authors of madupite wrote: 121 states, 5 actions, costs.
    files = robot / "pendulum_P.bin", robot / "pendulum_g.bin"
    network = read_petsc(*files, mode="cost", discount=discount)
    assert (network.n_states, len(network.dst)) == (121, 2747)
    costs = unpacked(files[1])
    reference = cheapest(unpacked(files[0]).reshape(121, 5, 121), costs, discount)
    solution = solve(network)
    assert solution.proved
    room = 1e-9 * reference.max()  # for the rounding of the reference
    for state, cost in enumerate(reference):
        assert -solution.upper(state) - room <= cost <= -solution.lower(state) + room


@pytest.mark.parametrize("name", ["gym_frozenlake4x4/0", "gym_cliffwalking/1", "gym_taxi/0"])
def test_models_keep_their_reference_values(name: str, tmp_path: Path, tools) -> None:
    case = reference_models.load(name)
    table = write_petsc(case.network, tmp_path / "P", tmp_path / "g")
    back = read_petsc(tmp_path / "P", tmp_path / "g", discount=case.network.discount)
    values = table.values(tools.float_values(back)[: back.n_states])[case.network.state_node]
    assert values == pytest.approx([float(x) for x in case.exact], rel=1e-9, abs=1e-9)


@RARELY
@given(table=tables())
def test_random_processes_keep_their_values(table, tmp_path: Path, tools) -> None:
    network = explore(Table(table, discount=Fraction(1, 2)))
    if (network.kind == 0).all():
        return
    found = write_petsc(network, tmp_path / "P", tmp_path / "g")
    back = read_petsc(tmp_path / "P", tmp_path / "g", discount="1/2")
    assert found.values(tools.float_values(back)[: back.n_states]) == pytest.approx(
        tools.float_values(network), abs=1e-9
    )


@pytest.mark.parametrize(
    ("at", "value", "field"),
    [
        (0, 1211214, "header"),  # a vector
        (0, 1345865984, "header"),  # the other byte order
        (4, -1, "header"),
        (4, 2**31 - 1, "header"),
        (8, 0, "header"),
        (12, -1, "header"),
        (12, 2**31 - 1, "header"),
        (16, 7, "rows"),
        (16, -1, "rows"),
        (40, 3, "columns"),
        (40, -1, "columns"),
        (44, 0, "columns"),  # not after the one before
    ],
)
def test_what_is_wrong_is_named(files, at: int, value: int, field: str) -> None:
    data = bytearray(files[0].read_bytes())
    data[at : at + 4] = struct.pack(">i", value)
    files[0].write_bytes(data)
    with pytest.raises(CorruptFileError) as caught:
        read_petsc(*files)
    assert (caught.value.field, caught.value.path) == (field, str(files[0]))


@pytest.mark.parametrize("cut", [0, 3, 15, 16, 50, -1])
def test_a_file_that_was_cut_off_is_refused(files, cut: int) -> None:
    files[0].write_bytes(files[0].read_bytes()[:cut])
    with pytest.raises(CorruptFileError):
        read_petsc(*files)


def test_a_number_that_is_not_finite_and_files_that_do_not_belong_together(files) -> None:
    data = files[0].read_bytes()
    files[0].write_bytes(data[:-8] + struct.pack(">d", float("nan")))
    with pytest.raises(CorruptFileError, match="not finite"):
        read_petsc(*files)
    files[0].write_bytes(packed(FOREST_R))
    with pytest.raises(CorruptFileError, match="shape"):
        read_petsc(*files)
    files[0].write_bytes(packed([[0.0, 0.0, 0.0], *STACKED[1:]]))
    with pytest.raises(CorruptFileError, match="leads nowhere"):
        read_petsc(*files)


def test_what_the_format_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="two files"):
        write_petsc(explore(PigTurn(cap=4)), tmp_path / "P", str(tmp_path / "P"))
    with pytest.raises(UnsupportedError, match="write_prism"):
        write_petsc(explore(Piglet(goal=2)), tmp_path / "P", tmp_path / "g")
    for call in (write_petsc, read_petsc):
        with pytest.raises(GameError, match="mode"):
            call(
                *((explore(PigTurn(cap=4)),) if call is write_petsc else ()),
                tmp_path / "P",
                tmp_path / "g",
                mode="both",
            )
    assert list(tmp_path.iterdir()) == []
