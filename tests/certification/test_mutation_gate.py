"""The mutation gate in the test suite; ``python -m tests.helpers.mutation_gate`` prints its table."""

from __future__ import annotations

import pytest
from helpers import mutation_gate


@pytest.fixture(scope="module")
def outcome():
    return mutation_gate.run(instances=1)


def test_no_false_alarm(outcome) -> None:
    _, subjects = outcome
    assert len(subjects) >= 30
    assert [subject.case.name for subject in subjects if not subject.certified] == []


def test_every_fault_class_is_live(outcome) -> None:
    table, _ = outcome
    assert len(table) >= 16
    assert {name: row["live"] for name, row in table.items() if row["live"] < 3} == {}


def test_certificate_kills_every_live_mutant(outcome) -> None:
    table, _ = outcome
    survivors = {name: row["live"] - row["certificate"] for name, row in table.items()}
    assert {name: count for name, count in survivors.items() if count} == {}


def test_weaker_checks_let_mutants_live(outcome) -> None:
    """Why a certificate: agreement of values and small residuals both miss whole classes."""
    table, _ = outcome
    live = sum(row["live"] for row in table.values())
    for check in ("value at start", "values", "residual"):
        assert sum(row[check] for row in table.values()) < 0.95 * live
