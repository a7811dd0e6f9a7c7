"""Compute the records of ``docs/records.json`` again and compare, or write them down.

    python docs/records.py [--all] [--json] [NAME ...]
    python docs/records.py --write [NAME ...]
    python docs/records.py --check

A record is the command of a shell, run here in a process of its own, and what it printed: value, interval, number of
states and the digest of all values, which must be the same to the last bit.  Without names the cheap records are
computed, those that took at most `CHEAP` CPU seconds when they were written down; with ``--all`` every one.  The exit
status is 1 where something differs.

``--write`` puts what the commands print into the file, with CPU seconds, peak memory and version, and makes the tables
of ``docs/records.md``; without names it computes the records without a value.  ``--check`` computes nothing and fails
if that page is out of date.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import mdpdice

ROOT = Path(__file__).resolve().parents[1]
FILE, PAGE = ROOT / "docs" / "records.json", ROOT / "docs" / "records.md"
BEGIN, END = "<!-- records: written by docs/records.py -->\n", "<!-- end of records -->\n"
CHEAP = 30
"""CPU seconds."""
GIVEN = ("name", "rules", "command", "known_before")
FOUND = ("value", "lower", "upper", "states", "digest")
MEASURED = ("cpu_seconds", "peak_mb", "version")
FIELDS = ("name", "rules", *FOUND[:4], "command", "digest", *MEASURED, "known_before")

Record: TypeAlias = dict[str, Any]


def compute(record: Record) -> Record:
    """Run the command of a record, and return what it found and what it took."""
    program, *words = shlex.split(record["command"])
    if program != "mdpdice":
        raise SystemExit(f"{record['name']}: {record['command']!r} is not a command of mdpdice")
    words += ["--json"] if words[0] == "best-set" else ["--json", "--no-cache"]
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen([sys.executable, "-P", "-m", "mdpdice.cli", *words], cwd=ROOT, stdout=told)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        text = told.read().decode()
    if process.returncode:
        raise SystemExit(f"{record['name']}: exit status {process.returncode} of {record['command']!r}: {text}")
    data = json.loads(text)
    found = {key: data.get("values_digest" if key == "digest" else key) for key in FOUND}
    mb = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    return {
        **found,
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(mb),
        "version": mdpdice.__version__,
    }


def compare(record: Record, found: Record) -> str:
    """Return in what a record and what was found differ; nothing if they agree to the last bit."""
    differ = [key for key in FOUND if record[key] != found[key]]
    if not differ:
        return ""
    if found["upper"] < record["lower"] or found["lower"] > record["upper"]:
        return f"contradicts: [{found['lower']}, {found['upper']}] against [{record['lower']}, {record['upper']}]"
    return "differs, within both intervals: " + ", ".join(f"{k} {found[k]} was {record[k]}" for k in differ)


def shown(lower: float, upper: float) -> str:
    """Return the value to as many decimals, twelve at most, as both ends of its interval share."""
    for digits in range(12, -1, -1):
        if f"{lower:.{digits}f}" == f"{upper:.{digits}f}":
            return f"{lower:.{digits}f}"
    return f"{(lower + upper) / 2:.0f}"


def _outward(x: float, rounding: str) -> str:
    return format(Decimal(x).quantize(Decimal("1e-12"), rounding=rounding).normalize(), "f")


def tables(records: list[Record]) -> str:
    """Lay the records out for the page: what was found, then what it is and who knew."""
    rows = ["| record | value | interval | states | digest |", "| --- | --- | --- | --- | --- |"]
    for one in records:
        interval = f"[{_outward(one['lower'], 'ROUND_FLOOR')}, {_outward(one['upper'], 'ROUND_CEILING')}]"
        states = "" if one["states"] is None else f"{one['states']:,}"
        digest = "" if one["digest"] is None else f"`{one['digest'][:12]}`"
        rows.append(f"| {one['name']} | {shown(one['lower'], one['upper'])} | {interval} | {states} | {digest} |")
    for one in records:
        rows += ["", f"**{one['name']}.** {one['rules']}", "", f"    {one['command']}", ""]
        rows += [f"Known before: {one['known_before']}"]
    return "\n".join(rows) + "\n"


def write_page(records: list[Record], *, check: bool = False) -> None:
    """Write the tables into the page, or check that they are there."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} has no lines {BEGIN.strip()!r} and {END.strip()!r}, between which the tables belong")
    fresh = f"{before}{BEGIN}\n{tables([one for one in records if one['value'] is not None])}\n{END}{after}"
    if fresh != page and check:
        raise SystemExit(f"{PAGE} is out of date: run python docs/records.py --write")
    if fresh != page:
        PAGE.write_text(fresh, encoding="utf-8")


def main() -> int:
    """Compute, and compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the records to compute")
    parser.add_argument("--all", action="store_true", help="compute every record")
    parser.add_argument("--write", action="store_true", help="write down what is found")
    parser.add_argument("--check", action="store_true", help="compute nothing; fail if the page is out of date")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--records", type=Path, default=FILE, metavar="FILE", help="another file than that of the docs")
    given = parser.parse_args()
    records: list[Record] = json.loads(given.records.read_text(encoding="utf-8"))
    if given.check:
        write_page(records, check=True)
        return 0
    if unknown := set(given.names) - {one["name"] for one in records}:
        raise SystemExit(f"no record is called {', '.join(sorted(unknown))}")
    failed, told = 0, []
    for one in records:
        cheap = one.get("value") is None if given.write else (one.get("cpu_seconds") or math.inf) <= CHEAP
        if not (one["name"] in given.names if given.names else given.all or cheap):
            continue
        found = compute(one)
        differs = "" if given.write else compare(one, found)
        failed += bool(differs)
        told.append({"name": one["name"], **found, "differs": differs})
        if given.write:
            one.update(found)
            ordered = [{key: each.get(key) for key in FIELDS} for each in records]
            given.records.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            if given.records == FILE:
                write_page(ordered)
        if not given.json:
            outcome = differs or ("written" if given.write else "the same")
            print(f"{found['cpu_seconds']:8.1f} s {found['peak_mb']:6} MB  {one['name']}: {outcome}", flush=True)
    if given.json:
        print(json.dumps(told))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
