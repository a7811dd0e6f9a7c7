"""``mdpdice serve``: the page in the browser, for any game."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import webbrowser
from typing import Any

import click

from mdpdice.cli.game_command import failures
from mdpdice.cli.options import complete_game, json_option
from mdpdice.errors import MissingPackageError

PORT = 8377


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME or FILE:Game]...", shell_complete=complete_game)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, help="0 picks a free one.")
@click.option("--host", default="127.0.0.1", help="Where to listen; by default only on this machine.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--time-limit",
    "seconds",
    type=click.FloatRange(min=0.1),
    default=600.0,
    metavar="SECONDS",
    help="Most seconds to spend on solving a game.",
)
@json_option
def serve(names: tuple[str, ...], port: int, host: str, *, opens: bool, seconds: float, as_json: bool) -> None:
    """Play in the browser, and answer programs over HTTP, until Ctrl-C.

    Without names it serves all shipped games.

    Exit status: 1 the address is taken or a package is missing, 2 wrong usage, 130 ended by Ctrl-C.
    """
    with failures():
        try:
            import uvicorn

            from mdpdice.web.server import LOOPBACK, application
        except ImportError as error:
            msg = f"the server needs {error.name}: pip install 'mdpdice[serve]'"
            raise MissingPackageError(msg, package=str(error.name)) from error
        from mdpdice.cli.catalogue import find_game, game_names
        from mdpdice.cli.served import Hall

        for name in names:  # wrong ones are refused at once
            find_game(name)
        try:
            listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            msg = f"{host} port {port}: {error.strerror or error}; --port 0 takes a free one"
            raise click.ClickException(msg) from error
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listening.getsockname()[1]}/"
        names = names or tuple(game_names())
        click.echo(json.dumps({"url": url, "games": names}) if as_json else f"{url}  (Ctrl-C ends it)")
        if host not in LOOPBACK:
            click.echo("Whoever reaches this machine can play, and have games solved on it.", err=True)
        if opens:
            threading.Timer(0.5, webbrowser.open, (url,)).start()
        with contextlib.closing(Hall(names, seconds)) as hall:
            # It takes seconds, and the page asks for it first.
            threading.Thread(target=hall.games, daemon=True).start()
            options: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
            config = uvicorn.Config(application(hall, host), limit_concurrency=200, **options)
            uvicorn.Server(config).run(sockets=[listening])
