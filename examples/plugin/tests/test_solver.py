"""The solver: the battery of mdpdice, and together with others."""

from mdpdice_twenty_one import Howard, TwentyOne

from mdpdice import cross_check
from mdpdice.testing import check_solver


def test_conformance() -> None:
    report = check_solver(Howard(), require=["cyclic", "discount", "traced"])
    assert "two_player" in report.skipped  # it knows one player only, and says so


def test_agreement() -> None:
    report = cross_check(TwentyOne(), at_least={"independent": 3, "states": 100})
    assert report.ok, str(report)
    assert "howard" in {entry.solver for entry in report.entries if entry.outcome == "ran"}
