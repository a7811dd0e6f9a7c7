"""Answers that are kept: solved once, and read by whoever asks the same later.

They lie in a folder of this user, by default where the system has caches; the environment variable ``MDPDICE_CACHE``
names another one, and where it is empty nothing is kept.  A file is used if it belongs to this user, nobody else may
write to it, its seal is right and it answers the very question that is asked.  Any other is left aside with a warning,
solved anew and replaced.  The seal finds damage.  It is no protection against somebody who writes an answer on purpose,
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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mdpdice.errors import MdpDiceError

if TYPE_CHECKING:
    from mdpdice.answers.solution import Solution
    from mdpdice.modelling.game import Game
    from mdpdice.objectives.objective import Objective

__all__ = ["MOST_BYTES", "Entry", "clear", "entries", "find", "folder", "keep"]

MOST_BYTES = 1_000_000_000
"""Size of all kept answers, beyond which those go that were used longest ago."""


_NAME = re.compile(r"\.{0,2}[0-9a-f]{40}(\.npz|-.*)")
"""Answers, and what a process leaves behind that is killed while it writes one; no other file is ever deleted."""


class Entry(NamedTuple):
    """A kept answer: its file, its size in bytes, when it was last used (seconds since 1970), and what it answers."""

    path: Path
    size: int
    used: float
    question: dict[str, Any] | None = None


def folder() -> Path | None:
    """Where answers are kept; None: nowhere."""
    named = os.environ.get("MDPDICE_CACHE")
    if named is not None:
        return Path(named) if named else None
    from platformdirs import user_cache_path

    return user_cache_path("mdpdice") / "answers"


def find(
    question: dict[str, Any],
    game: Game[Any, Any],
    objective: Objective | None = None,
    *,
    horizon: int | None = None,
    epsilon: float = 1e-6,
    prove: bool = False,
) -> Solution | None:
    """The kept answer to a question; None if there is none that can be used.

    Parameters
    ----------
    question : dict
        JSON data that tells it from all others, with the sources (`mdpdice.solving.sources`).
    game, objective, horizon, epsilon
        As they were given to `mdpdice.solve`.
    prove : bool
        Certify it again; otherwise its `details` have ``"proof": "cached"``.
    """
    path = _place(question)
    if path is None or not os.path.lexists(path):
        return None
    from mdpdice.solving.kept_files import read_kept

    try:
        if why := _foreign(path.parent, stat.S_ISDIR) or _foreign(path, stat.S_ISREG):
            warnings.warn(f"{why}, so no kept answer is read", RuntimeWarning, stacklevel=2)
            return None
        found = read_kept(path, game, question, objective, horizon=horizon, epsilon=epsilon, prove=prove)
        os.utime(path)
    except (MdpDiceError, OSError) as error:
        warnings.warn(f"a kept answer is left aside: {error}", RuntimeWarning, stacklevel=2)
        return None
    return found if found.proved else None


def keep(question: dict[str, Any], game: Game[Any, Any], solution: Solution) -> None:
    """Keep a proved answer, and let those go for which there is no room; what goes wrong is a warning."""
    path = _place(question)
    if path is None or not solution.proved:
        return
    from mdpdice.solving.kept_files import write_kept

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if why := _foreign(path.parent, stat.S_ISDIR):
            warnings.warn(f"{why}, so no answer is kept", RuntimeWarning, stacklevel=2)
            return
        # Its name is that of an answer only when others could not write to it at any time.
        fresh = path.with_name(f".{path.stem}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            write_kept(solution, fresh, game, question)
            fresh.chmod(0o600)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        _make_room(path.parent)
    except OSError as error:
        warnings.warn(f"the answer is not kept: {error}", RuntimeWarning, stacklevel=2)


def entries() -> list[Entry]:
    """The kept answers, last used first; those that cannot be read have no question."""
    from mdpdice.solving.kept_files import read_question

    def known(entry: Entry) -> Entry:
        with contextlib.suppress(MdpDiceError, OSError):
            return entry._replace(question=read_question(entry.path))
        return entry

    return [known(entry) for entry in _files(folder())]


def clear() -> list[Entry]:
    """Delete all kept answers; gives what there was."""
    found = _files(folder())
    for entry in found:
        entry.path.unlink(missing_ok=True)
    return found


def _place(question: dict[str, Any]) -> Path | None:
    where = folder()
    text = json.dumps(question, sort_keys=True)
    return None if where is None else where / f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.npz"


def _foreign(path: Path, kind: Any) -> str:
    """Why a file or folder is not used: it is somebody else's, others may write to it, or it is another thing."""
    found = path.lstat()
    if not kind(found.st_mode):
        return f"{path} is not what it should be"
    if os.name != "posix":
        return ""
    if found.st_uid != os.getuid():
        return f"{path} belongs to another user"
    return f"others may write to {path}" if found.st_mode & 0o022 else ""


def _files(where: Path | None) -> list[Entry]:
    """The files of the folder, last used first."""
    found = []
    for path in where.iterdir() if where is not None and where.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):  # somebody else makes room
            known = path.lstat()
            if _NAME.fullmatch(path.name) and stat.S_ISREG(known.st_mode):
                found.append(Entry(path, known.st_size, known.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def _make_room(where: Path) -> None:
    whole = 0
    for entry in _files(where):
        whole += entry.size
        if whole > MOST_BYTES:
            entry.path.unlink(missing_ok=True)
