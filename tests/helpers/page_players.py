"""Play a page of one file to the end of a round, by mouse or by keyboard, as a person would."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

OVER = "#end:not([hidden]) .main"


def begin(page: Any, file: Path, seats: list[str], *, seed: int = 1, rounds: int = 1, mine: bool = False) -> None:
    """Open the file, fill in the form and play."""
    page.goto(file.as_uri())
    page.wait_for_selector("#play")
    for _ in seats[page.locator(".seats select").count() :]:
        page.get_by_role("button", name="Add a player").click()
    for at, seat in enumerate(seats):
        page.select_option(f"#seat-{at}", seat)
    page.fill("#rounds", str(rounds))
    page.fill("#seed", str(seed))
    if mine:
        page.check("input[name=dice][value=mine]")
    page.click("#play")
    page.wait_for_selector("#match:not([hidden])")


def play_on(page: Any, by: str, *, seed: int = 1, most: int = 2_000) -> int:
    """Choose at random until the round is over; own dice are thrown at random, too. The number of moves."""
    draw = random.Random(seed)
    for moves in range(most):
        if page.locator(OVER).count():
            return moves
        move(page, by, draw)
        error = page.locator("#alert").inner_text()
        assert not error, error
    msg = f"the round is not over after {most} moves"
    raise AssertionError(msg)


def move(page: Any, by: str, draw: random.Random) -> None:
    """One choice, or one throw of one's own dice."""
    buttons = page.locator('#now .choices button:visible, #now .tappable, #now [data-key="thrown"]:enabled')
    if not buttons.count():
        # All choices are folded away, since they can be tapped on the table.
        page.locator("#now summary").click()
    count = buttons.count()
    at = draw.randrange(count)
    before = page.evaluate("document.querySelector('#now').innerHTML + document.querySelector('#log').innerText")
    if by == "mouse":
        buttons.nth(at).click()
    elif page.locator('#now [data-key="thrown"]:enabled').count():
        page.keyboard.press("Enter")
    elif (key := buttons.nth(at).get_attribute("data-number")) and len(key) == 1:
        page.keyboard.press(key)
    else:
        buttons.nth(at).focus()
        page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.querySelector('#now').innerHTML + document.querySelector('#log').innerText !== before"
        " || document.querySelector('#alert').innerText",
        arg=before,
    )
