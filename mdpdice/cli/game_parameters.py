"""Parameters of a game: attrs fields, given as ``-p key=value`` and described by ``--help``.

The text of a value is read by the annotation of its field where that says enough, else it is handed to the converter
of the field as it is.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NoReturn

import attrs
import click

from mdpdice.cli.catalogue import Found, blame
from mdpdice.errors import MdpDiceError
from mdpdice.modelling.asking import undecorated
from mdpdice.modelling.game import Game
from mdpdice.spelling import did_you_mean


class Reader(NamedTuple):
    """How the text of a value is read; `read` raises ValueError for a text that is not allowed.

    What may be written is in `allowed`, for help and errors, empty if only the game knows; or why nothing can
    be written in `unreadable`.
    """

    allowed: str
    read: Callable[[str], Any]
    unreadable: str = ""


class Parameter(NamedTuple):
    """A parameter of a game: name, meaning in a line, how its text is read, and default (``attrs.NOTHING``: none)."""

    key: str
    meaning: str
    reader: Reader
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is attrs.NOTHING

    def describe(self) -> str:
        """Meaning, allowed values and default, for ``--help``."""
        usual = "required" if self.required else f"default: {show(self.default)}"
        facts = filter(None, (self.reader.unreadable or self.reader.allowed, usual))
        return f"{self.meaning}  [{'; '.join(facts)}]".strip()


def parameters_of(game: Found) -> list[Parameter]:
    """Parameters of a game, in the order of its fields."""
    if not isinstance(game, type) or not attrs.has(game):
        return []
    try:
        hints = typing.get_type_hints(game)
    except Exception:  # noqa: BLE001 - an annotation that exists for type checkers only
        hints = {}
    meanings = _meanings(game)
    found = []
    for field in attrs.fields(game):
        if field.init:
            meaning = str(field.metadata.get("help", meanings.get(field.name, "")))
            reader = _field_reader(field, hints.get(field.name))
            found.append(Parameter(field.alias or field.name, meaning, reader, _default(field)))
    return found


def build_game(name: str, found: Found, pairs: Sequence[str]) -> tuple[Game[Any, Any], dict[str, Any]]:
    """Make a game with parameters given as ``key=value``, and the value of each as JSON data to give again."""
    known = {parameter.key: parameter for parameter in parameters_of(found)}
    texts = _split(name, found, known, pairs)
    values = {key: _read(known[key], text) for key, text in texts.items()}
    if lacking := [key for key, parameter in known.items() if parameter.required and key not in values]:
        wanted = " and ".join(f"-p {key}=..." for key in lacking)
        raise click.UsageError(f"{name} needs {wanted}; {_help(name)}")
    game = _call(name, found, texts, values) if isinstance(found, type) else found
    given = {
        key: _given(parameter, texts[key], values[key]) if key in texts else plain(parameter.default)
        for key, parameter in known.items()
    }
    return game, given


def _split(name: str, found: Found, known: Mapping[str, Parameter], pairs: Sequence[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            raise click.UsageError(f"-p {pair}: write key=value; {_keys(name, found, known)}")
        key = key.replace("-", "_")
        if not known:
            raise click.UsageError(_keys(name, found, known))
        if key not in known:
            hint = did_you_mean(key, known)
            raise click.UsageError(f"{name} has no parameter {key!r}; {hint}{_keys(name, found, known)}")
        if key in texts:
            raise click.UsageError(f"parameter {key!r} is given twice")
        texts[key] = text
    return texts


def _keys(name: str, found: Found, known: Mapping[str, Parameter]) -> str:
    if known:
        return f"its parameters are: {', '.join(known)}; {_help(name)}"
    return undecorated(found if isinstance(found, type) else type(found), name)


def _help(name: str) -> str:
    return f"'mdpdice solve {name} --help' describes them"


def _read(parameter: Parameter, text: str) -> Any:
    try:
        return parameter.reader.read(text)
    except ValueError as error:
        allowed = parameter.reader.allowed
        reason = f"expected {allowed}" if allowed else str(error)
        raise click.UsageError(f"-p {parameter.key}={text}: {reason}") from error


def _call(name: str, cls: type[Any], texts: Mapping[str, str], values: Mapping[str, Any]) -> Game[Any, Any]:
    written = " ".join(f"{key}={text}" for key, text in texts.items())
    try:
        return cls(**values)  # type: ignore[no-any-return]
    except (MdpDiceError, ValueError, TypeError) as error:
        # Validators of attrs put the message first and what it is about behind it.
        message = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
        where = f"-p {written}: " if written else f"{name}: "
        if any(message.startswith(f"{key}={text}: ") for key, text in texts.items()):
            where = "-p "
        raise click.UsageError(f"{where}{message}") from error
    except Exception as error:
        why = f"with {written or 'its defaults'}: {type(error).__name__}: {error}{blame(error)}"
        raise click.ClickException(f"{name} could not be made {why}") from error


# --- values as text ---------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a parameter's value as JSON data that says what could be written for it."""
    if value is None or isinstance(value, bool | int) or type(value) is str:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)


def show(value: Any) -> str:
    """Return a parameter's value as it could be written after ``-p key=``."""
    data = plain(value)
    if isinstance(data, list):
        return ",".join(show(item) for item in data)
    return str(data).lower() if data is None or isinstance(data, bool) else str(data)


def _given(parameter: Parameter, text: str, value: Any) -> Any:
    """Return what was given for a parameter, as JSON data."""
    if parameter.reader.allowed:
        return plain(value)
    return int(text) if text.isdecimal() else text


def _default(field: attrs.Attribute[Any]) -> Any:
    default: Any = field.default
    if not _computed(default):
        return default
    return "computed from the others" if default.takes_self else default.factory()


def _computed(default: Any) -> bool:
    return isinstance(default, attrs.Factory)  # type: ignore[arg-type]  # a class, though its stub is a function


# --- text as values ---------------------------------------------------------------------------


def _field_reader(field: attrs.Attribute[Any], kind: Any) -> Reader:
    if parse := field.metadata.get("parse"):
        return Reader("", parse)
    if kind is None or kind is Any:
        # Without an annotation the default shows what is meant.
        default = field.default
        known = not (default is None or default is attrs.NOTHING or _computed(default))
        kind = type(default) if known else None
    reader = None if kind is None else _reader(kind)
    if reader is not None:
        return reader
    if field.converter is not None or kind is None:
        return Reader("", str)
    name = str(getattr(kind, "__name__", kind))
    article = "an" if name[0] in "AEIOU" else "a"
    why = f"{article} {name} cannot be written here; give the field a converter that takes text"

    def refuse(_: str) -> NoReturn:
        raise ValueError(why)

    return Reader("", refuse, why)


def _reader(kind: Any) -> Reader | None:
    """How a value of a type is read, or None if its text is not for us to read."""
    if kind in _READERS:
        return _READERS[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _choice({show(value): value for value in inner})
    if origin in (typing.Union, types.UnionType):
        return _union(inner)
    if origin is tuple:
        return _tuple(inner)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _choice({member.name: member for member in kind})
    return _reader(kind.__supertype__) if isinstance(kind, typing.NewType) else None


def _number(text: str) -> float:
    number = float(_fraction(text)) if "/" in text else float(text)
    if math.isnan(number):
        raise ValueError(text)
    return number


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError(text) from None


def _choice(values: Mapping[str, Any]) -> Reader:
    folded = {name.casefold(): value for name, value in values.items()}

    def read(text: str) -> Any:
        if text.casefold() not in folded:
            raise ValueError(text)
        return values.get(text, folded[text.casefold()])

    *others, last = values
    return Reader(f"{', '.join(others)} or {last}" if others else last, read)


def _readers(kinds: Sequence[Any]) -> list[Reader] | None:
    """Return the readers of all of these types; None where one has none."""
    found = [reader for kind in kinds if (reader := _reader(kind)) is not None]
    return found if len(found) == len(kinds) else None


def _union(kinds: Sequence[Any]) -> Reader | None:
    # A text is anything, and a float may be an int, so they are tried last.
    late = {float: 1, str: 2}
    if (known := _readers(sorted(kinds, key=lambda kind: late.get(kind, 0)))) is None:
        return None

    def read(text: str) -> Any:
        for reader in known:
            with contextlib.suppress(ValueError):
                return reader.read(text)
        raise ValueError(text)

    return Reader(" or ".join(reader.allowed for reader in known), read)


def _tuple(kinds: Sequence[Any]) -> Reader | None:
    many = len(kinds) == 2 and kinds[1] is Ellipsis
    if (known := _readers(kinds[:1] if many else kinds)) is None:
        return None

    def read(text: str) -> tuple[Any, ...]:
        parts = [part.strip() for part in text.split(",")] if text else []
        each = known * len(parts) if many else known
        if len(each) != len(parts):
            raise ValueError(text)
        return tuple(reader.read(part) for reader, part in zip(each, parts, strict=True))

    if many:
        return Reader(f"{known[0].allowed}, any number of them separated by commas", read)
    return Reader(", ".join(reader.allowed for reader in known), read)


_READERS: dict[Any, Reader] = {
    int: Reader("a whole number", int),
    float: Reader("a number", _number),
    Fraction: Reader("a number or fraction p/q", _fraction),
    str: Reader("a text", str),
    bool: _choice({"true": True, "false": False}),
    types.NoneType: _choice({"none": None}),
}


# --- meanings ---------------------------------------------------------------------------------


def _meanings(cls: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say about parameters, numpydoc style."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        doc = base.__dict__.get("__doc__")
        if isinstance(doc, str):
            found = _section(inspect.cleandoc(doc)) | found
    return found


def _section(doc: str) -> dict[str, str]:
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, flags=re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in match.group(1).splitlines() if match else ():
        if line[:1].strip():
            names = [name.strip().lstrip("*") for name in line.partition(":")[0].split(",")]
        else:
            words = re.sub("`+", "", line).strip()
            for name in names:
                found[name] = f"{found.get(name, '')} {words}".strip()
    return found
