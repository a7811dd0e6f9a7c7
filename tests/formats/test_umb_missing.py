"""UMB without the package that reads and writes it: the error says what to install, and for which Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mdpdice import explore
from mdpdice.cli import main
from mdpdice.errors import MissingPackageError
from mdpdice.formats import read_file, read_umb, write_umb
from mdpdice.games.pig import PigTurn


def test_without_umbi_the_error_names_the_package_and_python(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "umbi", None)
    (tmp_path / "x.umb").write_bytes(b"")
    for call in (
        lambda: read_umb(tmp_path / "x.umb"),
        lambda: read_file(tmp_path / "x.umb"),
        lambda: write_umb(explore(PigTurn(cap=6)), tmp_path / "y.umb"),
    ):
        with pytest.raises(MissingPackageError, match=r"umbi, which needs Python 3\.12 .* 'mdpdice\[umb\]'") as caught:
            call()
        assert caught.value.package == "umbi"
    assert not (tmp_path / "y.umb").exists()


def test_the_command_line_says_it_too(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "umbi", None)
    result = CliRunner().invoke(main, ["export", "pig-turn", "-p", "cap=6", "--to", str(tmp_path / "x.umb")])
    assert (result.exit_code, "Python 3.12" in result.output) == (1, True)
    assert list(tmp_path.iterdir()) == []
