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
from starlette.datastructures import Headers, MutableHeaders
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

STATIC = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_BODY = 16_384
MOST_BRACKETS = 100
LONGEST_TEXT = 200
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
    """Return the server of the games as an ASGI application.

    Where it listens on a loopback `host` it answers to loopback names only, else to that name and to addresses.
    """
    inner = _Server(hall).app

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what was sent to another host, or by a page of another one; send strict headers with everything."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app: ASGIApp = inner
        if scope["type"] == "http":
            sent = Headers(scope=scope)
            asked, origin = sent.get("host", ""), sent.get("origin")
            if not _known(asked, host):
                app = _words(421, f"this server is not {asked[:80]}")
            elif origin is not None and origin.partition("://")[2] != asked:
                app = _words(403, "a page of another site asks")
        await app(scope, receive, guarded)

    return guard


def _known(asked: str, own: str) -> bool:
    """Whether a Host header names this server, or, where it listens to a network, an address: no page has that."""
    name, _, port = asked.rpartition(":")
    name = (name if port.isdecimal() else asked).strip("[]").lower()
    if name in LOOPBACK or name == own.lower():
        return True
    with contextlib.suppress(ValueError):
        return own not in LOOPBACK and bool(ipaddress.ip_address(name))
    return False


def _words(status: int, words: str) -> JSONResponse:
    return JSONResponse({"error": words}, status)


class _Server:
    """The routes, and the tables."""

    def __init__(self, hall: Hall) -> None:
        self.hall, self.token = hall, secrets.token_hex(4)
        self.tables: dict[str, tuple[Table, float]] = {}
        routes = [
            _route("/games", lambda _: hall.games()),
            _route("/tables", self.sit, _SIT),
            _route("/decide", self.decide, _DECIDE),
            _route("/tables/{key}", self.at("view")),
            *(_route(f"/tables/{{key}}/{name}", self.at(name), wanted) for name, wanted in _ASKED.items()),
            Route("/solving/{key}", self.watch),
            _route("/solving/{key}/cancel", lambda given: self.work(given["key"]).cancel(), {}),
            Route("/", _file),
            Route("/{name}", _file),
        ]
        self.app = Starlette(routes=routes, exception_handlers=_REFUSALS)
        self.app.router.redirect_slashes = False

    def sit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        room = self.hall.open(given["game"], given["parameters"])
        with room.lock:
            table = Table(f"{self.token}-{secrets.token_urlsafe(9)}", self.hall.match(room, given))
            view = table.view()
        now = time.monotonic()
        if len(self.tables) >= MOST_TABLES:
            for key in [key for key, (_, used) in list(self.tables.items()) if used < now - IDLE]:
                self.tables.pop(key, None)
        if len(self.tables) >= MOST_TABLES:
            raise Illegal(f"all {MOST_TABLES} tables are taken", 429)
        self.tables[table.key] = table, now
        return view

    def at(self, name: str) -> Callable[[Mapping[str, Any]], Any]:
        """Return what is asked of a table."""

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
                return getattr(table, name)(*(given[field] for field in _ASKED.get(name) or ()))

        return asked

    def decide(self, given: Mapping[str, Any]) -> dict[str, Any]:
        room = self.hall.open(given["game"], given["parameters"])
        with room.lock:
            return room.decide(given["state"], given["policy"])

    def work(self, key: str) -> Work:
        if key not in self.hall.works:
            raise Illegal("nothing of this name is being solved", 404)
        return self.hall.works[key]

    async def watch(self, request: Request) -> Response:
        """Server-sent events: ``progress`` until it is ``done`` or ``failed``."""
        work = self.work(request.path_params["key"])

        async def events() -> AsyncIterator[str]:
            last: object = None
            while not work.over.is_set():
                if work.progress is not last:
                    last = work.progress
                    yield f"event: progress\ndata: {json.dumps(last)}\n\n"
                await anyio.sleep(PAUSE)
            # Whoever asks again learns what went wrong; a game that is too large is looked ahead in.
            words = json.dumps({"error": None if work.error is None else str(work.error)})
            yield f"event: {'failed' if work.cancelled else 'done'}\ndata: {words}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")


# --- what is asked, and answered --------------------------------------------------------------------


def _shallow(text: str) -> bool:
    """Whether nothing is nested deep: readers of JSON call themselves for every bracket."""
    return sum(map(text.count, "[{(")) <= MOST_BRACKETS


def _short(given: Any, kinds: Any = str | int | float | None) -> bool:
    """Whether these are numbers and short texts."""
    return all(isinstance(one, kinds) and len(str(one)) <= LONGEST_TEXT for one in given)


def _parameters(given: dict[str, Any]) -> bool:
    return all(_short(one if isinstance(one, list) else [one]) for one in given.values())


class _Field(NamedTuple):
    """A field of a body: its type, what it is where it lacks (`Ellipsis`: it must be there), and what fits."""

    kind: type
    default: Any = ...
    fits: Callable[[Any], bool] = lambda _: True
    words: str = ""


_TURN = {"turn": _Field(int)}
_GAME = {"game": _Field(str), "parameters": _Field(dict, {}, _parameters, "with numbers, texts and lists of them")}
_SIT = {
    **_GAME,
    "seats": _Field(list, ["human"], lambda them: 0 < len(them) < 5 and _short(them, str), "of one to four texts"),
    "rounds": _Field(int, 1, range(1, 101).__contains__, "from 1 to 100"),
    "seed": _Field(int, None, range(2**53).__contains__, "from 0 to 2**53"),
    "dice": _Field(str, "drawn", ("drawn", "mine").__contains__, "drawn or mine"),
}
_DECIDE = {
    **_GAME,
    "state": _Field(str, ..., _shallow, "with few brackets"),
    "policy": _Field(str, "optimal", lambda name: len(name) <= LONGEST_TEXT, "that is short"),
}
_FACES = _Field(list, None, lambda faces: _short(faces, int | str), "of numbers or texts")
_ASKED: dict[str, dict[str, _Field] | None] = {
    "choose": {**_TURN, "i": _Field(int)},
    "roll": {**_TURN, "i": _Field(int, None), "faces": _FACES},
    **dict.fromkeys(("undo", "again"), _TURN),
    **dict.fromkeys(("advice", "review", "record", "about", "boxes", "distribution", "chart")),
}
"""What is asked of a table, by the methods of `Table`, and the fields of the body; None: there is none."""


def _route(path: str, answer: Callable[[Mapping[str, Any]], Any], wanted: Mapping[str, _Field] | None = None) -> Route:
    async def endpoint(request: Request) -> Response:
        given = {} if wanted is None else _read(wanted, request.headers, await _body(request))
        return JSONResponse(await run_in_threadpool(answer, {**given, **request.path_params}))

    return Route(path, endpoint, methods=["GET" if wanted is None else "POST"])


async def _body(request: Request) -> bytes:
    found = b""
    async for piece in request.stream():
        found += piece
        if len(found) > LARGEST_BODY:
            raise Illegal(f"a body has at most {LARGEST_BODY} bytes", 413)
    return found


def _read(wanted: Mapping[str, _Field], headers: Headers, body: bytes) -> dict[str, Any]:
    """Return the body as JSON of the right types."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Illegal("send JSON, with the content type application/json", 415)
    try:
        said = json.loads(body) if _shallow(body.decode()) else None
    except ValueError as error:
        raise Illegal("this is not JSON", 400) from error
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
    """Return a file of the page by its name, if it is one of the known ones."""
    name = request.path_params.get("name", "page.html")
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    if name not in files:
        return _words(404, "there is no such page")
    return FileResponse(files[name], media_type=TYPES[files[name].suffix])


async def _refused(_: Request, error: Any) -> Response:
    """Return what is said of an error, by its type."""
    match error:
        case Working():
            return JSONResponse({"solving": error.work.key}, 202)
        case Illegal():
            return _words(error.status, str(error))
        case click.ClickException() | MdpDiceError():
            return _words(400, error.message)
        case HTTPException():
            return _words(error.status_code, f"this cannot be asked so: {error.detail}")
        case _:
            return _words(500, f"the server failed: {type(error).__name__}")


_REFUSALS: dict[Any, Any] = dict.fromkeys(
    (Working, Illegal, click.ClickException, MdpDiceError, HTTPException, Exception), _refused
)
