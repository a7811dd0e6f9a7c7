"""Count the lines of the product: all lines, and lines of code.

    python docs/lines.py [--json] [CHECKOUT]

Lines of code hold no blank lines, no comments and no docstrings; a string under a constant counts as a docstring.
"""

from __future__ import annotations

import argparse
import ast
import json
import tokenize
from collections import defaultdict
from pathlib import Path

PRODUCT = ("mdpdice", "solvers", "games")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def count(path: Path) -> tuple[int, int]:
    """Count the lines of a module, and those of code among them."""
    text = path.read_text(encoding="utf-8")
    lines = iter(text.splitlines(keepends=True))
    code: set[int] = set()
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return text.count("\n"), len(code)


def count_folders(checkout: Path) -> dict[str, dict[str, int]]:
    """Count modules, lines and lines of code of each folder, and of all."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"files": 0, "lines": 0, "code": 0})
    for top in PRODUCT:
        for path in sorted((checkout / top).rglob("*.py"), key=lambda path: path.parent):
            lines, code = count(path)
            for folder in (path.parent.relative_to(checkout).as_posix(), "all"):
                counts[folder]["files"] += 1
                counts[folder]["lines"] += lines
                counts[folder]["code"] += code
    counts["all"] = counts.pop("all")  # last
    return counts


def main() -> None:
    """Print the counts, as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    counts = count_folders(given.checkout)
    if given.json:
        print(json.dumps(counts, indent=2))
        return
    print(f"{'folder':<42}{'files':>7}{'lines':>9}{'code':>9}")
    for folder, found in counts.items():
        print(f"{folder:<42}{found['files']:>7,}{found['lines']:>9,}{found['code']:>9,}")


if __name__ == "__main__":
    main()
