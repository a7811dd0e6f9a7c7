"""The tree of a game as one page for a browser, to fold out; without scripts, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise

from mdpdice.html import document
from mdpdice.policies.game_tree import Row

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --best: light-dark(#17692f, #7ddc95); }
body { font: 1rem/1.45 system-ui, sans-serif; max-width: 60rem; margin: auto; padding: 0 .75rem 2rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; } h2 { font-size: 1.15rem; overflow-wrap: anywhere; }
ul { list-style: none; margin: 0; padding-left: .9rem; border-left: 1px solid var(--line); }
.row { display: inline-flex; width: calc(100% - 1.2rem); gap: .6rem; align-items: baseline; vertical-align: top; }
.row > :first-child { flex: 1; overflow-wrap: anywhere; }
summary, .alone { padding: .3rem 0; } .alone { padding-left: 1.05rem; } .alone > .row { width: 100%; }
summary { cursor: pointer; }
summary:hover { background: #8882; }
.best { font-weight: 600; color: var(--best); } .value { font-variant-numeric: tabular-nums; white-space: nowrap; }
small { opacity: .8; font-weight: 400; white-space: nowrap; }
"""
_LEGEND = (
    "Open a line to see what follows. All values are those of the player to move at the top; options marked ★ best "
    "are as good as any other. A roll stands for all rolls that come to the same."
)
_LEAVES = {"end": "the end", "estimate": "estimated", "again": "comes again"}


def page(rows: Iterable[Row], title: str, about: Sequence[str], notes: Sequence[str] = ()) -> str:
    """Write the rows of a tree, as `Tree.rows` gives them, as a page with a title, some lines above and notes below."""
    heads = "".join(f"<p>{escape(text)}</p>" for text in about if text)
    below = "".join(f"<p>{escape(text)}</p>" for text in notes)
    foot = f"<footer><p>{_LEGEND}</p>{below}</footer>"
    body = f"<h1>{escape(title)}</h1>{heads}\n{''.join(_items(rows))}\n{foot}"
    return document(f"{title}: what is ahead", _STYLE, body)


def _items(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the rows as lists in lists."""
    for row, following in pairwise([*rows, Row(0, False, "")]):
        inner = following.level > row.level
        if not row.level:
            yield f"<h2>{escape(row.words)}: {_value(row)}</h2>\n{'<ul>' * inner}"
        elif inner:
            opened = " open" * (row.level == 1 and row.best)
            yield f"<li><details{opened}><summary>{_line(row)}</summary><ul>\n"
        else:
            yield f'<li><div class="alone">{_line(row)}</div></li>\n'
        for level in range(row.level - 1, following.level - 1, -1):
            yield "</ul></details></li>\n" if level else "</ul>"


def _line(row: Row) -> str:
    words = escape(row.words)
    if row.best:
        words = f'<b>{words} <span class="best">★ best</span></b>'
    chance = f" <small>{row.chance}</small>" if row.chance else ""
    return f'<span class="row"><span>{words}{chance}</span><span class="value">{_value(row)}</span></span>'


def _value(row: Row) -> str:
    said = _LEAVES.get(row.leaf)
    return f"<small>{said}</small> {row.value}" if said else row.value
