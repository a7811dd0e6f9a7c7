"""Random models against plain rational numbers (`tests/fuzz`): no answer is wrong, and a planted fault is found."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from mdpdice.certification.checking import inequalities


@pytest.fixture(scope="module")
def fuzz():
    root = str(Path(__file__).resolve().parents[1])
    # At the end, so that the library is the one that is installed.
    sys.path.append(root)
    try:
        yield importlib.import_module("tests.fuzz.__main__")
    finally:
        sys.path.remove(root)


@pytest.mark.parametrize("first", [0, 1000])
def test_no_answer_is_wrong(fuzz, monkeypatch, capsys, first):
    monkeypatch.setattr(sys, "argv", ["fuzz", "--models", "1000", "--first", str(first), "--json"])
    assert fuzz.main() == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["models"], said["finds"]) == (1000, [])
    assert said["values"] > 3000


@pytest.mark.slow
def test_no_answer_of_ten_thousand_models_is_wrong(fuzz, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fuzz", "--models", "10000", "--json"])
    assert fuzz.main() == 0
    assert json.loads(capsys.readouterr().out)["models"] == 10_000


def test_a_planted_fault_is_found(fuzz, monkeypatch):
    monkeypatch.setattr(inequalities, "NORMAL", 0.0)
    finds = [text for at in range(400) for _, _, text in [fuzz.one(1, at)] if text]
    assert any("but the truth is" in text for text in finds)
