"""Call a function of the user: an error says where it was raised, and the remedy where that is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from mdpdice.errors import GameError, MdpDiceError
from mdpdice.modelling.expressions import Expr


def ask(function: Callable[..., Any], *args: Any, what: str, state: Any = None, action: Any = None) -> Any:
    """Return what a function of the user gives; `what` it is, and where, is for the message of a `GameError`."""
    __tracebackhide__ = True
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - it goes on, with its place
        raise (wrong := placed(error, state, action, raised_error, what)) from wrong.__cause__


def placed(error: Exception, state: Any, action: Any, explain: Callable[..., MdpDiceError], *about: Any) -> Exception:
    """Return an error with the place where it happened; `explain` makes one of the library's of most others."""
    if isinstance(error, MemoryError):
        return error
    if not isinstance(error, MdpDiceError):
        cause, error = error, explain(error, *about)
        error.__cause__ = cause
    return error.at(state, action)


def ask_game(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Return what a function of a game or of its look gives; an error names it, and the state that stands first."""
    __tracebackhide__ = True
    what = f"{getattr(function, '__name__', 'the game')}()"
    return ask(partial(function, **named) if named else function, *args, what=what, state=args[0] if args else None)


def raised_error(error: Exception, what: str) -> GameError:
    """Return the error for a function of the user that raised, with what to write instead of an assignment."""
    msg = f"{what} raised {type(error).__name__}: {error}"
    if isinstance(error, attrs.exceptions.FrozenInstanceError | dataclasses.FrozenInstanceError):
        msg = _assigned(error, what) or msg
    return GameError(msg)


def _assigned(error: Exception, what: str) -> str:
    """Return what to write instead of an assignment to a frozen field; nothing if the traceback lacks it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    found = {} if trace is None else trace.tb_frame.f_locals
    if not {"self", "name", "value"} <= found.keys():
        return ""
    owner, name = found["self"], found["name"]
    if isinstance(getattr(owner, name, None), Expr):
        return f"{what} assigns to self.{name}; {assigned_counter(name, found['value'])}"
    if callable(getattr(owner, "node", None)):
        return f"{what} assigns to self.{name}, and a game stays as it was made; write go((points, left)), or a counter"
    return f"{what} assigns to {name!r} of {owner!r}, and states never change; go(attrs.evolve(state, {name}=...))"


def assigned_counter(name: str, value: Any) -> str:
    """Return what to write instead of an assignment to a counter."""
    update = f"set({value!r})"
    if isinstance(value, Expr) and value.op in ("+", "-") and len(value.args) == 2:
        counter, added = value.args
        if counter.op == "counter" and counter.args == (name,):
            update = f"add({added!r})" if value.op == "+" else f"add({-added!r})"
    return f"counters change along edges: write go(state, self.{name}.{update})"


def undecorated(game: type, name: str) -> str:
    """Return the message for parameters given to a game without any: its annotations need attrs."""
    declared = [one for one, kind in vars(game).get("__annotations__", {}).items() if "ClassVar" not in str(kind)]
    if "__attrs_attrs__" in vars(game) or not declared:
        return f"{name} has no parameters"
    return f"{name} has no parameters; decorate the class with @attrs.frozen, and {' and '.join(declared)} will be some"
