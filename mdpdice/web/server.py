"""The page over HTTP: files, tables and decisions, for people and programs on this machine (``docs/server.md``).

Nothing that a client sends is opened as a file, evaluated or imported: games are those that the server began with.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import click
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdpdice.errors import MdpDiceError
from mdpdice.web.tables import Illegal, Table
from mdpdice.web.worker import Work, Working

if TYPE_CHECKING:
    from mdpdice.cli.served import Hall

__all__ = ["application"]

STATIC = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_BODY = 16_384
MOST_BRACKETS = 100
MOST_TABLES = 200
IDLE = 3600.0
"""Seconds after which a table that nobody touches may give way to a new one."""
PAUSE = 0.2
"""Seconds between two looks at some work."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def application(hall: Hall, host: str = "127.0.0.1") -> ASGIApp:
    """Return the server as an ASGI application.

    Parameters
    ----------
    hall : Hall
        The games.
    host : str
        Where it listens: on a loopback address it answers to loopback names only, else to that name and to addresses.
    """
    return _Guard(_Server(hall).app, host)


class _Guard:
    """Refuses what was sent to another host, or by a page of another one, and sends strict headers with everything."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host

    def _known(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.strip("[]").lower()
        if name in LOOPBACK or name == self.host.lower():
            return True
        if self.host in LOOPBACK:
            return False
        with contextlib.suppress(
            ValueError
        ):  # an address is what was dialled: no other page has a name for it
            return bool(ipaddress.ip_address(name))
        return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = {key.lower(): value.decode("latin-1") for key, value in scope["headers"]}
        host, origin = sent.get(b"host", ""), sent.get(b"origin")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = None
        if not self._known(host):
            refused = _words(421, f"this server is not {host[:80]}")
        elif origin is not None and origin.partition("://")[2] != host:
            refused = _words(403, "a page of another site asks")
        await (refused or self.app)(scope, receive, guarded)


def _words(status: int, words: str) -> JSONResponse:
    return JSONResponse({"error": words}, status)


class _Server:
    """The routes, and the tables."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.token = secrets.token_hex(4)
        self.tables: dict[str, tuple[Table, float]] = {}
        table = "/tables/{key}"
        routes = [
            Route("/games", _endpoint(lambda _: hall.games())),
            Route("/tables", _endpoint(self.sit, _SIT), methods=["POST"]),
            Route("/decide", _endpoint(self.decide, _DECIDE), methods=["POST"]),
            Route(table, _endpoint(self.at(lambda table, _: table.view()))),
            *(
                Route(f"{table}/{name}", _endpoint(self.at(_change(name)), given), methods=["POST"])
                for name, given in _GIVEN.items()
            ),
            *(Route(f"{table}/{name}", _endpoint(self.at(_asked(name)))) for name in _ASKED),
            Route("/solving/{key}", self.watch, methods=["GET"]),
            Route("/solving/{key}/cancel", _endpoint(self.cancel, {}), methods=["POST"]),
            Route("/", _file),
            Route("/{name}", _file),
        ]
        handlers: Any = {HTTPException: _http_error, Exception: _broken}
        self.app = Starlette(routes=routes, exception_handlers=handlers)
        self.app.router.redirect_slashes = False

    # --- tables ---------------------------------------------------------------------------------------

    def sit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        room = self.hall.open(given["game"], given["parameters"])
        with room.lock:
            match = self.hall.match(room, given)
            table = Table(f"{self.token}-{secrets.token_urlsafe(9)}", match)
            view = table.view()
        now = time.monotonic()
        if len(self.tables) >= MOST_TABLES:
            for key, (_, used) in list(self.tables.items()):
                if used < now - IDLE:
                    self.tables.pop(key, None)
        if len(self.tables) >= MOST_TABLES:
            raise Illegal(f"all {MOST_TABLES} tables are taken", 429)
        self.tables[table.key] = table, now
        return view

    def at(self, ask: Callable[[Table, Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
        def asked(given: Mapping[str, Any]) -> Any:
            key = given["key"]
            if key not in self.tables:
                token, dash, _ = key.partition("-")
                if dash and len(token) == len(self.token) and token != self.token:
                    raise Illegal("this table is gone: the server was started again", 410)
                raise Illegal("there is no such table", 404)
            table = self.tables[key][0]
            self.tables[key] = table, time.monotonic()
            with table.match.room.lock:
                return ask(table, given)

        return asked

    def decide(self, given: Mapping[str, Any]) -> dict[str, Any]:
        room = self.hall.open(given["game"], given["parameters"])
        with room.lock:
            return room.decide(given["state"], given["policy"])

    # --- solving --------------------------------------------------------------------------------------

    def _work(self, key: str) -> Work:
        if key not in self.hall.works:
            raise Illegal("nothing of this name is being solved", 404)
        return self.hall.works[key]

    def cancel(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self._work(given["key"]).cancel()
        return {}

    async def watch(self, request: Request) -> Response:
        """Server-sent events: ``progress`` until it is ``done`` or ``failed``."""
        try:
            work = self._work(request.path_params["key"])
        except Illegal as error:
            return _words(error.status, str(error))

        async def events() -> AsyncIterator[str]:
            last: object = None
            while not work.over.is_set():
                if work.progress is not last:
                    last = work.progress
                    yield _event("progress", last)
                await anyio.sleep(PAUSE)
            words = None if work.error is None else str(work.error)
            # A game that is too large is looked ahead in: whoever asks again learns it.
            yield _event("failed" if work.cancelled else "done", {"error": words})

        return StreamingResponse(events(), media_type="text/event-stream")


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


# --- what is asked, and answered --------------------------------------------------------------------


class _Field(NamedTuple):
    """A field of a body: its type, what it is where it lacks (`Ellipsis`: it must be there), and what fits."""

    kind: type
    default: Any = ...
    fits: Callable[[Any], bool] = lambda _: True
    words: str = ""


def _scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _shallow(text: str) -> bool:
    """Whether nothing is nested deep: readers of JSON call themselves for every bracket."""
    return sum(map(text.count, "[{(")) <= MOST_BRACKETS


def _short(texts: list[Any]) -> bool:
    return all(isinstance(one, str) and len(one) <= 200 for one in texts)


def _parameters(given: dict[str, Any]) -> bool:
    return all(_scalar(one) or (isinstance(one, list) and all(map(_scalar, one))) for one in given.values())


_GAME = {
    "game": _Field(str),
    "parameters": _Field(dict, {}, _parameters, "with numbers, texts and lists of them"),
}
_SIT = {
    **_GAME,
    "seats": _Field(
        list, ["human"], lambda seats: 1 <= len(seats) <= 4 and _short(seats), "of one to four texts"
    ),
    "rounds": _Field(int, 1, lambda rounds: 1 <= rounds <= 100, "from 1 to 100"),
    "seed": _Field(int, None, lambda seed: 0 <= seed < 2**53, "from 0 to 2**53"),
    "dice": _Field(str, "drawn", lambda dice: dice in ("drawn", "mine"), "drawn or mine"),
}
_DECIDE = {
    **_GAME,
    "state": _Field(str, ..., _shallow, "with few brackets"),
    "policy": _Field(str, "optimal", lambda name: len(name) <= 200, "short"),
}
_TURN = {"turn": _Field(int)}
_ROLLED = {
    "i": _Field(int, None),
    "faces": _Field(
        list, None, lambda faces: all(type(one) in (int, str) for one in faces), "of numbers or texts"
    ),
}
_GIVEN = {"choose": {**_TURN, "i": _Field(int)}, "roll": {**_TURN, **_ROLLED}, "undo": _TURN, "again": _TURN}
_ASKED = ("advice", "review", "record", "about", "boxes", "chart")


def _change(name: str) -> Callable[[Table, Mapping[str, Any]], Any]:
    return lambda table, said: getattr(table, name)(*(said[key] for key in _GIVEN[name]))


def _asked(name: str) -> Callable[[Table, Mapping[str, Any]], Any]:
    return lambda table, _: getattr(table, name)()


def _endpoint(answer: Callable[[Mapping[str, Any]], Any], wanted: Mapping[str, _Field] | None = None) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            given = {} if wanted is None else _read(wanted, request, await _body(request))
            found = await run_in_threadpool(answer, {**given, **request.path_params})
        except Working as waits:
            return JSONResponse({"solving": waits.work.key}, 202)
        except Illegal as error:
            return _words(error.status, str(error))
        except click.ClickException as error:
            return _words(400, error.message)
        except MdpDiceError as error:
            return _words(400, str(error))
        return JSONResponse(found)

    return endpoint


async def _body(request: Request) -> bytes:
    found = b""
    async for piece in request.stream():
        found += piece
        if len(found) > LARGEST_BODY:
            raise Illegal(f"a body has at most {LARGEST_BODY} bytes", 413)
    return found


def _read(wanted: Mapping[str, _Field], request: Request, body: bytes) -> dict[str, Any]:
    """The body as JSON of the right types."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Illegal("send JSON, with the content type application/json", 415)
    try:
        said = json.loads(body) if _shallow(body.decode()) else None
    except ValueError as error:
        raise Illegal("this is no JSON", 400) from error
    if not isinstance(said, dict) or not set(said) <= set(wanted):
        raise Illegal(f"send an object with {', '.join(wanted) or 'nothing'}", 400)
    found = {}
    for key, (kind, default, fits, words) in wanted.items():
        value = said.get(key)
        if value is None and default is not ...:
            value = default
        elif type(value) is not kind or not fits(value):
            raise Illegal(f"{key} must be a {kind.__name__} {words}".rstrip(), 400)
        found[key] = value
    return found


def _file(request: Request) -> Response:
    """A file of the page, by its name among those that there are."""
    name = request.path_params.get("name", "page.html")
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    if name not in files:
        return _words(404, "there is no such page")
    return FileResponse(files[name], media_type=TYPES[files[name].suffix])


async def _http_error(_: Request, error: HTTPException) -> Response:
    words = {404: "there is no such page", 405: "this is asked in another way"}
    return JSONResponse(
        {"error": words.get(error.status_code, error.detail)}, error.status_code, error.headers
    )


async def _broken(_: Request, error: Exception) -> Response:
    return _words(500, f"the server failed: {type(error).__name__}")
