"""Answers that are kept: solved once, and read by whoever asks the same later.

They lie in a folder of this user, by default where the system has caches; the environment variable ``MDPDICE_CACHE``
names another one, and where it is empty nothing is kept.  A file is used if it belongs to this user, nobody else may
write to it, its seal is right and it answers the very question that is asked.  Any other is left aside with a warning,
solved again and replaced.  The seal finds damage.  It does not protect against an answer forged on purpose,
so the folder is closed to others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mdpdice.errors import MdpDiceError

T = TypeVar("T")

MOST_BYTES = 1_000_000_000
"""Size of all kept answers, beyond which those go that were used longest ago."""
_NAME = re.compile(r"\.{0,2}[0-9a-f]{40}(\.npz|-.*)")
"""Answers, and what a process leaves behind that is killed while it writes one; no other file is ever deleted."""


class Entry(NamedTuple):
    """A kept answer: its file, its size in bytes, and when it was last used, in seconds since 1970."""

    path: Path
    size: int
    used: float


def folder() -> Path | None:
    """Where answers are kept; None: nowhere."""
    named = os.environ.get("MDPDICE_CACHE")
    if named is not None:
        return Path(named) if named else None
    from platformdirs import user_cache_path

    return user_cache_path("mdpdice") / "answers"


def find(question: dict[str, Any], read: Callable[[Path], T]) -> T | None:
    """Return what `read` makes of the file with the answer to a question; None where there is none that can be used.

    The question is JSON data that distinguishes it from all others, with the sources (`mdpdice.solving.sources`).
    """
    path = _place(question)
    if path is None or not os.path.lexists(path):
        return None
    try:
        if why := _foreign(path.parent, stat.S_ISDIR) or _foreign(path, stat.S_ISREG):
            warnings.warn(f"{why}, so no kept answer is read", RuntimeWarning, stacklevel=2)
            return None
        found = read(path)
        os.utime(path)
    except (MdpDiceError, OSError) as error:
        warnings.warn(f"a kept answer is left aside: {error}", RuntimeWarning, stacklevel=2)
        return None
    return found


def keep(question: dict[str, Any], write: Callable[[Path], None]) -> None:
    """Keep the answer that `write` writes, and let those go for which there is no room; what fails is a warning."""
    path = _place(question)
    if path is None:
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if why := _foreign(path.parent, stat.S_ISDIR):
            warnings.warn(f"{why}, so no answer is kept", RuntimeWarning, stacklevel=2)
            return
        # It has the name of an answer only when nobody else may write to it any more.
        fresh = path.with_name(f".{path.stem}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            write(fresh)
            fresh.chmod(0o600)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        whole = 0
        for entry in entries():
            whole += entry.size
            if whole > MOST_BYTES:
                entry.path.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(f"the answer is not kept: {error}", RuntimeWarning, stacklevel=2)


def entries() -> list[Entry]:
    """Return the kept answers, last used first."""
    found, where = [], folder()
    for path in where.iterdir() if where is not None and where.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # another process makes room
            known = path.lstat()
            if _NAME.fullmatch(path.name) and stat.S_ISREG(known.st_mode):
                found.append(Entry(path, known.st_size, known.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> list[Entry]:
    """Delete all kept answers; gives what there was."""
    found = entries()
    for entry in found:
        entry.path.unlink(missing_ok=True)
    return found


def _place(question: dict[str, Any]) -> Path | None:
    text, where = json.dumps(question, sort_keys=True), folder()
    return None if where is None else where / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.npz"


def _foreign(path: Path, kind: Callable[[int], bool]) -> str:
    """Return why a file or folder is not used: another user owns it or may write to it, or it is of another kind."""
    found = path.lstat()
    if not kind(found.st_mode):
        return f"{path} is not what it should be"
    if os.name != "posix":
        return ""
    if found.st_uid != os.getuid():
        return f"{path} belongs to another user"
    return f"others may write to {path}" if found.st_mode & 0o022 else ""
