"""What is known of an answer beside its numbers: how far it can be trusted, and how it came about."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs


class Status(enum.Enum):
    """How far an answer can be trusted."""

    EXACT = "exact"
    """Value and policy are right, in rational arithmetic."""
    CERTIFIED = "certified"
    """Optimal value and the policy's value lie in intervals that are narrow at every state."""
    UNCERTIFIED = "uncertified"
    """A complete answer without such a proof."""
    PARTIAL = "partial"
    """The solver stopped before it was done."""
    ESTIMATE = "estimate"
    """A heuristic answer that never claimed to be optimal."""


@attrs.frozen
class Provenance:
    """How an answer came about.

    The solver is the one that proposed it; ``"layer-sweeps"`` on a lattice, ``"evaluation"`` for the value of a
    policy that was given.
    """

    solver: str
    objective: str = "total"  # what counted, as `mdpdice.Objective` writes it: "total", "discounted:9/10"
    sense: str = "max"  # what the player to move wants, "max" or "min"
    iterations: int = 0  # what the solver counted
    seconds: float = 0.0  # wall-clock time of solving and certifying
    version: str = ""  # of mdpdice
    details: Mapping[str, Any] = attrs.field(factory=dict)  # what the solver said beyond that
    notes: tuple[str, ...] = ()  # what to know about how the answer was found


def question_text(objective: str, sense: str) -> str:
    """Return what was asked in a few words; nothing for much of the total, which is usual."""
    what = "the total" if objective == "total" else objective
    return f"minimise {what}" if sense == "min" else "" if objective == "total" else objective
