"""Checkpoints: what a long solve writes down now and then, to go on from after a crash.

The file is a sealed archive (`mdpdice.archives`).  Its ``header`` says which problem and which solver with which
parameters it belongs to and how the rest is divided up: all arrays of the solver, one after the other, the whole
numbers in ``ints`` and the others in ``floats``.  The numbers are a place to start from and nothing more: the solver
checks what could lead it out of its arrays, and what it arrives at is certified like any answer.

While a solve uses a checkpoint, a lock file next to it, ``NAME.lock``, keeps others away.  It is put in place together
with its content, in one step that fails where there is one already.  One of a process that is gone is taken over.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdpdice.archives import Archive, text_member, write_archive
from mdpdice.errors import CheckpointLockedError, CheckpointMismatchError, CorruptFileError

FORMAT = "mdpdice-checkpoint"
VERSION = 1
_DTYPES = {"header": ("|u1",), "ints": ("<i8",), "floats": ("<f8",)}
_ENTRIES = {"format": str, "version": int, "key": dict, "iterations": int, "arrays": list}
_REMEDY = "delete it to start again"

_HELD: set[str] = set()
"""Locks of this process, by their content."""


class Checkpoint:
    """One checkpoint file, locked while the ``with`` block lasts; `every` are seconds between two writes.

    `resumed` says whether a solver has started from the file.  A CheckpointLockedError if another solve uses it.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 60.0) -> None:
        self.path = Path(path)
        self.every = every
        self.resumed = False
        self._lock = _Lock(self.path.with_name(f"{self.path.name}.lock"))
        self._key: dict[str, str] = {}
        self._found: tuple[dict[str, Any], dict[str, NDArray[Any]]] | None = None
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._lock.take()
        # Whoever was killed in the middle of a write has left half a file; nobody else writes here now.
        for left in self.path.parent.iterdir():
            if left.name.startswith(f".{self.path.name}.") and left.name.endswith(".tmp"):
                left.unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lock back; the file stays."""
        self._lock.release()

    # --- reading -----------------------------------------------------------

    def open(self, key: Mapping[str, str], about: Mapping[str, str]) -> None:
        """Read the file, if there is one, which must belong to `key`; `about` is written down too, for people.

        Raises
        ------
        CheckpointMismatchError
            It belongs to another problem or solver.
        CorruptFileError
            It is damaged, or is no checkpoint.
        """
        self._key = {**key, **about}
        self._last = time.monotonic()
        try:
            file = self._file()
            members = file.read()
        except FileNotFoundError:
            return
        header = _header(file, members)
        for name, wanted in key.items():
            found = header["key"].get(name)
            if found != wanted:
                was = "; ".join(f"{name} {text}" for name, text in header["key"].items())
                msg = (
                    f"{self.path} was written by another solve: its {name} is {found}, not {wanted} ({was}); "
                    f"give that problem and solver, another file, or {_REMEDY}"
                )
                raise CheckpointMismatchError(msg, path=str(self.path), field=name, value=found)
        self._found = header, members

    def resume(self, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Fill the arrays that are given to `save`, int64 or float64, from the file; return False if there is none."""
        if self._found is None:
            return False
        header, members = self._found
        self._found = None
        if header["arrays"] != _layout(arrays):
            raise self.corrupt("arrays", "they are not those that the solver keeps")
        at = {"ints": 0, "floats": 0}
        for name, array in arrays.items():
            store = _store(array)
            part = members[store][at[store] : at[store] + array.size]
            at[store] += array.size
            if len(part) != array.size or np.isnan(part).any():
                raise self.corrupt(name, "numbers are missing, or are none")
            array[...] = part.reshape(array.shape)
        self.resumed = True
        return True

    def corrupt(self, field: str, what: str) -> CorruptFileError:
        """Return the error about a part of the file."""
        return self._file().corrupt(field, what)

    def _file(self) -> Archive:
        return Archive(str(self.path), _DTYPES, _REMEDY)

    # --- writing -----------------------------------------------------------

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._last >= self.every

    def save(self, arrays: Mapping[str, NDArray[Any]], iterations: int) -> None:
        """Write the arrays of a solver, in place of what was written before."""
        header = {"format": FORMAT, "version": VERSION, "key": self._key, "iterations": iterations}
        members: dict[str, NDArray[Any]] = {"header": text_member({**header, "arrays": _layout(arrays)})}
        for store, dtype in (("ints", np.int64), ("floats", np.float64)):
            parts = [array.ravel() for array in arrays.values() if _store(array) == store]
            members[store] = np.concatenate([np.zeros(0, dtype=dtype), *parts])
        write_archive(self.path, members)
        self._last = time.monotonic()

    def forget(self) -> None:
        """Delete the file, if there is one: it has served its purpose, or has turned out to be wrong."""
        self.path.unlink(missing_ok=True)
        self._found = None
        self.resumed = False


def _store(array: NDArray[Any]) -> str:
    return {np.dtype(np.int64): "ints", np.dtype(np.float64): "floats"}[array.dtype]


def _layout(arrays: Mapping[str, NDArray[Any]]) -> list[list[Any]]:
    return [[name, _store(array), list(array.shape)] for name, array in arrays.items()]


def _header(file: Archive, members: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    with file.part("header"):
        header = json.loads(members["header"].tobytes())
        if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (FORMAT, VERSION):
            raise file.corrupt("header", f"it is not {FORMAT} version {VERSION}")
        for name, kind in _ENTRIES.items():
            if type(header.get(name)) is not kind:
                raise file.corrupt(name, f"{header.get(name)!r}")
    return header


# --- the lock ------------------------------------------------------------------


class _Lock:
    """A file that exists while a process works on a checkpoint, and names it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mine: str | None = None

    def take(self) -> None:
        who = {"pid": os.getpid(), "host": platform.node(), "started": datetime.now(UTC).isoformat()}
        mine = json.dumps(who | {"born": _born(os.getpid()), "token": os.urandom(8).hex()})
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}-{os.urandom(4).hex()}")
        # With "x", a file that another user has put there, or a link to elsewhere, is not written to.
        with fresh.open("x", encoding="ascii") as file:
            file.write(mine)
        # Before it can be read: other threads ask whether this process still holds it.
        _HELD.add(mine)
        try:
            try:
                # The name appears together with the content, and only if it is free.
                os.link(fresh, self.path)
            except FileExistsError:
                self._take_over(fresh)
        except BaseException:
            _HELD.discard(mine)
            raise
        finally:
            fresh.unlink(missing_ok=True)
        self.mine = mine

    def _take_over(self, fresh: Path) -> None:
        """Replace the lock of a process that no longer exists."""
        with contextlib.ExitStack() as stack:
            try:
                there = stack.enter_context(self.path.open("rb"))
            except FileNotFoundError:
                raise self._held({}) from None  # it was given back just now
            text = there.read(4096).decode("ascii", "replace")
            holder = _holder(text)
            if text in _HELD or _alive(holder):
                raise self._held(holder)
            # Of several that want to take over, one may: the one that holds the file which still has the name.
            import fcntl

            try:
                fcntl.flock(there, fcntl.LOCK_EX | fcntl.LOCK_NB)
                same = self.path.stat().st_ino == os.fstat(there.fileno()).st_ino
            except OSError:
                same = False
            if not same:
                raise self._held(holder)
            fresh.replace(self.path)

    def _held(self, holder: dict[str, Any]) -> CheckpointLockedError:
        who = ", ".join(f"{name} {holder[name]}" for name in ("pid", "host", "started") if name in holder)
        msg = (
            f"another solve uses this checkpoint ({who or 'it does not say who'}); wait for it, give another "
            f"file, or delete {self.path} if you are sure that it is over"
        )
        return CheckpointLockedError(msg, holder=holder)

    def release(self) -> None:
        if self.mine is not None:
            with contextlib.suppress(OSError):
                if self.path.read_text(encoding="ascii") == self.mine:
                    self.path.unlink()
            _HELD.discard(self.mine)
            self.mine = None


def _holder(text: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        holder = json.loads(text)
        if isinstance(holder, dict) and type(holder.get("pid")) is int and holder["pid"] > 0:
            return holder
    return {}


def _alive(holder: dict[str, Any]) -> bool:
    """Whether the process that holds a lock may still exist; only a dead one on this host is known to be dead."""
    if not holder or holder.get("host") != platform.node() or os.name != "posix":
        return True
    pid = holder["pid"]
    if pid == os.getpid():
        return False  # an earlier process of that number: the locks of this one are known
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    # Numbers of processes are used again.
    return holder.get("born") == _born(pid)


def _born(pid: int) -> str | None:
    """When a process began, in the units of the system; None where that is unknown, or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        state, *fields = text.rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else fields[18]
