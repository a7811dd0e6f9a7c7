"""The tree of a game as one page for a browser, to fold out; without scripts, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise

from mdpdice.policies.game_tree import Row

__all__ = ["page"]

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
_LEAVES = {"end": "the end", "value": "", "estimate": "estimated", "again": "comes again"}


def page(rows: Iterable[Row], title: str, about: Sequence[str], notes: Sequence[str] = ()) -> str:
    """Write a tree as a page.

    Parameters
    ----------
    rows : iterable of Row
        What is shown, of `Tree.rows`.
    title : str
        The game.
    about : sequence of str
        What is said of it.
    notes : sequence of str
        Remarks below.

    Returns
    -------
    str
        HTML.
    """
    heads = "".join(f"<p>{escape(text)}</p>" for text in about if text)
    below = "".join(f"<p>{escape(text)}</p>" for text in notes)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: what is ahead</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{heads}\n{''.join(_items(rows))}\n"
        f"<footer><p>{_LEGEND}</p>{below}</footer></main></body>\n</html>\n"
    )


def _items(rows: Iterable[Row]) -> Iterator[str]:
    """The rows as lists in lists."""
    end = Row(0, None, None)
    for row, following in pairwise([*rows, end]):
        inner = following.level > row.level
        if row.parent is None and row.node is not None:
            yield f"<h2>{escape(row.node.state or '')}: {_leaf(row)}{row.node.figure}</h2>\n{'<ul>' * inner}"
        elif inner:
            opened = " open" if row.level == 1 and row.node is not None and row.node.best else ""
            yield f"<li><details{opened}><summary>{_row(row)}</summary><ul>\n"
        else:
            yield f'<li><div class="alone">{_row(row)}</div></li>\n'
        for level in range(row.level - 1, following.level - 1, -1):
            yield "</ul>" if not level else "</ul></details></li>\n"


def _row(row: Row) -> str:
    node, parent = row.node, row.parent
    if node is None or parent is None:
        return escape(row.more)
    name = escape(node.name)
    if parent.decides:
        # Who decides goes without saying where it is the player at the top.
        name = f"{'they ' if parent.who == 'they' else ''}{name}"
        best = ' <span class="best">★ best</span>' if node.best else ""
        words = f"<span>{f'<b>{name}</b>' if node.best else name}{best}</span>"
    else:
        words = f"<span>{name} <small>{node.chance}</small></span>"
    return f'<span class="row">{words}<span class="value">{_leaf(row)}{node.figure}</span></span>'


def _leaf(row: Row) -> str:
    said = _LEAVES[row.node.leaf] if row.node is not None and row.node.leaf else ""
    return f"<small>{said}</small> " if said else ""
