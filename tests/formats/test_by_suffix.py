"""Formats by name and by the end of a file's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdpdice import Game, compile_lattice, decide, end, explore
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats import (
    FORMATS,
    Model,
    find_format,
    read_file,
    to_quantecon,
    write_dot,
    write_drn,
    write_file,
    write_lp,
    write_prism_explicit,
)
from mdpdice.games.pig import Piglet, PigTurn


def test_every_format_is_found_by_each_of_its_endings() -> None:
    endings = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(set(endings)) == len(endings)
    for form in FORMATS:
        for suffix in form.suffixes:
            assert find_format(f"a.b{suffix.upper()}", writing=form.write is not None) is form


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_what_is_written_is_read_with_its_value(form, tmp_path: Path, tools) -> None:
    network = explore(PigTurn(cap=12))
    path = tmp_path / f"x{form.suffixes[0]}"
    if form.name == "umb":
        pytest.importorskip("umbi", reason="the package umbi is not there; it needs Python 3.12")
    write_file(network, path)
    assert path.stat().st_size > 100
    if form.read is None:
        with pytest.raises(UnsupportedError, match="cannot be read; formats that can are: npz"):
            read_file(path)
        return
    read = read_file(path)
    back = read.network() if isinstance(read, Model) else read
    assert tools.float_values(back)[back.start] == pytest.approx(tools.float_values(network)[network.start], abs=1e-9)


def test_a_name_goes_before_the_ending(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    write_file(network, tmp_path / "x.txt", "drn")
    assert isinstance(read_file(tmp_path / "x.txt", "drn"), Model)
    with pytest.raises(CorruptFileError):
        read_file(tmp_path / "x.txt", "npz")
    with pytest.raises(UnsupportedError, match="x.txt"):
        read_file(tmp_path / "x.txt")
    with pytest.raises(UnsupportedError, match="'gambit'"):
        write_file(network, tmp_path / "x.txt", "gambit")


def test_a_lattice_is_written_where_a_format_has_variables(tmp_path: Path) -> None:
    lattice = compile_lattice(Piglet(goal=3))
    write_file(lattice, tmp_path / "x.prism")
    assert "  turn : [0..2] init 0;" in (tmp_path / "x.prism").read_text()
    with pytest.raises(UnsupportedError, match=r"drn holds networks.*one of: prism"):
        write_file(lattice, tmp_path / "x.drn")


@pytest.mark.parametrize(
    "write",
    [write_drn, write_prism_explicit, write_dot, write_lp, lambda game, path: to_quantecon(game)],
    ids=["drn", "tra", "dot", "lp", "quantecon"],
)
def test_a_game_is_explored_before_it_is_written(write, tmp_path) -> None:
    with pytest.raises(GameError, match=r"explore\(game\)"):
        write(PigTurn(cap=4), tmp_path / "game")
    assert list(tmp_path.iterdir()) == []


def test_labels_are_a_dictionary_of_collections(tmp_path) -> None:
    network = explore(PigTurn(cap=4))
    for labels in (["low"], {"low": 0}, {"low": "0"}, {5: [0]}):
        with pytest.raises(GameError, match="label"):
            write_drn(network, tmp_path / "pig.drn", labels=labels)


def test_names_that_are_no_text_are_written_in_another_way(tmp_path) -> None:
    network = explore(Game.of(start=0, node=lambda s: decide({"\ud800": end(1), "b": end(2)})))
    write_dot(network, tmp_path / "odd.dot")
    assert "ud800" in (tmp_path / "odd.dot").read_text(encoding="utf-8")
