"""Write the table of thresholds into the architecture page: the constants that choose between implementations.

    python docs/thresholds.py [--check]

A threshold is a number that a module gives a name with FROM, UP_TO or AFTER in it; the string below it says what
changes there. With ``--check`` nothing is written, and the exit status is 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- thresholds: written by docs/thresholds.py -->\n", "<!-- end of thresholds -->\n"
NAME = re.compile(r"[A-Z_]*_(FROM|UP_TO|AFTER)(_[A-Z_]+)?")


def thresholds(path: Path) -> Iterator[tuple[str, float, str]]:
    """Find the thresholds of a module: name, value, and the first paragraph on what they gate."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, below in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if NAME.fullmatch(name):
                match below:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield name, _number(node.value), " ".join(text.split("\n\n")[0].split())
                    case _:
                        raise SystemExit(f"{path}: write below {name} what changes there, as a string")


def _number(node: ast.expr) -> float:
    match node:
        case ast.BinOp(left=left, op=ast.LShift(), right=right):
            return int(_number(left)) << int(_number(right))
        case _:
            return ast.literal_eval(node)  # type: ignore[no-any-return]


def table() -> str:
    """Lay the thresholds of the library and its solvers out as a table, by module."""
    rows = ["| module | threshold | value | what it gates |", "| --- | --- | --- | --- |"]
    for top in ("mdpdice", "solvers"):
        for path in sorted((ROOT / top).rglob("*.py")):
            module = path.relative_to(ROOT / "mdpdice" if top == "mdpdice" else ROOT).with_suffix("").as_posix()
            rows += [f"| `{module}` | `{name}` | {value:,.12g} | {text} |" for name, value, text in thresholds(path)]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the page again, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} has no lines {BEGIN.strip()!r} and {END.strip()!r}, between which the table belongs")
    fresh = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if fresh == page:
        return
    if given.check:
        raise SystemExit(f"{PAGE} is out of date: run python docs/thresholds.py")
    PAGE.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
