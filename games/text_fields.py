"""Texts of states that name their parts: ``roll=1,1,5 points=300``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mdpdice.errors import UnknownStateError


def read_fields(
    text: str, names: Sequence[str], form: str, *, value: str = ".*?", once: Iterable[set[str]] = ()
) -> dict[str, str]:
    """Return the values of a text ``name=value name=value``, no name twice; `value` is their regular expression.

    Raises
    ------
    UnknownStateError
        The text has another form than `form`, or it does not have exactly one name of each set in `once`.
    """
    name = f"(?:{'|'.join(names)})"
    pattern = re.compile(rf"({name})\s*=\s*({value})\s*(?={name}\s*=|$)")
    fields = pattern.findall(text)
    values = dict(fields)
    wrong = not fields or pattern.sub("", text).strip() or len(values) < len(fields)
    wrong = wrong or any("=" in given for given in values.values())  # an unknown name
    if wrong or any(len(values.keys() & group) != 1 for group in once):
        raise UnknownStateError(f"{text!r} is not a state; write {form}", value=text)
    return values
