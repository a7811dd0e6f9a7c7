"""The processes that solve one lattice together: the ranks of an MPI communicator.

All of them go the same way through a solve, and share the work on every layer.  Those of one machine have the values in
common, in a file that is mapped and has no name (it goes with the last array on it; a window of MPI would have to be
freed by all at once); machines exchange the values of a layer once it is done.  Wherever processes wait for each other
they first agree whether anything went wrong: what one of them raises all do, so nobody waits for one that has left.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mdpdice import errors
from mdpdice.backend import Alone
from mdpdice.networks.network import Floats, Ints

SHARED = "/dev/shm"  # noqa: S108 - where Linux keeps memory that processes have in common
UNIT, FINEST, UNITS = 8192, 64, 32
"""Points are shared in units of at most `UNIT`; a large layer has `UNITS` or more, the pieces of a certificate."""


class Team(Alone):
    """The processes of a communicator of mpi4py, from the first to the last line of the ``with`` block.

    Meanwhile those of one machine keep to a part of its processors each.  `folder` is where common memory lies on disk.
    """

    def __init__(self, comm: Any, folder: str | None) -> None:
        from mpi4py import MPI  # whoever has a communicator has it

        self._comm = comm.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        self._node = self._comm.Split_type(MPI.COMM_TYPE_SHARED, self.rank)
        self.local = self._node.size
        self._leads = self._node.rank == 0
        self._leaders = self._comm.Split(0 if self._leads else MPI.UNDEFINED, self.rank)
        mine = np.array([self.rank])
        self._node.Bcast(mine)
        self._machine = np.unique(self._gathered(self._comm, mine), return_inverse=True)[1].reshape(-1)
        self._machines = int(self._machine.max()) + 1
        self.folder = folder
        self._owner = np.zeros(0, dtype=np.int16)
        self._over = False
        self._processors: set[int] = set()

    @staticmethod
    def _gathered(comm: Any, mine: NDArray[Any]) -> NDArray[Any]:
        found = np.empty((comm.size, *mine.shape), dtype=mine.dtype)
        comm.Allgather(np.ascontiguousarray(mine), found)
        return found

    def __enter__(self) -> Self:
        if hasattr(os, "sched_getaffinity"):
            self._processors = os.sched_getaffinity(0)
            one = np.array([hash(tuple(sorted(self._processors)))])
            same = np.flatnonzero(self._gathered(self._node, one) == one)
            there, at = sorted(self._processors), int((same < self._node.rank).sum())
            os.sched_setaffinity(0, there[at % len(there) :: max(1, len(same))])
        return self

    def __exit__(self, *error: object) -> None:
        """Raise what any process raises, and let go of the communicators."""
        if self._processors:
            os.sched_setaffinity(0, self._processors)
        try:
            if not self._over:
                self._agree(error[1] if isinstance(error[1], BaseException) else None)
        finally:
            for comm in (self._leaders, self._node, self._comm):
                if comm:
                    comm.Free()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Leave the block together."""
        mine: BaseException | None = None
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - it is raised again, in all processes
            mine = error
        self._agree(mine)

    def _agree(self, mine: BaseException | None) -> None:
        told = b"" if mine is None else json.dumps(_told(mine, self.rank)).encode()
        lengths = self._gathered(self._comm, np.array(len(told)))
        if not lengths.any():
            return
        self._over, first = True, int(np.flatnonzero(lengths)[0])
        text = self._sent(self._comm, told, first)
        if mine is not None and first == self.rank:
            raise mine
        raise _made(json.loads(text or b"{}")) from mine

    @staticmethod
    def _sent(comm: Any, own: bytes | None, sender: int = 0) -> bytes | None:
        """Return what one process sends to all."""
        length = np.array([-1 if own is None else len(own)])
        comm.Bcast(length, sender)
        if length[0] < 0:
            return None
        sent = np.empty(length[0], np.uint8) if own is None or comm.rank != sender else np.frombuffer(own, np.uint8)
        comm.Bcast(sent, sender)
        return sent.tobytes()

    def room(self, shape: tuple[int, ...], checkpoint: object) -> Floats:
        """Return an array of NaN that all processes of a machine have in common."""
        self._owner = np.full(shape[-1], -1, dtype=np.int16)
        return self._common(shape, np.nan)

    def marks(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return an array of False that all processes of a machine have in common."""
        count = math.prod(shape)
        return self._common((-(-count // 8),), 0.0).view(np.bool_)[:count].reshape(shape)

    def merge(self, marks: NDArray[np.bool_], points: Ints | slice) -> None:
        """Mark at some points what any process had marked there when all last met."""
        if self._machines > 1:
            with self.together():
                pass
            with self.together():
                if self._leads:
                    marks[:, points] = self._gathered(self._leaders, marks[:, points]).any(axis=0)

    def _common(self, shape: tuple[int, ...], fill: float) -> Floats:
        path = None
        with contextlib.ExitStack() as stack:
            with self.together():
                if self._leads:
                    folders = (self.folder or SHARED, tempfile.gettempdir())
                    folder = next(folder for folder in folders if Path(folder).is_dir())
                    file = stack.enter_context(tempfile.NamedTemporaryFile(dir=folder))
                    found = _mapped(file.fileno(), shape)
                    found.fill(fill)
                    path = os.fsencode(file.name)
            path = self._sent(self._node, path)
            with self.together():
                if not self._leads:
                    with Path(os.fsdecode(path or b"")).open("r+b") as opened:
                        found = _mapped(opened.fileno(), shape)
        return found

    def share(self, length: int, turn: int = 0) -> tuple[int, int, NDArray[np.int16]]:
        """Return which of some points this process takes, and who takes each of them; `turn` shifts who does."""
        unit = min(UNIT, max(8 * FINEST, -(-length // UNITS // FINEST) * FINEST))
        unit = unit if length >= 4 * self.size * unit else FINEST
        cuts = np.minimum(length, unit * (-(-length // unit) * np.arange(self.size + 1) // self.size))
        place = (self.rank - turn) % self.size
        owner = np.repeat((np.arange(self.size) + turn) % self.size, np.diff(cuts)).astype(np.int16)
        return int(cuts[place]), int(cuts[place + 1]), owner

    def exchange(self, values: Floats, points: Ints, owner: NDArray[np.int16]) -> None:
        """Give each other the values of a layer, and note who solved which point."""
        self._owner[points] = owner
        if self._machines == 1:
            return
        machine = self._machine[owner]
        with self.together():
            if self._leads:
                order = points[np.argsort(machine, kind="stable")]
                out = np.empty((len(points), len(values)))
                counts = len(values) * np.bincount(machine, minlength=self._machines)
                mine = points[machine == self._machine[self.rank]]
                self._leaders.Allgatherv(np.ascontiguousarray(values[:, mine].T), [out, counts])
                values[:, order] = out.T

    def handed(self, make: Callable[[], Mapping[str, NDArray[Any]] | None]) -> Mapping[str, NDArray[Any]] | None:
        """Return what `make` gives the first process."""
        packed = io.BytesIO()
        with self.together():
            found = make() if self.rank == 0 else None
            arrays: dict[str, Any] = {**(found or {})}
            np.savez(packed, **arrays)
        sent = self._sent(self._comm, None if found is None else packed.getvalue())
        return None if sent is None else dict(np.load(io.BytesIO(sent)))

    def takes(self, number: int, points: Ints) -> int:
        """Return in which turn this process verifies points: those that the next one solved, and a share of the rest.

        Two verify what several solved, so that nobody vouches for themselves alone.
        """
        owners = np.unique(self._owner[points])
        if len(owners) == 1 and owners[0] >= 0:
            return int((self.rank + 1 - owners[0]) % self.size == 0)
        turn = (self.rank - number) % self.size + 1
        return turn if turn <= min(2, len(owners)) else 0

    def joined(self, found: Floats) -> Floats:
        """Return the largest numbers that any process found."""
        with self.together():
            pass
        return np.asarray(self._gathered(self._comm, found).max(axis=0))


def _mapped(file: int, shape: tuple[int, ...]) -> Floats:
    length = 8 * math.prod(shape)
    if hasattr(os, "posix_fallocate"):  # a disk that is full is an error here, not a crash in compiled code
        os.posix_fallocate(file, 0, length)
    os.truncate(file, length)
    return np.frombuffer(mmap.mmap(file, length)).reshape(shape)


def _told(error: BaseException, rank: int) -> dict[str, Any]:
    """Return an error in words that another process understands."""
    if isinstance(error, errors.MdpDiceError):
        kept = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float)}
        return {"kind": type(error).__name__, **kept, "message": str(error)}
    if isinstance(error, KeyboardInterrupt):
        return {"kind": "SolveInterrupted", "message": "the solve was interrupted"}
    return {"kind": "MdpDiceError", "message": f"process {rank}: {type(error).__name__}: {error}"}


def _made(told: dict[str, Any]) -> errors.MdpDiceError:
    kind = getattr(errors, told.pop("kind"), errors.MdpDiceError)
    error: errors.MdpDiceError = kind.__new__(kind)
    vars(error).update({field.name: None for field in fields(kind)} | told)
    return error
