"""The progress line is for people who wait at a terminal."""

from __future__ import annotations

import io

from mdpdice.cli.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_in_a_file():
    file = io.StringIO()
    with ProgressLine(file, delay=0) as progress:
        progress("explore", {"states": 3})
    assert file.getvalue() == ""


def test_nothing_before_the_delay():
    terminal = Terminal()
    with ProgressLine(terminal, delay=60) as progress:
        progress("explore", {"states": 3})
    assert terminal.getvalue() == ""


def test_one_line_that_is_wiped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    with ProgressLine(terminal, delay=0, every=0) as progress:
        progress("explore", {"states": 12345, "width": 0.123456})
        progress("solve", {"sweep": 7.0})
        progress("solve", {"a very long name of some number": 1})
    first, second, third, wiped, rest = terminal.getvalue().split("\r")[1:]
    assert first == "explore: 12,345 states, 0.123 "[:29]
    assert second.rstrip() == "solve: 7.0 sweep"
    assert len(second) == len(first)  # covers what was there
    assert len(third) == 29
    assert wiped == " " * 29
    assert rest == ""


def test_updates_are_rare():
    terminal = Terminal()
    with ProgressLine(terminal, delay=0, every=60) as progress:
        for number in range(1000):
            progress("explore", {"states": number})
    assert terminal.getvalue().count("states") == 1
