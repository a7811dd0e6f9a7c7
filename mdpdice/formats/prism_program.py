"""A program of the PRISM language, from its commands: one module, its rewards and its labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mdpdice.formats.exported_model import REWARD


class Command(NamedTuple):
    """A command, and the comment behind it; with neither action nor text it is a comment alone."""

    action: str
    text: str
    note: str = ""

    def __str__(self) -> str:
        note = f"// {self.note}" if self.note else ""
        return f"[{self.action}] {self.text}; {note}".rstrip() if self.action else note


def program_lines(
    name: str,
    kind: str,
    question: str,
    shift: Fraction,
    variables: Iterable[str],
    commands: Sequence[Command],
    rewards: Iterable[str],
    labels: Mapping[str, Sequence[str]],
    formulas: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Lines of the program; `formulas` are by their texts, and `labels` have conditions, one of which holds."""
    yield "// Exported by mdpdice"
    yield f"// The value of the game is that of {question}"
    if shift:
        yield f"// plus {shift}: the sides share {2 * shift}, and here their payoffs sum to 0"
    yield f"{kind}\n"
    if kind == "smg":
        actions = dict.fromkeys(command.action for command in commands)
        for player in ("maximiser", "minimiser"):
            yield f"player {player}"
            yield f"  {', '.join(f'[{action}]' for action in actions if action.startswith(player[:3]))}"
            yield "endplayer"
        yield ""
    for text, formula in (formulas or {}).items():
        yield f"formula {formula} = {text};"
    if formulas:
        yield ""
    yield f"module {name}"
    yield from (f"  {line}" for line in (*variables, *commands))
    yield "endmodule\n"
    yield f'rewards "{REWARD}"'
    yield from (f"  {line}" for line in rewards)
    yield "endrewards\n"
    for label, where in labels.items():
        yield f'label "{label}" = {" | ".join(f"({one})" if "&" in one else one for one in where) or "false"};'
