"""List phrases that read as if translated, with what to write instead.

    python docs/english.py              everything in the checkout of the current folder
    python docs/english.py docs games   some files and folders of it

Comments and strings of Python files are read, and pages and notebooks outside fenced code. Each hit is printed as
``file:line: phrase -> replacement``, their number at the end. The exit status is 1 if there are any; what is right as
it stands is listed in `ALLOWED`, with the reason.
"""

import argparse
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PLACES = (
    "mdpdice",
    "solvers",
    "games",
    "docs",
    "examples",
    "benchmarks",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
SKIPPED = {"_build", "_gallery", "_pages", "__pycache__", "english.py"}

#: What to look for and what to write. A blank stands for any white space, and case does not matter.
PATTERNS = r"""
\b(?:he|his|him|himself)\b                                -> they, their, them; the player
(?<!`)\b(?:is|are|was|were|be) told(?! (?:apart|to)\b)    -> is given, is shown, is reported; the error says
\btells? (?:how|what|where|which|why|it|nobody|exactly)\b -> show, say, report, evaluate
\bfound out\b                                             -> caught, detected, determined
\bthat there (?:is|are)\b                                 -> that exist, available; or drop it
\b(?:is|are) (?:none of\b|no (?=[\w-]+ of\b))             -> is not one of, is not a
\bthat is (?-i:none)\b                                    -> invalid, unknown
(?:\n\n|[.;:(*|] )who (?!can|may|has|is\b|are\b|play|find|decide|check|was\b)\w+ -> a player who, if you
\b(?:some|every|any)body\b|\b(?:tells?|for|by|of|to) nobody\b|\bnobody's\b   -> a player, the user, no one; name who
\b(?:written|writes?|writing) (?:\w+ )?out\b              -> expand, list in full
\bat work\b                                               -> running, in progress
\blooks? at the clock\b                                   -> check the time
\bhand(?:s|ed)? (?:out|over)\b                            -> return, give, pass on
\banew\b                                                  -> again, from scratch
\bwants? (?:much|little|as much|as little|most|least|it so|of it)\b -> maximises, minimises
\bas (?:much|little) as possible\b                        -> maximise, minimise
\b(?:goes|go|going|went) round\b                          -> loop, cycle, circulate
\bcomes? to where\b                                       -> reach
\b(?:after|from|of|in|least|most|for|within|down|only) so (?:many|much)\b(?! (?:as|that|more|less|faster)) -> N
\bof which (?:the|a|it|you|one)\b                         -> whose; or two sentences
\bby custom\b                                             -> usually
\bdearest\b|\bdearer\b                                    -> most expensive, costlier
\bbelong(?:s|ing)? into\b                                 -> belongs in
\b(?:sees?|saw|seen) to it\b                              -> ensure, make sure
\bby a second way\b                                       -> in a second way
\bof one's own\b|\bby oneself\b                           -> of your own; yourself
\bto and fro\b                                            -> back and forth
\bwhat there (?:is|are)\b                                 -> the available ...
\b(?:paid|pays|collects?|remarks) on the way\b            -> intermediate rewards, rewards during the play
"""

#: Hits that are right: in this file (or folder) this phrase.
ALLOWED = (
    ("games/school", "he"),  # Bob the Dice Master is the name of a program, and a man
)


def main() -> int:
    """Print the hits and their number."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "places", nargs="*", default=PLACES, help="files and folders; by default product, docs, examples"
    )
    hits = [hit for place in parser.parse_args().places for file in files(Path(place)) for hit in find(file)]
    print(*hits, f"hits {len(hits)}", sep="\n")
    return int(bool(hits))


def files(place: Path) -> Iterator[Path]:
    """List the files that are read in a folder."""
    for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if file.suffix in {".py", ".md", ".rst", ".ipynb"} and not SKIPPED.intersection(file.parts):
            yield file


def find(file: Path) -> Iterator[str]:
    """List the hits in a file."""
    text = {".py": texts, ".md": prose, ".ipynb": cells}.get(file.suffix, str)(file.read_text(encoding="utf-8"))
    found = []
    for line in PATTERNS.strip().splitlines():
        pattern, better = line.split(" -> ")
        for hit in re.finditer(pattern.strip().replace(" ", r"\s+"), text, re.IGNORECASE | re.MULTILINE):
            phrase = " ".join(hit.group().split())
            if not any(file.as_posix().startswith(place) and phrase.lower() == right for place, right in ALLOWED):
                found.append((text.count("\n", 0, hit.start()) + 1, phrase, better))
    return (f"{file}:{line}: {phrase} -> {better}" for line, phrase, better in sorted(found))


def texts(source: str) -> str:
    """Keep comments and strings of a Python file, and blank their marks; code becomes a row of ``~``."""
    lines = [re.sub(r"\S", "~", line) for line in source.splitlines()]
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if tokenize.tok_name[token.type] in {"COMMENT", "STRING", "FSTRING_MIDDLE"}:
            kept = re.sub(
                r"^[rbfu]*(\"\"\"|\"|')|(\"\"\"|\"|')$|^#", lambda mark: " " * len(mark.group()), token.string
            )
            first, begin = token.start
            for number, part in enumerate(kept.split("\n"), first - 1):
                line, begin = lines[number], begin if number == first - 1 else 0
                lines[number] = line[:begin] + part + line[begin + len(part) :]
    return "\n".join(lines)


def prose(page: str) -> str:
    """Blank what is fenced in a page, except the lines."""
    return re.sub(
        r"^(```+|~~~+)(?!\{(?:note|warning|tip)).*?^\1",
        lambda code: "\n" * code.group().count("\n"),
        page,
        flags=re.MULTILINE | re.DOTALL,
    )


def cells(notebook: str) -> str:
    """Blank what surrounds the lines of a notebook."""
    return re.sub(r'\\n",?$|^ *"', lambda mark: " " * len(mark.group()), notebook, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
