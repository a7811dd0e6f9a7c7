"""Files of other tools, as ``mdpdice export`` and ``import`` name and describe them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mdpdice.errors import DiscountRangeError, GameError, UnknownStateError, UnsupportedError

if TYPE_CHECKING:
    from mdpdice.formats.by_suffix import FileFormat


@contextlib.contextmanager
def named() -> Iterator[None]:
    """Report a name that does not exist as wrong usage."""
    try:
        yield
    except (DiscountRangeError, GameError, UnknownStateError, UnsupportedError) as error:
        raise click.UsageError(error.message) from error


def format_of(path: str, form: str | None = None, *, writing: bool = False) -> FileFormat:
    """Return the format of a file, by its name if there is one, else by the ending."""
    from mdpdice.formats import find_format

    with named():
        return find_format(path, form, writing=writing)
