"""Play every shipped game, and four that nobody wrote a look for, in a browser, and say how it went.

    python tests/web/browser.py [--to browser.json] [--pictures FOLDER] [GAME ...]

Each game is solved, written as a page of one file, and played to its end by mouse at 1280 pixels and by keyboard
at 320; what it offers and what that is worth is compared with the library in 200 positions, on a processor that is
slowed four times (milliseconds of advice: the median, and the slowest).  Knucklebones is played on 2 x 2 cells.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.browsers import chromium, faults, opened, overflow
from helpers.page_players import begin, play_on
from helpers.page_positions import compared, engine_in
from helpers.trial_games import Hog, ShutTheBox, Threes, TwoDicePig

from mdpdice import solve
from mdpdice.cli.catalogue import game_names, load_game
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.web.page import write_page

POSITIONS = 200
SLOWED = 4
"""How many times slower than it is the processor advises, as a telephone's would."""
TRIALS = {"shut-the-box": ShutTheBox, "threes": Threes, "two-dice-pig": TwoDicePig, "hog": Hog}
"""Games of others."""


def game_of(name: str) -> Any:
    """A game by name, small enough for a page."""
    if name == "knucklebones":
        return Knucklebones(columns=2, rows=2)
    game: Any = TRIALS.get(name) or load_game(name)
    return game()


def tried(browser: Any, name: str, folder: Path, pictures: Path | None) -> dict[str, Any]:
    """What a page of a game is like."""
    began = time.perf_counter()
    solution = solve(game_of(name))
    solved = time.perf_counter()
    path = folder / f"{name}.html"
    written = write_page(solution, path)
    found: dict[str, Any] = {"bytes": written.bytes, "values": written.values}
    found |= {"solve_s": round(solved - began, 1), "write_s": round(time.perf_counter() - solved, 1)}
    found |= {"axe": [], "overflow_320": 0, "moves": {}}
    for width, by, scheme in ((1280, "mouse", "light"), (320, "keyboard", "dark")):
        page = opened(browser, width, color_scheme=scheme)
        two = solution.game.total == 1 or name == "knucklebones"
        begin(page, path, ["human", "optimal"] if two else ["human"], seed=7)
        page.check("input[value=always]")
        page.wait_for_selector(".choice .worth")
        look(page, width, found, pictures and pictures / f"{name}-{width}.png")
        found["moves"][by] = play_on(page, by, seed=7)
        page.wait_for_selector("#end [aria-label=Review]")
        look(page, width, found, None)
        found["axe"] += page.errors
        page.context.close()
    engine = engine_in(browser, SLOWED)
    found["positions"], found["worst_error"], times = compared(engine, solution, positions=POSITIONS)
    found |= {"advice_ms": statistics.median(times), "slowest_ms": max(times)}
    engine.close()
    return found


def look(page: Any, width: int, found: dict[str, Any], picture: Path | None) -> None:
    """What axe finds, whether the page is too wide, and a picture."""
    found["axe"] += faults(page)
    if width == 320:
        found["overflow_320"] = max(found["overflow_320"], overflow(page))
    if picture is not None:
        page.screenshot(path=picture, full_page=True)


def main() -> int:
    """Try the games that are named, or all, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path("browser.json"), help="the file to write")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of every game at both widths")
    parser.add_argument("games", nargs="*", metavar="GAME")
    given = parser.parse_args()
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    games: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name in given.games or [*game_names(), *TRIALS]:
            games[name] = tried(browser, name, Path(folder), given.pictures)
            print(name, json.dumps(games[name]), flush=True)
    summary = {
        "games": games,
        "positions": sum(one["positions"] for one in games.values()),
        "worst_error": max(one["worst_error"] for one in games.values()),
        "advice_ms": max(one["advice_ms"] for one in games.values()),
        "slowest_ms": max(one["slowest_ms"] for one in games.values()),
        "axe": sum(len(one["axe"]) for one in games.values()),
        "overflow_320": max(one["overflow_320"] for one in games.values()),
    }
    given.to.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return int(summary["worst_error"] > 1e-6 or summary["axe"] > 0 or summary["overflow_320"] > 0)


if __name__ == "__main__":
    sys.exit(main())
