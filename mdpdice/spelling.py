"""Names in words: what a wrong one may have meant, and what a game is called."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(written: object, known: Iterable[object]) -> str:
    """Return ``did you mean 'value-iteration'? `` for value_iteration, vi or value-itration; else ``""``."""
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known if isinstance(name, str)}
    if not isinstance(written, str) or not written:
        return ""
    wanted = "-".join(written.casefold().replace("_", " ").replace("-", " ").split())
    short = [one for one in names if "-" in one and "".join(part[:1] for part in one.split("-")) == wanted]
    near = short or get_close_matches(wanted, names, n=1)
    return f"did you mean {names[near[0]]!r}? " if near else ""


def title(name: str) -> str:
    """Return what a game is called: without the file that it is in, and in words where the name is the library's."""
    return name.rpartition(":")[2] if ":" in name else name.replace("-", " ").capitalize()
