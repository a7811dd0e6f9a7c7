"""Pages of one file, played in a browser: by mouse, by keyboard, against a rule, with one's own dice."""

import random
import subprocess
import sys

import pytest
from helpers.browsers import chromium, faults, opened, overflow
from helpers.page_players import begin, move, play_on

from mdpdice import solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace
from mdpdice.web.page import write_page


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def pig(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "pig.html"
    write_page(solve(PigRace(goal=20)), path)
    return path


@pytest.fixture(scope="module")
def farkle(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "farkle.html"
    write_page(solve(KcdFarkle(cap=1000)), path)
    return path


def check(page):
    assert not faults(page)
    assert overflow(page) <= 0
    assert not page.errors


def test_a_match_against_the_best_play_by_mouse(browser, pig):
    page = opened(browser, 1280)
    begin(page, pig, ["human", "optimal"], rounds=2)
    page.check("input[value=always]")
    page.wait_for_selector(".choice .worth")
    check(page)
    assert play_on(page, "mouse") > 0
    page.wait_for_selector("#end [aria-label=Review]")
    assert "lost" in page.locator("#end [aria-label=Review]").inner_text()
    page.click("#end .main")
    assert page.locator("#round").inner_text() == "Round 2 of 2"
    play_on(page, "mouse", seed=2)
    page.wait_for_selector("#end [aria-label=Rounds]")
    assert page.locator("#end [aria-label=Rounds] tbody tr").count() == 3
    check(page)


def test_a_turn_by_keyboard_on_a_phone(browser, farkle):
    page = opened(browser, 320, color_scheme="dark")
    begin(page, farkle, ["human"], seed=3)
    page.keyboard.press("a")
    page.wait_for_selector(".choice.best")
    check(page)
    play_on(page, "keyboard")
    page.wait_for_selector("#end [aria-label=Review]")
    check(page)


def test_dice_are_tapped_to_set_them_aside(browser, farkle):
    page = opened(browser, 1280)
    begin(page, farkle, ["human"], seed=3)
    taken = page.locator("#table .tappable:not([aria-disabled])").first
    taken.click()
    assert page.locator("#table [aria-pressed=true]").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#table [aria-pressed=true]").count() == 0
    page.keyboard.press("Shift+1")
    assert page.locator("#table .tappable").first.get_attribute("aria-pressed") == "true"


def test_ones_own_dice_and_undo(browser, farkle):
    page = opened(browser, 320)
    begin(page, farkle, ["human"], mine=True)
    for face in "115624":
        page.keyboard.press(face)
    page.keyboard.press("Enter")
    page.wait_for_selector("#table .die")
    shown = [die.get_attribute("aria-label") for die in page.locator("#table .die").all()]
    assert sorted(shown) == ["1", "1", "2", "4", "5", "6"]
    page.keyboard.press("1")
    page.wait_for_selector("#now .own, #end:not([hidden])")
    page.keyboard.press("u")
    page.wait_for_selector("#now .choice")
    assert sorted(die.get_attribute("aria-label") for die in page.locator("#table .die").all()) == sorted(shown)
    check(page)


def test_solitaire_side_by_side(browser, farkle):
    page = opened(browser, 1280)
    begin(page, farkle, ["human", "optimal"])
    play_on(page, "mouse")
    heads = page.locator("#end [aria-label=Rounds] thead th").all_inner_texts()
    assert heads == ["Round", "You", "Best play"]
    check(page)


def test_four_play_the_same_game_side_by_side(browser, farkle):
    page = opened(browser, 320)
    begin(page, farkle, ["human", "optimal", "random", "human"])
    play_on(page, "mouse")
    heads = page.locator("#end [aria-label=Rounds] thead th").all_inner_texts()
    assert heads == ["Round", "Player 1", "Best play", "Random play", "Player 4"]
    assert page.locator("#end [aria-label=Rounds] tbody td").count() == 4
    check(page)


def test_two_people_and_no_advice(browser, pig):
    page = opened(browser, 1280)
    begin(page, pig, ["human", "human"])
    page.check("input[value=off]")
    draw = random.Random(5)
    for _ in range(6):
        move(page, "mouse", draw)
    assert page.locator(".worth").count() == 0
    assert page.locator(".who").nth(1).inner_text().startswith("Player 2")


@pytest.mark.slow
def test_a_match_against_bob_at_the_server(browser):
    command = [
        sys.executable,
        "-c",
        "from mdpdice.cli import main; main()",
        "serve",
        "school",
        "pig-turn",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().split()[0]
            page = opened(browser, 1280)
            page.goto(f"{address}?game=school")
            page.wait_for_selector("#play")
            page.get_by_role("button", name="Add a player").click()
            page.select_option("#seat-1", "bob")
            page.click("#play")
            page.wait_for_selector("#match:not([hidden])")
            check(page)
            page.check("input[value=always]")
            page.wait_for_selector(".choice .worth", state="attached", timeout=120_000)  # it is solved first
            page.wait_for_selector("#about:not([hidden])")
            page.click("#ahead summary")
            page.wait_for_selector("#ahead figure", timeout=60_000)
            assert "4,000 drawn plays" in page.locator("#ahead").inner_text()
            assert "150 points or more" in page.locator("#ahead li").nth(1).inner_text()
            check(page)
            page.check("input[value=off]")
            play_on(page, "mouse", seed=4)
            page.wait_for_selector("#end [aria-label=Rounds] tbody tr")
            assert page.locator("#end [aria-label=Rounds] thead th").last.inner_text() == "bob"
            check(page)
        finally:
            server.terminate()
