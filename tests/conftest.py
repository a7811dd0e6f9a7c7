"""What holds for all tests."""

from __future__ import annotations

import itertools

import pytest

from mdpdice.compilation import ALONE

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def answers(tmp_path_factory, monkeypatch):
    """A folder of its own where the test keeps answers, and not that of the user; it is made when it is needed."""
    folder = tmp_path_factory.getbasetemp() / f"answers-{next(_numbers)}"
    monkeypatch.setenv("MDPDICE_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def compiled_alone(monkeypatch):
    """No second process compiles; tests about that have one."""
    monkeypatch.setenv(ALONE, "1")
