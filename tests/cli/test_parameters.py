"""Parameters: how they are read, told and refused."""

from __future__ import annotations

import enum
import json
from fractions import Fraction
from typing import Any, ClassVar, Literal, NewType

import attrs
import click
import pytest

from mdpdice import Game, end
from mdpdice.cli.game_parameters import build_game, parameters_of, show
from mdpdice.errors import GameError


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Opaque:
    pass


def _even(value):
    if int(value) % 2:
        raise GameError(f"{value} is odd")
    return int(value)


Size = NewType("Size", int)


@attrs.frozen
class Base(Game[int, str]):
    """A base.

    Parameters
    ----------
    whole, real : numbers
        Two ``numbers`` of
        the base.

    See Also
    --------
    nothing
    """

    whole: int = 1
    real: float = 0.5

    def start(self):
        return 0

    def node(self, state):
        return end()


@attrs.frozen(kw_only=True)
class Everything(Base):
    """Of every kind.

    Parameters
    ----------
    flag
        A flag.
    """

    flag: bool = False
    exact: Fraction = Fraction(1, 3)
    text: str = "a b"
    maybe: int | None = None
    either: Literal["auto", 3] | float = "auto"
    colour: Colour = Colour.RED
    many: tuple[int, ...] = (1, 2)
    pair: tuple[int, str] = (1, "a")
    even: Opaque = attrs.field(default=4, converter=_even, metadata={"help": "An even number."})
    bare: Any = 7
    anything: Any = None
    size: Size = Size(3)
    opaque: Opaque = attrs.field(factory=lambda: "an opaque thing")
    halves: list[float] = attrs.field(default="1", metadata={"parse": lambda text: text.split("/")})
    small: int = attrs.field(default=1, validator=attrs.validators.lt(10))
    derived: int = attrs.field(default=attrs.Factory(lambda self: self.whole, takes_self=True))
    _private: int = 0
    hidden: int = attrs.field(default=0, init=False)
    needed: int


def build(*pairs):
    return build_game("everything", Everything, ["needed=1", *pairs])


@pytest.mark.parametrize(
    ("pair", "value", "data"),
    [
        ("whole=5", 5, 5),
        ("whole= -5", -5, -5),
        ("real=2", 2.0, 2.0),
        ("real=1/4", 0.25, 0.25),
        ("real=inf", float("inf"), "inf"),
        ("flag=true", True, True),
        ("flag=False", False, False),
        ("exact=2/3", Fraction(2, 3), "2/3"),
        ("text=x=y", "x=y", "x=y"),
        ("text=", "", ""),
        ("maybe=none", None, None),
        ("maybe=3", 3, 3),
        ("either=auto", "auto", "auto"),
        ("either=3", 3, 3),
        ("either=3.5", 3.5, 3.5),
        ("colour=blue", Colour.BLUE, "BLUE"),
        ("many=3,4, 5", (3, 4, 5), [3, 4, 5]),
        ("many=", (), []),
        ("pair=3,x", (3, "x"), [3, "x"]),
        ("even=8", 8, 8),
        ("bare=9", 9, 9),
        ("anything=9", "9", 9),
        ("anything=x", "x", "x"),
        ("size=4", 4, 4),
        ("halves=1/2", ["1", "2"], "1/2"),
        ("private=2", 2, 2),
    ],
)
def test_values(pair, value, data):
    game, given = build(pair)
    key = pair.partition("=")[0]
    found = getattr(game, f"_{key}" if key == "private" else key)
    assert found == value
    assert type(found) is type(value)
    assert given[key] == data
    json.dumps(given, allow_nan=False)


def test_dashes_may_stand_for_underscores():
    assert build_game("farkle", Everything, ["needed=2"])[1]["needed"] == 2
    with pytest.raises(click.UsageError, match="no parameter 'no_such'"):
        build("no-such=1")


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("whole=1.5", "-p whole=1.5: expected a whole number"),
        ("whole=", "a whole number"),
        ("real=nan", "a number"),
        ("real=1/0", "a number"),
        ("exact=1/0", "fraction"),
        ("flag=yes", "true or false"),
        ("maybe=x", "a whole number or none"),
        ("either=x", "auto or 3 or a number"),
        ("colour=green", "RED or BLUE"),
        ("many=1,x", "separated by commas"),
        ("pair=1", "a whole number, a text"),
        ("even=3", "-p needed=1 even=3: 3 is odd"),
        ("even=x", "invalid literal"),
        ("small=10", "'small' must be < 10"),
        ("opaque=1", "Opaque cannot be written here"),
        ("hidden=1", "no parameter 'hidden'"),
        ("whol=1", "did you mean 'whole'?"),
        ("whole", "write key=value"),
        ("needed=2", "'needed' is given twice"),
    ],
)
def test_wrong_values(pair, message):
    with pytest.raises(click.UsageError) as caught:
        build(pair)
    assert message in caught.value.format_message()
    assert "'%s'" not in caught.value.format_message()


def test_a_parameter_without_default_is_asked_for():
    with pytest.raises(click.UsageError, match="needs -p needed="):
        build_game("everything", Everything, [])


def test_meanings_and_defaults():
    told = {parameter.key: parameter.describe() for parameter in parameters_of(Everything)}
    assert told["whole"] == "Two numbers of the base.  [a whole number; default: 1]"
    assert told["real"] == "Two numbers of the base.  [a number; default: 0.5]"
    assert told["flag"] == "A flag.  [true or false; default: false]"
    assert told["even"] == "An even number.  [default: 4]"
    assert told["maybe"] == "[a whole number or none; default: none]"
    assert told["many"] == "[a whole number, any number of them separated by commas; default: 1,2]"
    assert told["colour"] == "[RED or BLUE; default: RED]"
    assert told["opaque"] == (
        "[an Opaque cannot be written here; give the field a converter that takes text; default: an opaque thing]"
    )
    assert "computed" in told["derived"]
    assert told["needed"] == "[a whole number; required]"
    assert "hidden" not in told


def test_fields_without_annotation_are_read_like_their_default():
    @attrs.frozen(kw_only=True)
    class Loose(Base):
        size = attrs.field(default=3)
        name = attrs.field()

    game, given = build_game("loose", Loose, ["name=x", "size=4"])
    assert (game.size, game.name) == (4, "x")
    assert given == {"whole": 1, "real": 0.5, "size": 4, "name": "x"}


def test_annotations_that_cannot_be_resolved_do_not_matter():
    @attrs.frozen
    class Odd(Base):
        count: NotDefinedAnywhere = 3  # noqa: F821

    assert parameters_of(Odd)[-1].reader.allowed == "a whole number"


def test_a_plain_class_has_no_parameters():
    class Plain(Game[int, str]):
        def start(self):
            return 0

        def node(self, state):
            return end()

    assert parameters_of(Plain) == []
    assert isinstance(build_game("plain", Plain, [])[0], Plain)
    with pytest.raises(click.UsageError, match="plain has no parameters$"):
        build_game("plain", Plain, ["x=1"])


def test_annotations_without_attrs_are_parameters_to_be():
    class Plain(Game[int, str]):
        sides: int = 6
        colour: str = "red"
        kind: ClassVar[str] = "die"

        def start(self):
            return 0

        def node(self, state):
            return end()

    with pytest.raises(click.UsageError, match="plain has no parameters; .*@attrs.frozen, and sides and colour will"):
        build_game("plain", Plain, ["sides=4"])


def test_a_plain_class_that_wants_arguments_is_refused():
    class Plain(Base):
        def __init__(self, size):
            """Take a size."""

    with pytest.raises(click.UsageError, match=r"plain: .*size"):
        build_game("plain", Plain, [])


def test_a_class_that_breaks_down_is_an_error_of_the_game():
    @attrs.frozen
    class Breaking(Base):
        def __attrs_post_init__(self):
            raise KeyError("oops")

    with pytest.raises(click.ClickException, match=r"KeyError: 'oops'.*line") as caught:
        build_game("breaking", Breaking, [])
    assert caught.value.exit_code == 1


def test_every_text_shown_reads_back():
    game, _ = build()
    for parameter in parameters_of(Everything):
        if parameter.reader.allowed and not parameter.required and parameter.key not in ("derived", "private"):
            assert parameter.reader.read(show(parameter.default)) == getattr(game, parameter.key)


def test_farkle(run):
    for wrong, message in (
        ("rules=house", "kcd, patch"),
        ("dice=7", "1 to 6"),
        ("dice=No such die", "nearest"),
        ("cap=-5", "Error: -p cap=-5: write a number of points from 1 to 1,000,000"),
        ("cap=many", "a whole number or none"),
        ("at_cap=explode", "stop or clip"),
        ("hot_dice=maybe", "true or false"),
        ("defects=all", "none or public-solver"),
        ("colour=red", "rules, dice, cap, at_cap, hot_dice, defects"),
    ):
        result = run("solve", "farkle", "-p", wrong)
        assert result.exit_code == 2, wrong
        assert message in result.output
