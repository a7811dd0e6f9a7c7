"""Sealed archives of arrays: how networks, policies and solutions are kept in files.

A file is an ``.npz`` archive without compression, so `numpy.load` reads it too.  The comment at its end is the SHA-256
of everything before it, so any flipped bit and any truncation is found before a byte is interpreted.  Whoever wrote a
file on purpose can make the hash right, so nothing in it is trusted either: no pickle, nothing is decompressed, every
length is compared with the size of the file before memory is taken.  What the numbers mean is for the reader to check.

A file is replaced at once or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import attrs
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mdpdice.errors import CorruptFileError, ProblemMismatchError

MAX_BYTES = 64 << 30
"""Largest file that is read."""

_SEAL = b"mdpdice sha256 "
_HEX = 64
_CHUNK = 1 << 20


# --- writing -----------------------------------------------------------------


def write_archive(path: str | os.PathLike[str], members: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to a sealed file, which is replaced at once or not at all."""
    with replaced(Path(path)) as file:
        seal(file, members)


def seal(file: IO[bytes], members: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an empty file that is open for reading and writing, and seal it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _SEAL + b"0" * _HEX
        for name, array in members.items():
            # A fixed date: the same arrays give the same file.
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            # Arrays in columns, as fancy indexing makes them, are not read again.
            rows = np.ascontiguousarray(array)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, rows, version=(1, 0), allow_pickle=False)
    found = _hash(file, file.seek(0, os.SEEK_END) - _HEX)
    file.seek(-_HEX, os.SEEK_END)
    file.write(found)


def text_member(data: Any) -> NDArray[np.uint8]:
    """Return the bytes of a JSON text, as a member of an archive."""
    return np.frombuffer(json.dumps(data, separators=(",", ":")).encode("ascii"), dtype=np.uint8)


def exact_text(number: Any) -> str:
    """Return a rational number as text: hexadecimal, which takes linear time and has no limit of length."""
    numerator, denominator = Fraction(number).as_integer_ratio()
    return f"{numerator:x}" if denominator == 1 else f"{numerator:x}/{denominator:x}"


_HEX_NUMBER = re.compile(r"-?[0-9a-f]+(/[0-9a-f]+)?")


def rational(text: str) -> Fraction:
    """Return the number of an `exact_text`; ValueError if it is none."""
    if not _HEX_NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a hexadecimal fraction")
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator, 16), int(denominator or "1", 16))


def _hash(file: IO[bytes], length: int) -> bytes:
    hasher = hashlib.sha256()
    file.seek(0)
    while length > 0 and (chunk := file.read(min(_CHUNK, length))):
        hasher.update(chunk)
        length -= len(chunk)
    return hasher.hexdigest().encode("ascii")


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write to, which replaces `path` once all of it is on the disk."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    temporary, file = _fresh(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    # The new name is safe on the disk only when the folder is.
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _fresh(path: Path) -> tuple[Path, IO[bytes]]:
    """Return a new file beside `path`."""
    attempts = itertools.count()
    while True:
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(attempts)}.tmp")
        try:
            return temporary, temporary.open("x+b")
        except FileExistsError:  # of another thread, or of a process that died
            continue
        except OSError as error:
            # The name that was asked for says more than the one beside it.
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error


# --- reading -----------------------------------------------------------------


class Question(NamedTuple):
    """What an answer in a file answers."""

    objective: str  # as it writes itself
    sense: str
    horizon: int | None = None

    def __str__(self) -> str:
        text = self.objective if self.sense == "max" else f"{self.objective} with sense {self.sense!r}"
        return text if self.horizon is None else f"{text} with horizon {self.horizon}"


@attrs.define(slots=False)
class Archive:
    """A file being read; it knows its name for the errors."""

    path: str
    dtypes: Mapping[str, tuple[str, ...]]  # the members that it must have, and the types that each may have
    remedy: str  # what to do about a damaged file
    dimensions: int = attrs.field(default=1, kw_only=True)  # most that an array has

    def corrupt(self, field: str, what: str) -> CorruptFileError:
        """Return the error about a part of the file."""
        msg = f"{self.path} cannot be used ({field}): {what}; {self.remedy}"
        return CorruptFileError(msg, path=self.path, field=field)

    def mismatch(self, field: str, saved: Question, asked: Question, call: str) -> ProblemMismatchError:
        """Return the error about a sound file that answers another question; `call` says how to open it."""
        if str(saved) == str(asked):
            why = f"it answers another game than this one, or other parameters of it (about {saved}, as was asked)"
        else:
            why = f"it answers a question about {saved}, and was asked about {asked}; give what was solved: {call}"
        msg = f"{self.path} cannot be used ({field}): {why}"
        return ProblemMismatchError(msg, path=self.path, field=field, saved=str(saved), asked=str(asked))

    @contextlib.contextmanager
    def part(self, field: str) -> Iterator[None]:
        """Whatever goes wrong while a part is read is an error of the file."""
        try:
            yield
        except (CorruptFileError, MemoryError):
            raise
        except Exception as error:
            raise self.corrupt(field, f"{type(error).__name__}: {error}") from error

    def read(self, opened: IO[bytes] | None = None) -> dict[str, NDArray[Any]]:
        """Return the members of the file, which may be open already, after the seal was found to be right."""
        with Path(self.path).open("rb") if opened is None else contextlib.nullcontext(opened) as file:
            size = file.seek(0, os.SEEK_END)
            if size > MAX_BYTES:
                raise self.corrupt("size", f"it has {size:,} bytes, more than {MAX_BYTES:,}")
            file.seek(max(0, size - _HEX - len(_SEAL)))
            end = file.read()
            if not end.startswith(_SEAL) or len(end) != len(_SEAL) + _HEX:
                raise self.corrupt("seal", "it does not end as such a file does; it was cut off, or is another kind")
            if _hash(file, size - _HEX) != end[-_HEX:]:
                raise self.corrupt("seal", "its SHA-256 is not the one that it states: some of it was changed")
            file.seek(0)
            return self._members(file)

    def _members(self, file: IO[bytes]) -> dict[str, NDArray[Any]]:
        with self.part("archive"):
            archive = zipfile.ZipFile(file)
        with archive:
            infos = archive.infolist()
            if sorted(info.filename for info in infos) != sorted(f"{name}.npy" for name in self.dtypes):
                raise self.corrupt("archive", f"its members are not {', '.join(self.dtypes)}")
            found = {}
            for info in infos:
                # Nothing is compressed, so no member is longer than the file.
                if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                    raise self.corrupt("archive", "a member is compressed")
                name = info.filename.removesuffix(".npy")
                with self.part(name), archive.open(info) as member:
                    found[name] = self._array(member, name, info.file_size)
            return found

    def _array(self, member: IO[bytes], name: str, size: int) -> NDArray[Any]:
        if npy.read_magic(member) != (1, 0):
            raise self.corrupt(name, "unknown version of the array format")
        shape, fortran, dtype = npy.read_array_header_1_0(member)
        rest = size - member.tell()
        if dtype.str not in self.dtypes[name] or fortran or not 1 <= len(shape) <= self.dimensions:
            raise self.corrupt(name, f"it holds {dtype.str} of shape {shape}")
        # Python's own integers do not overflow, whatever the header announces.
        count = math.prod(shape)
        if count * dtype.itemsize != rest:
            raise self.corrupt(name, f"it announces {count} numbers and holds {rest} bytes")
        array = np.frombuffer(member.read(rest), dtype=dtype)
        if len(array) != count:
            raise self.corrupt(name, "it is shorter than it announces")
        return array.reshape(shape)


def read_header(
    file: Archive,
    members: Mapping[str, NDArray[Any]],
    form: str,
    version: int,
    entries: Mapping[str, Any],
    older: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the header of an archive, with entries of the right types; `older` files lack some."""
    with file.part("header"):
        header = json.loads(members["header"].tobytes())
        if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (form, version):
            raise file.corrupt("header", f"it is not {form} version {version}")
        header = {**older, **header}
        if set(header) != set(entries):
            raise file.corrupt("header", f"its entries are not {', '.join(sorted(entries))}")
    for key, kinds in entries.items():
        if type(header[key]) not in (kinds if isinstance(kinds, tuple) else (kinds,)):
            raise file.corrupt(key, f"{header[key]!r}")
    return header
