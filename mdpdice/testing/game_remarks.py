"""What a game tells beside its rules: remarks, tables, and the policies that it knows by name."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import MdpDiceError
from mdpdice.looks import NamedPolicy, look_of
from mdpdice.modelling.game import Game
from mdpdice.modelling.tables import Table
from mdpdice.networks.network import Network
from mdpdice.testing.reports import Ledger

__all__ = ["check_infinite_reason", "check_policies", "check_words"]


def check_infinite_reason(ledger: Ledger, game: Game[Any, Any], solution: Solution) -> None:
    """Check that a game whose rules are said to give an infinite value has one: nobody would solve it."""
    reason = ledger.ask("termination", "infinite_reason()", look_of(game).infinite_reason)
    if reason is not None and np.isfinite(solution.nodes.values).all():
        msg = (
            f"infinite_reason() says {reason!r}, and the value is {solution.value():.12g}; it gives None where the "
            "value is finite"
        )
        ledger.fail("termination", msg, value=reason)


def check_words(ledger: Ledger, game: Game[Any, Any], solution: Solution, *, whole: bool) -> None:
    """Check the lines and tables; `whole`: those about an answer too, which are written for the usual objective."""
    look = look_of(game)
    lines = list(_texts(ledger, "notes", ledger.ask("words", "notes()", look.notes)))
    if whole:
        lines += _texts(ledger, "summary", ledger.ask("words", "summary()", look.summary, solution))
        tables = ledger.ask("words", "tables()", look.tables, solution)
        if not isinstance(tables, list | tuple) or not all(isinstance(table, Table) for table in tables):
            ledger.fail("words", f"tables() gives {tables!r}, which is no list of tables", value=tables)
        lines += [table.name for table in tables]
    ledger.passed("words", len(lines), "lines and tables")


def check_policies(ledger: Ledger, game: Game[Any, Any], network: Network) -> None:
    """Check that the policies with names take options that there are; names with parameters cannot be tried."""
    known = ledger.ask("policies", "policies()", look_of(game).policies)
    if not isinstance(known, list | tuple) or not all(isinstance(one, NamedPolicy) for one in known):
        ledger.fail("policies", f"policies() gives {known!r}; it is a list of NamedPolicy", value=known)
    tried = 0
    for name in (one.form for one in known if ":" not in one.form):
        try:
            rule = look_of(game).policy(name)
        except Exception as error:  # noqa: BLE001 - a function of the user
            msg = f"the rule of {name!r} raised {type(error).__name__}: {error}"
            ledger.fail("policies", msg, cause=error)
        try:
            Policy.of(network, cast("Any", rule))
        except MdpDiceError as error:
            msg = f"the policy {name!r}: {error.message}"
            ledger.fail("policies", msg, cause=error, state=error.state, action=error.action)
        tried += 1
    if tried:
        ledger.passed("policies", tried, "policies with a name")
    else:
        ledger.skipped("policies", "the game has none whose name is complete")


def _texts(ledger: Ledger, name: str, lines: Any) -> list[str]:
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        ledger.fail("words", f"{name}() gives {lines!r}, which is no list of lines", value=lines)
    return list(lines)
