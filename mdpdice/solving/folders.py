"""Where checkpoints are kept: a folder of this machine, or by its URL one that fsspec knows.

Files appear under their names complete or not at all.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import attrs

from mdpdice.archives import replaced
from mdpdice.errors import CheckpointLockedError, CorruptFileError, MissingPackageError

LOCK = "lock"


def open_folder(where: str) -> LocalFolder | RemoteFolder:
    """Return the folder of a path or URL, made if it is not there."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.]+):", where)
    if scheme is None or scheme[1] == "file":
        return LocalFolder(Path(where if scheme is None else re.sub("^file:(//(localhost)?(?=/))?", "", where)))
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        msg = f"a checkpoint at {where} needs fsspec: pip install 'mdpdice[remote]'"
        raise MissingPackageError(msg, package="fsspec") from error
    return RemoteFolder(where, *url_to_fs(where))


class LocalFolder:
    """A folder of this machine; its lock is one of the system, so that it ends with the process that holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[bytes] | None = None

    def place(self, name: str) -> str:
        """Return the file as users name it."""
        return str(self.path / name)

    def names(self) -> list[str]:
        """Return the names of its files."""
        return [path.name for path in self.path.iterdir()]

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        return (self.path / name).open("rb")

    def write(self, name: str, fill: Callable[[IO[bytes]], object]) -> None:
        """Write a file."""
        with replaced(self.path / name) as file:
            fill(file)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def lock(self, who: bytes) -> None:
        """Lock the folder, or raise an error that names the holder."""
        if self.path.is_file():
            msg = f"{self.path} is a file, as earlier versions wrote; a checkpoint is a folder: give another name"
            raise CorruptFileError(msg, path=str(self.path), field="folder")
        path = self.path / LOCK
        while True:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = path.open("a+b")
            try:
                with contextlib.suppress(ImportError):  # a system without such locks
                    import fcntl

                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                with lock:
                    lock.seek(0)
                    raise _held(lock.read(4096), self.place(LOCK)) from None
            # Whoever gave it back just now has deleted it.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(lock.fileno()).st_ino:
                    break
            lock.close()
        lock.truncate(0)
        lock.write(who)
        lock.flush()
        self._lock = lock

    def unlock(self) -> None:
        """Let others in; what holds nothing is not left behind."""
        assert self._lock is not None
        self.delete(LOCK)
        with contextlib.suppress(OSError):
            self.path.rmdir()
        self._lock.close()


@attrs.frozen
class RemoteFolder:
    """A folder of a file system of fsspec; its lock is a file, which is taken over from a dead process of this host."""

    url: str
    files: Any
    path: str

    def place(self, name: str) -> str:
        """Return the file as users name it."""
        return f"{self.url.rstrip('/')}/{name}"

    def names(self) -> list[str]:
        """Return the names of its files."""
        return [str(path).rpartition("/")[2] for path in self.files.ls(self.path, detail=False, refresh=True)]

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        return io.BytesIO(self.files.cat_file(f"{self.path}/{name}"))

    def write(self, name: str, fill: Callable[[IO[bytes]], object]) -> None:
        """Write a file."""
        file = io.BytesIO()
        fill(file)
        self.files.pipe_file(f"{self.path}/{name}", file.getvalue())

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.files.rm_file(f"{self.path}/{name}")

    def lock(self, who: bytes) -> None:
        """Lock the folder, or raise an error that names the holder."""
        self.files.makedirs(self.path, exist_ok=True)
        lock = f"{self.path}/{LOCK}"
        try:
            self.files.pipe_file(lock, who, mode="create")
        except FileExistsError:
            there = self.files.cat_file(lock)
            error = _held(there, self.place(LOCK))
            if error.holder.get("host") != platform.node() or _alive(error.holder.get("pid")):
                raise error from None
            self.files.pipe_file(lock, who)

    def unlock(self) -> None:
        """Let others in."""
        self.delete(LOCK)


def _held(text: bytes, place: str) -> CheckpointLockedError:
    holder: dict[str, Any] = {}
    with contextlib.suppress(ValueError, TypeError):
        holder = dict(json.loads(text))
    who = ", ".join(f"{name} {holder[name]}" for name in ("pid", "host", "started") if name in holder)
    msg = (
        f"another solve uses this checkpoint ({who or 'it does not say who'}); wait for it, give another folder, "
        f"or delete {place} if you are sure that it is over"
    )
    return CheckpointLockedError(msg, holder=holder)


def _alive(pid: Any) -> bool:
    """Whether a process of this host may still exist."""
    try:
        if os.name == "posix":
            os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except (OSError, TypeError, ValueError):
        pass
    return True
