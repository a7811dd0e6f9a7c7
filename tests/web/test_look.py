"""What people see, drawn from invented views, and what taps and keys do: no game and no engine is needed for that."""

import json
from pathlib import Path

import pytest
from helpers.browsers import STATIC, chromium, faults, opened, overflow, served

import mdpdice.web

FOLDERS = [Path(mdpdice.web.__file__).parent / "static", Path(__file__).parent]
START = """
import {{ open }} from "./mock_engine.js";
import {{ show }} from "./page.js";
await show(open({scene}));
document.body.dataset.ready = "yes";
"""

BASE = {"game": "x", "sense": "max", "total": None, "seats": ["human"], "round": 1, "rounds": 1, "scores": []}
BASE |= {"turn": 0, "mover": 0, "outcomes": None, "dice": None, "over": None, "events": [], "actions": []}


def part(kind, label, seat=None, **fields):
    return {"kind": kind, "label": label, "of": seat, "seat": seat, **fields}


def act(words, label, *places):
    return {"words": words, "tap": {"label": label, "places": places}}


RABBITS = {
    **BASE,
    "title": "Rabbits and cages",
    "parts": [
        part("score", "banked", value=20, goal=None, risk=True),
        part("tokens", "rabbits", items=["1", "1", "2"], lit=None),
        part("tokens", "cages", items=["x2", "x3", "x4"], lit=[0]),
        part("dice", "roll", faces=[1, 2, 6, 3], dice=[], held=[]),
    ],
    "actions": [
        act("take 1", "roll", [0]),
        act("take 2", "roll", [1]),
        act("take both", "roll", [0, 1]),
        act("take 1 and cage x3", "roll", [0, 3]),
    ],
    "events": [{"kind": "roll", "seat": 0, "words": "1 2 6 3", "lost": False}],
}
SHEET = {
    **BASE,
    "title": "A sheet beside another",
    "seats": ["human", "bob"],
    "rounds": 3,
    "round": 2,
    "scores": [[120, 98]],
    "parts": [
        part(
            "boxes",
            "sheet",
            names=["pair", "two-pairs", "small-straight"],
            used=[False, True, False],
            points=[None, 9, None],
        ),
        part("dice", "dice", faces=[1, 3, 3], dice=["Lucky die", "", "Odd die"], held=[]),
        part("note", "to roll", text="three dice"),
        part("ribbon", "a kind that nobody knows yet", text="shown as a note"),
    ],
    "actions": [
        act("pair for 6", "sheet", [0]),
        act("cross out pair", "sheet", [0]),
        act("cross out small-straight", "sheet", [2]),
        act("reroll 3 3", "dice", [1, 2]),
    ],
    "worth": {"sheet": [6.5, None, 1.25]},
}
BOARDS = {
    **BASE,
    "title": "Two boards",
    "seats": ["human", "optimal"],
    "parts": [
        part("grid", "board", 0, rows=[[5, 1, ""], [5, "", ""], ["", "", ""]], foot=[20, 1, 0]),
        part("grid", "board", 1, rows=[[6, 2, 3], ["", "", 3], ["", "", ""]], foot=[6, 2, 12]),
        part("dice", "die", faces=[3], dice=[], held=[]),
    ],
    "actions": [act(f"column {column}", "board", [column - 1]) for column in (1, 2, 3)],
}
REAL = {
    **BASE,
    "title": "Real dice",
    "parts": [],
    "dice": [{"name": name, "faces": [1, 2, 3, 4, 5, 6]} for name in ("Lucky die", "")],
}
OVER = {**SHEET, "actions": [], "scores": [[120, 98], [90, 101]], "over": {"payoff": 211, "words": "ends with 211"}}
SCENES = {"rabbits": RABBITS, "sheet": SHEET, "boards": BOARDS, "real": REAL, "over": OVER}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def scene(browser, view, width=1280, **wanted):
    page = opened(browser, width, **wanted)
    served(page, FOLDERS, start_js=START.format(scene="" if view is None else json.dumps(view)))
    page.goto(STATIC)
    page.wait_for_selector("body[data-ready]")
    return page


def advised(page):
    page.check("input[value=always]")
    page.wait_for_selector("#strategy:not([hidden])")
    return page


@pytest.mark.parametrize("name", SCENES)
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(browser, name):
    for width, scheme in ((320, "light"), (1280, "dark")):
        page = advised(scene(browser, SCENES[name], width, color_scheme=scheme))
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert not faults(page)
        assert overflow(page) <= 0
        assert not page.errors
        page.context.close()


def test_dice_are_lit_where_they_lead_to_a_choice_and_chosen_one_by_one(browser):
    page = scene(browser, RABBITS)
    dice = page.locator("#table .die")
    lit = [not die.get_attribute("aria-disabled") for die in dice.all()]
    assert lit == [True, True, False, True]
    dice.nth(0).click()
    assert [not die.get_attribute("aria-disabled") for die in dice.all()] == [True, True, False, True]
    dice.nth(3).click()
    assert [not die.get_attribute("aria-disabled") for die in dice.all()] == [True, False, False, True]
    assert page.locator(".choice.meant .words").text_content() == "take 1 and cage x3"


def test_a_cage_goes_with_the_rabbit_that_it_hung_on(browser):
    page = scene(browser, RABBITS)
    dice = page.locator("#table .die")
    dice.nth(0).click()
    dice.nth(3).click()
    dice.nth(0).click()
    assert [die.get_attribute("aria-pressed") for die in dice.all()] == ["false"] * 4


def test_dice_of_one_face_are_the_same_whichever_was_named(browser):
    faces = part("dice", "dice", faces=[3, 5, 3], dice=[], held=[])
    page = scene(browser, {**BASE, "title": "Keep", "parts": [faces], "actions": [act("keep 3", "dice", [0])]})
    page.locator("#table .die").nth(2).click()
    assert page.locator(".choice.meant .words").text_content() == "keep 3"


def test_a_box_with_two_meanings_asks_which(browser):
    page = scene(browser, SHEET)
    page.locator("#table .box").nth(0).click()
    assert page.locator(".choice.meant .words").all_text_contents() == ["pair for 6", "cross out pair"]
    assert "Which" in page.locator(".hint").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".choice.meant").count() == 0


def test_what_open_boxes_are_worth_is_said_with_advice(browser):
    page = scene(browser, SHEET)
    assert page.locator("#table .box .state").all_inner_texts() == ["open", "9", "open"]
    advised(page)
    assert page.locator("#table .box .state").all_inner_texts() == ["worth 6.50", "9", "worth 1.25"]


def test_a_column_of_ones_own_board_is_tapped(browser):
    page = scene(browser, BOARDS)
    assert page.locator(".seat").nth(0).locator("button").count() == 3
    assert page.locator(".seat").nth(1).locator("button").count() == 0


def test_real_dice_are_tapped_in_by_mouse_and_by_keys(browser):
    page = scene(browser, REAL)
    assert page.locator("#now .main").is_disabled()
    page.locator("#now .tappable").nth(4).click()
    page.keyboard.press("2")
    shown = page.locator("#now .row").nth(0).locator(".die")
    assert [die.get_attribute("aria-label") for die in shown.all()] == ["5", "2"]
    page.keyboard.press("Backspace")
    assert shown.nth(1).get_attribute("aria-label") == "not yet thrown"
    page.keyboard.press("6")
    assert page.locator("#now .main").is_enabled()


def test_every_value_and_loss_is_shown_best_first(browser):
    page = advised(scene(browser, {**RABBITS, "best": 14}))
    assert page.locator(".worth").all_inner_texts() == ["14.000", "13.580", "13.160", "12.740"]
    assert page.locator(".choice .loss").all_inner_texts() == ["best", "loses 0.42", "loses 0.84", "loses 1.26"]


def test_how_plays_may_end_is_said_with_the_error_of_drawn_ones(browser):
    page = advised(scene(browser, RABBITS))
    page.click("#ahead summary")
    page.wait_for_selector("#ahead figure")
    assert "Mean 18, with a standard error of 0.25 (4,000 drawn plays); four in five" in page.inner_text("#ahead")
    assert page.locator("#ahead li").all_inner_texts() == ["20 points or more: 35 %"]


def test_rare_choices_of_a_map_share_a_pattern(browser):
    side = {"label": "points", "values": list(range(6))}
    drawn = {"kind": "map", "title": "what is best", "x": side, "y": side, "at": [5, 0]}
    drawn |= {"names": list("abcdef"), "cells": [[0, 1, 2, 3, 4, 4]] + [[None] * 6] * 5}
    page = advised(scene(browser, {**RABBITS, "charts": [drawn]}))
    page.click("#strategy summary")
    assert page.locator("#strategy li").all_inner_texts() == ["a", "b", "c", "another choice"]
    assert page.locator("#strategy .said").inner_text() == "Here: points 5, points 0: e."
    areas = page.eval_on_selector_all("#strategy .chart rect", "all => all.map((one) => one.className.baseVal)")
    assert areas == ["area-0", "area-1", "area-2", "area-3", "area-3"]


def test_a_match_by_keys_alone(browser):
    page = scene(browser, None, 320)
    page.locator("#rounds").fill("2")
    page.locator("#play").press("Enter")
    page.wait_for_selector("#match:not([hidden])")
    assert page.evaluate("document.activeElement.closest('#now') !== null")
    page.keyboard.press("a")
    page.wait_for_selector(".choice .worth")
    page.keyboard.press("2")
    page.wait_for_selector("#log li")
    page.keyboard.press("u")
    page.wait_for_selector("#log .none")
    for _ in range(400):
        if page.locator("#end:not([hidden]) #next, #end:not([hidden]) .main").count():
            break
        page.keyboard.press("2" if "hold 0" in page.locator(".choices").inner_text() else "1")
        page.wait_for_function("!document.querySelector('#now .choice') === !document.querySelector('#end[hidden]')")
    assert "Round 1 is over" in page.locator("#end").inner_text()
    page.wait_for_selector("#end [aria-label=Review]")
    assert "You lost 2 %" in page.locator("#end").inner_text()
    page.keyboard.press("n")
    page.wait_for_selector("#end", state="hidden")
    assert page.locator("#round").inner_text() == "Round 2 of 2"
    page.keyboard.press("?")
    assert page.locator("#keys dl").is_visible()
    assert not page.errors


def test_advice_afterwards_says_what_was_lost(browser):
    page = scene(browser, None)
    page.click("#play")
    page.check("input[value=afterwards]")
    assert page.locator(".choice .worth").count() == 0
    page.locator(".choice").nth(1).click()
    page.wait_for_selector(".verdict")
    assert page.locator(".verdict").inner_text() == "That lost 1.5 %. Better was: hold 0: 0 in all."


def test_the_record_is_copied_and_downloaded(browser):
    page = scene(browser, None, permissions=["clipboard-read", "clipboard-write"])
    page.click("#play")
    with page.expect_download() as download:
        page.click("#download")
    assert Path(download.value.path()).read_text(encoding="utf-8") == "seed 1\nroll\n"


def test_an_error_is_said(browser):
    page = scene(browser, None)
    page.click("#play")
    page.locator("#undo").evaluate("(button) => button.removeAttribute('disabled')")
    page.click("#undo")
    assert page.locator("#alert").inner_text() == "nothing to undo"
