"""Checkpoints: what a long solve keeps in a folder while it runs, to go on from after a crash.

``manifest.json`` says what was solved: one entry per attempt (a lattice, then its network, then exact arithmetic),
with problem, solver and version.  What was done stands in sealed archives (`mdpdice.archives`) that are written once
and never changed, ``0-solved-000012.npz`` for attempt 0, series *solved*, steps from 12 on.  A step is a layer, a stage
or some components; steps that follow fast share a file.  A *state* is a step that takes the place of those before.
The header of a file says which attempt, series and steps it holds, and its seal is a SHA-256 of all of it.

The numbers are a place to start from and nothing more: whoever reads them checks what could lead out of arrays, and
what comes of them is certified like any answer.

While a solve uses a folder it holds a lock on the file ``lock`` there, which the system takes from the dead.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import platform
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdpdice.archives import Archive, read_header, seal, text_member
from mdpdice.errors import CheckpointMismatchError, CorruptFileError
from mdpdice.solving.folders import LOCK, LocalFolder, open_folder

FORMAT, VERSION = "mdpdice-checkpoint", 2
MANIFEST = "manifest.json"
GATHER = 0.2
"""Seconds within which steps are gathered in one file."""
_DTYPES = {"header": ("|u1",), "data": ("|u1",)}
_KEY = {"format": str, "version": int, "attempt": str, "series": str}
_ENTRIES = {**_KEY, "first": int, "iterations": int, "steps": list}
_STORED = {"<i8", "<i4", "<f8", "|b1", "|u1"}
_REMEDY = "delete it to have that done again"
_HALF = re.compile(r"\.(manifest\.json|\d+-[a-z]+-\d+\.npz)\..*\.tmp")

Arrays = Mapping[str, NDArray[Any]]


class Checkpoint:
    """A folder, or a URL that fsspec knows, locked while the ``with`` block lasts; `every` are seconds between states.

    `resumed` counts the steps that were read, by series, and after the block `kept` says whether there is something
    to go on from.  A CheckpointLockedError if another solve uses the folder.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 60.0) -> None:
        self.path = os.fspath(path)
        self.every = every
        self.resumed: dict[str, int] = {}
        self.kept = False
        self._folder = open_folder(self.path)
        self._attempts: list[dict[str, str]] = []
        self._at, self._new = -1, False
        self._count: dict[str, int] = {}
        self._held: dict[str, list[Arrays]] = {}
        self._last = time.monotonic()
        self._took = 0.0
        self._writing: Future[None] | None = None
        self._writer = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        who = {"pid": os.getpid(), "host": platform.node(), "started": datetime.now(UTC).isoformat()}
        self._folder.lock(json.dumps(who).encode())
        try:
            self._look_around()
        except BaseException:
            self._folder.unlock()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is still to be written, and give the lock back; the folder stays, unless nothing is in it."""
        try:
            self.flush()
            self._wait()
        finally:
            self._writer.shutdown()
            self.kept = any(name.endswith(".npz") for name in self._folder.names())
            self._folder.unlock()

    def _look_around(self) -> None:
        names = [name for name in self._folder.names() if name != LOCK]
        halves = [name for name in names if _HALF.fullmatch(name)]
        if MANIFEST in names:
            self._attempts = self._manifest()
        elif len(names) > len(halves):
            msg = f"{self.path} holds other files ({min(names)}) and is no checkpoint; give another folder"
            raise CorruptFileError(msg, path=self.path, field="folder")
        # Whoever was killed in the middle of a write has left half a file; nobody else writes here now.
        for name in halves:
            self._folder.delete(name)

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return an array of floats in a file without a name, so that memory need hold only what is read."""
        local, length = isinstance(self._folder, LocalFolder), 8 * math.prod(shape)
        with tempfile.TemporaryFile(dir=self._folder.path if local else None) as file:
            if hasattr(os, "posix_fallocate"):  # a disk that is full is an error here, not a crash in compiled code
                os.posix_fallocate(file.fileno(), 0, length)
            file.truncate(length)
            return np.frombuffer(mmap.mmap(file.fileno(), length)).reshape(shape)

    # --- what is solved ----------------------------------------------------------

    def open(self, key: Mapping[str, str], about: Mapping[str, str]) -> None:
        """Begin an attempt, which must be the one that an earlier solve made at this place; `about` is for people.

        Raises
        ------
        CheckpointMismatchError
            The folder belongs to another problem, solver or version.
        """
        self._at += 1
        self.resumed, self._count, self._last = {}, {}, time.monotonic()
        if self._at == len(self._attempts):
            self._attempts.append({**key, **about})
            self._new = True
        there = self._attempts[self._at]
        for name, wanted in key.items():
            if there.get(name) != wanted:
                was = "; ".join(f"{name} {text}" for name, text in there.items())
                msg = (
                    f"{self.path} was written by another solve: its {name} is {there.get(name)}, not {wanted} ({was}); "
                    "give that problem and solver, or another folder"
                )
                raise CheckpointMismatchError(msg, path=self.path, field=name, value=there.get(name))
        self._digest = hashlib.sha256(json.dumps(sorted(key.items())).encode()).hexdigest()

    def _manifest(self) -> list[dict[str, str]]:
        file = Archive(self._folder.place(MANIFEST), _DTYPES, "delete the folder to start again")
        with file.part("manifest"), self._folder.open(MANIFEST) as opened:
            told = json.loads(opened.read())
            if (told["format"], told["version"]) != (FORMAT, VERSION):
                raise file.corrupt("version", f"it is not {FORMAT} version {VERSION}")
            return [{str(name): str(text) for name, text in one.items()} for one in told["attempts"]]

    # --- reading -----------------------------------------------------------

    def steps(self, series: str) -> Iterator[Arrays]:
        """Iterate over what was kept of a series, in order, up to the first step that is missing.

        Raises
        ------
        CorruptFileError
            A file is damaged.
        CheckpointMismatchError
            It was written by another solve.
        """
        count = 0
        for first, name in self._files(series):
            # Behind a file that was deleted, what was written later may overlap the rest.
            if first == count:
                for step in self._read(name, series, first):
                    count += 1
                    self.resumed[series] = self._count[series] = count
                    yield step

    def state(self, series: str = "state") -> Arrays | None:
        """Return the last state that was kept, None if there is none."""
        for first, name in reversed(self._files(series)):
            (state,) = self._read(name, series, first)
            self.resumed[series] = 1
            return state
        return None

    def resume(self, arrays: Arrays) -> bool:
        """Fill the arrays that are given to `save`, int64 or float64, with the last state; False if none was kept."""
        found = self.state()
        if found is None:
            return False
        if [(name, a.dtype, a.shape) for name, a in found.items()] != [
            (n, a.dtype, a.shape) for n, a in arrays.items()
        ]:
            raise self.corrupt("arrays", "they are not those that the solver keeps")
        for name, array in arrays.items():
            if np.isnan(found[name]).any():
                raise self.corrupt(name, "numbers are missing, or are none")
            array[...] = found[name]
        return True

    def corrupt(self, field: str, what: str, series: str = "state") -> CorruptFileError:
        """Return the error about what was read last of a series."""
        return self.last(series).corrupt(field, what)

    def last(self, series: str) -> Archive:
        """Return the file that was read last of a series, for errors."""
        return self._archive((self._files(series) or [(0, "")])[-1][1])

    def _archive(self, name: str) -> Archive:
        return Archive(self._folder.place(name), _DTYPES, _REMEDY)

    def _files(self, series: str) -> list[tuple[int, str]]:
        head = f"{self._at}-{series}-"
        names = [name for name in self._folder.names() if name.startswith(head) and name.endswith(".npz")]
        return sorted((int(name[len(head) : -4]), name) for name in names if name[len(head) : -4].isdecimal())

    def _read(self, name: str, series: str, first: int) -> Iterator[Arrays]:
        file = self._archive(name)
        with self._folder.open(name) as opened:
            members = file.read(opened)
        header = read_header(file, members, FORMAT, VERSION, _ENTRIES)
        wanted = {"attempt": self._digest, "series": series, "first": first}
        for field, value in wanted.items():
            if header[field] != value:
                msg = (
                    f"{file.path} was written by another solve: its {field} is {header[field]}, not {value}; {_REMEDY}"
                )
                raise CheckpointMismatchError(msg, path=file.path, field=field, value=header[field])
        data, at = members["data"], 0
        for layout in header["steps"]:
            step = {}
            with file.part("steps"):
                for array, dtype, shape in layout:
                    length = math.prod(shape) * np.dtype(dtype).itemsize
                    if dtype not in _STORED or at + length > len(data):
                        raise file.corrupt(array, f"it holds {dtype} of shape {shape}")
                    step[array] = np.frombuffer(data[at : at + length].tobytes(), dtype).reshape(shape)
                    at += length
            yield step

    # --- writing -----------------------------------------------------------

    def due(self, seconds: float | None = None) -> bool:
        """Whether it is time for a state: after `every` seconds, or after `seconds` where that costs little."""
        wait = self.every if seconds is None else min(self.every, max(seconds, 20 * self._took))
        return time.monotonic() - self._last >= wait

    def add(self, series: str, arrays: Arrays) -> None:
        """Keep one more step, whose arrays do not change any more."""
        self._held.setdefault(series, []).append(arrays)
        free = self._writing is None or self._writing.done()
        if free and time.monotonic() - self._last >= min(self.every, GATHER):
            self._flush(series)

    def put(self, series: str, arrays: Arrays, iterations: int = 0) -> None:
        """Keep a state, in place of the one before."""
        self._held[series] = [arrays]
        self._wait()
        self._flush(series, [name for _, name in self._files(series)], iterations)

    def flush(self) -> None:
        """Write what was gathered: what comes next may take long."""
        for series in list(self._held):
            self._flush(series)

    def _flush(self, series: str, older: Iterable[str] = (), iterations: int = 0) -> None:
        steps = self._held.pop(series)
        self._wait()
        if self._new:
            told = {"format": FORMAT, "version": VERSION, "attempts": self._attempts}
            text = json.dumps(told, indent=1).encode()
            self._folder.write(MANIFEST, lambda file: file.write(text))
            self._new = False
        if series not in self._count:
            self._count[series] = max((first + 1 for first, _ in self._files(series)), default=0)
        first = self._count[series]
        self._count[series] += len(steps)
        header = {"format": FORMAT, "version": VERSION, "attempt": self._digest, "series": series, "first": first}
        arrays = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for step in steps for array in step.values()]
        layouts = [[(name, array.dtype.str, array.shape) for name, array in step.items()] for step in steps]
        member = text_member({**header, "iterations": iterations, "steps": layouts})
        members = {"header": member, "data": np.concatenate([np.zeros(0, dtype=np.uint8), *arrays])}
        self._last = time.monotonic()
        # The computation goes on meanwhile; one file at a time.
        name = f"{self._at}-{series}-{first:06d}.npz"
        self._writing = self._writer.submit(self._write, name, members, older)

    def _write(self, name: str, members: Arrays, older: Iterable[str]) -> None:
        began = time.monotonic()
        self._folder.write(name, lambda file: seal(file, members))
        for one in older:
            self._folder.delete(one)
        self._took = time.monotonic() - began

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def forget(self) -> None:
        """Delete what was kept of this attempt: it has turned out to be wrong."""
        self._held.clear()
        self._wait()
        for name in self._folder.names():
            if name.startswith(f"{self._at}-"):
                self._folder.delete(name)
        self.resumed, self._count = {}, {}


def values_digest(values: NDArray[np.float64]) -> str:
    """SHA-256 of values, to tell whether two solves gave the same bits."""
    hasher = hashlib.sha256(f"{values.shape}".encode())
    hasher.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()
