"""Asking a function of the user: what it raises is told with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mdpdice.errors import GameError, MdpDiceError

__all__ = ["ask"]


def ask(function: Callable[..., Any], *args: Any, what: str, state: Any = None, action: Any = None) -> Any:
    """Return what a function of the user gives.

    Parameters
    ----------
    function : callable
    *args : object
        What it is called with.
    what : str
        What it is, for the message: ``"the function of the policy"``.
    state, action : object, optional
        Where it is asked.

    Raises
    ------
    GameError
        It raised something else than an error of this library, which is passed on with its place.
    """
    try:
        return function(*args)
    except MdpDiceError as error:
        raise error.at(state, action) from error.__cause__
    except MemoryError:
        raise
    except Exception as error:
        msg = f"{what} raised {type(error).__name__}: {error}"
        raise GameError(msg, state=state, action=action) from error
