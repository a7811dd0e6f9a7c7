"""Text files of models: read line by line, with the place of every fault, and written at once or not at all."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from mdpdice.archives import replaced
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.networks.network import Ints, Network

Number: TypeAlias = Fraction | float
PathLike: TypeAlias = str | os.PathLike[str]
Labels: TypeAlias = Mapping[str, Iterable[Hashable]] | None
"""The states of every label."""

MAX_BYTES = 4 << 30
"""Largest text that is read."""

MAX_LINE = 1 << 24
"""Longest line; a file without line breaks would otherwise be read as a whole."""

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d{1,4000}(?:\.\d{0,4000})?|\.\d{1,4000})(?:[eE](?P<exponent>[+-]?\d{1,4}))?(?:/(?P<under>\d{1,4000}))?"
)
_EXPONENT = 400
_REMEMBERED = 100_000


class Reader:
    """A text file being read; it knows its name and its line for the errors.

    With `exact`, decimals are the rationals that they spell, else floats; lines that begin with `comment` say nothing.
    A file larger than `MAX_BYTES` is a `CorruptFileError`, as is everything else that is wrong.
    """

    def __init__(self, path: PathLike, *, exact: bool = False, comment: str = "#") -> None:
        self.path = os.fspath(path)
        self.exact = exact
        self.comment = comment
        self.line = 0
        self.notes: list[str] = []
        # Few numbers occur often, and fractions are slow to make and to compare.
        self.number = functools.lru_cache(maxsize=_REMEMBERED)(self._number)
        self.probability = functools.lru_cache(maxsize=_REMEMBERED)(self._probability)
        self.size = Path(path).stat().st_size
        if self.size > MAX_BYTES:
            raise self.corrupt("size", f"it has {self.size:,} bytes, more than {MAX_BYTES:,}", line=None)

    def corrupt(self, field: str, what: str, line: int | None = -1) -> CorruptFileError:
        """Return the error about a field, in the line at hand if no other is given."""
        at = self.line if line == -1 else line
        where = self.path if at is None else f"{self.path}, line {at}"
        msg = f"{where} ({field}): {what}; correct the file, or write it again"
        return CorruptFileError(msg, path=self.path, field=field, line=at)

    def lines(self) -> Iterator[str]:
        """Lines without the space around them; those that are empty or comments are left out."""
        with Path(self.path).open("rb") as file:
            while raw := file.readline(MAX_LINE):
                self.line += 1
                if len(raw) >= MAX_LINE:
                    raise self.corrupt("line", f"it is longer than {MAX_LINE:,} bytes")
                try:
                    text = raw.decode("utf-8").strip()
                except UnicodeDecodeError as error:
                    raise self.corrupt("text", "it is not UTF-8") from error
                if text and not text.startswith(self.comment):
                    yield text

    def natural(self, text: str, field: str, below: int | None = None) -> int:
        """Return a number 0, 1, 2, ..., less than a limit."""
        if not re.fullmatch(r"\d{1,18}", text):
            raise self.corrupt(field, f"{text[:40]!r} is not a number 0, 1, 2, ...")
        value = int(text)
        if below is not None and value >= below:
            raise self.corrupt(field, f"{value} is not below {below}")
        return value

    def count(self, text: str, field: str) -> int:
        """Return a number of things that each take at least a byte of the file."""
        value = self.natural(text, field)
        # Nothing is allocated for what the file cannot hold.
        if value > self.size:
            raise self.corrupt(field, f"it announces {value:,}, but the file has {self.size:,} bytes")
        return value

    def _number(self, text: str, field: str) -> Number:
        """Return a decimal or a fraction ``p/q``, which is always exact."""
        if (match := _NUMBER.fullmatch(text)) is None:
            raise self.corrupt(field, f"{text[:40]!r} is not a finite number")
        exponent, under = match["exponent"], match["under"]
        if exponent is not None and abs(int(exponent)) > _EXPONENT:
            raise self.corrupt(field, f"{text[:40]!r} has an exponent beyond {_EXPONENT}")
        if under is None and not self.exact:
            value = float(text)
            if math.isinf(value):
                raise self.corrupt(field, f"{text[:40]!r} is larger than every float")
            return value
        if under is not None and not int(under):
            raise self.corrupt(field, f"{text[:40]!r} divides by zero")
        numerator = Fraction(text.partition("/")[0])
        return numerator if under is None else numerator / int(under)

    def _probability(self, text: str) -> Number:
        """Return a number from 0 to 1."""
        found = self.number(text, "probability")
        if not 0 <= found <= 1 + 1e-9:
            raise self.corrupt("probability", f"{text} is outside [0, 1]")
        return found

    def start(self, marked: Sequence[int], start: Any) -> Any:
        """Where play starts: as was asked, or in the one state of the file that is initial."""
        if start is not None:
            return start
        if not marked:
            raise self.corrupt("init", "no state has the label init; one must have it", None)
        if len(marked) > 1:
            named = ", ".join(map(str, marked[:9])) + ", ..." * (len(marked) > 9)
            one, two = marked[:2]
            how = f"start={one} or with chances start={{{one}: '1/2', {two}: '1/2'}} (--start {one}:1/2,{two}:1/2)"
            msg = f"{self.path} has {len(marked)} initial states: {named}; say where play starts, {how}"
            raise UnsupportedError(msg, value=tuple(marked))
        return marked[0]

    def rows(
        self, branch_ptr: Ints, probability: Sequence[Number], line_of: Sequence[int | None], *, tolerance: float
    ) -> list[Number]:
        """Probabilities whose rows sum to 1, scaled where they were off by no more than `tolerance`.

        A row that is empty or off by more is a `CorruptFileError`, with its line from `line_of`.
        """
        found, ends, worst = list(probability), branch_ptr.tolist(), 0.0
        for choice, line in enumerate(line_of):
            row = found[ends[choice] : ends[choice + 1]]
            if len(row) == 1 and row[0] == 1:
                continue
            total = math.fsum(row)
            off = abs(total - 1)
            if not row or not off <= tolerance:
                what = f"the probabilities of this choice sum to {total:.12g}, not 1; a file of few digits can be read"
                raise self.corrupt("probability", f"{what} with a larger tolerance=", line)
            # What is off by rounding alone is left to `Network.from_choices`, which records it.
            exact = all(not isinstance(p, float) for p in row)
            whole = sum((Fraction(p) for p in row), Fraction(0)) if exact or off > 1e-9 else Fraction(1)
            if whole != 1:
                found[ends[choice] : ends[choice + 1]] = [Fraction(p) / whole for p in row]
                worst = max(worst, abs(float(whole - 1)))
        if worst:
            self.notes.append(f"{self.path}: probabilities are scaled to sum to 1; the worst row was {worst:.3g} off")
        return found


@functools.lru_cache(maxsize=_REMEMBERED)
def number_text(value: Number, *, exact: bool) -> str:
    """Return a number for a file: what equals it if `exact`, else the shortest decimal that gives the same float.

    An `UnsupportedError` says that it is too long, or without `exact` too near to 0 for a float that is not 0.
    """
    number = Fraction(value)
    try:
        if number.denominator == 1 and abs(number.numerator) < 10**15:
            return str(number.numerator)
        near = float(number)
        if Fraction(decimal := repr(near)) == number:
            return decimal
        if not exact and abs(number) < sys.float_info.min and Fraction(near) != number:
            raise UnsupportedError(f"{decimal} stands for a number near 0 that no float holds; exact=True writes it")
        return f"{number.numerator}/{number.denominator}" if exact else decimal
    except (ValueError, OverflowError) as error:
        # Python writes no integer of more than 4300 digits.
        raise UnsupportedError("a number is too long or too large for a float; .npz (Network.save) holds it") from error


def require_network(network: Any) -> None:
    """Reject what is not a network before it is written, and say what to do."""
    if not isinstance(network, Network):
        raise GameError(f"{network!r} is not a Network; explore(game) or replicate(lattice) makes one", value=network)


def require_one_player(network: Network, name: str) -> None:
    """Refuse a network of two players, which the format of that name does not hold."""
    if network.two_player:
        how = "the PRISM language (write_prism) holds games, and Network.save everything"
        raise UnsupportedError(f"{name} knows one player, and here are two; {how}")


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write a text file, which is replaced at once or not at all."""
    with replaced(Path(path)) as file:
        for line in lines:
            # A name may hold half of a surrogate pair, which is not a character.
            file.write(f"{line}\n".encode(errors="backslashreplace"))
