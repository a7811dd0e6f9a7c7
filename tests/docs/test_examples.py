"""Every example runs and prints what the documentation says that it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# Patterns that the output must match, in this order.  Values are those that the docstring of the example
# names a source for, and sizes of the models; nothing here depends on the machine.
EXPECTED: dict[str, list[str]] = {
    "solve_in_100_lines": [
        r"65 states, 242 nodes\n",
        r"value 8\.141794893727, roll at the start\n",
        r"certified: True\n",
        r"the library: 8\.141794893727\n",
    ],
    "pig_turn": [
        r"a turn is worth 8\.141794893727 points",
        r"hold from 20 points on",
        r"19  19\.00   19\.1667   roll",
        r"20  20\.00   20\.0000   hold",
        r"both are as good: \['hold', 'roll'\]",
        r"\d independent solvers\nagree and certified",
    ],
    "classic_mdp": [
        r"1 +6\.000 save +-3\.000 save",
        r"2 +8\.200 spend +-1\.700 spend",
        r"4 +12\.222 spend +2\.223 spend",
        r"in favour +22\.197802  spend",
        r"out of favour +12\.307692  spend",
        r"the same from arrays: 22\.197802",
        r"agree and certified",
    ],
    "gambler": [
        r"25  0\.1600000000  25\n",
        r"49  0\.3762219782  1, 49\n",
        r"50  0\.4000000000  50\n",
        r"51  0\.4030984372  1, 49\n",
        r"75  0\.6400000000  25\n",
        r"25: 4/25, 50: 2/5, 75: 16/25",
        r"compared 2,601 values .* and 99 decisions",
        r"agree and certified",
    ],
    "frozen_lake": [
        r"goal: 14/17",
        r"0\.99: +0\.5420259320",
        r"left +up +up +up *\nleft +H +left +H *\nup +down +left +H *\nH +right +down +G",
        r"not slippery: 1\n",
        r"agree and certified",
        r"agree and certified",
    ],
    "inventory": [
        r"3 +67, 3 +129, 0 +194, 0 +227, 0\n2 +32, 2 +100, 0 +160, 0 +168, 0\n1 +0, 0 +80, 0 +96, 0 +80, 0",
        r"agree and certified",
    ],
    "machine_replacement": [
        r"0 +14948\.55  leave .*\n +1 +16261\.64  leave .*\n +2 +18635\.47  overhaul .*\n +3 +19453\.70  replace",
        r"average cost of a week: 1666\.7",
        r"agree and certified",
    ],
    "car_rental": [
        r"1,323 states, 441 MAX, 882 CHANCE",
        # The corners of figure 4.2 in the book.
        r"\n20 +5 .* 0\n",
        r"\n 0 +0 .* -4\n",
        r"441 decisions \(0 with ties\)",
        r"agree and certified",
    ],
    "counters": [
        # The race to 30 agrees with the shipped game, whose value at 100 is the published one.
        r"race to 30: (0\.5679147\d\d), and the shipped game \1",
        r"at At\('turn', mine=0, theirs=25, turn=20\): roll",
        r"94,656 edges",
        r"turn of Farkle: (96\.2491426\d\d), and the shipped game \1",
        r"explored state by state: 96\.2491426\d\d",
    ],
    "cross_check": [
        r"\d independent solvers\nagree and certified",
        r"of 1 independent solvers\n! 1 independent solver ran; agreement needs two\nNOT OK",
        r"\noff +uncertified +8\.14279489373",
        r"\ntimid +uncertified +8\.14179489373",
        r"! off is uncertified",
        r"! timid is uncertified",
        r"NOT OK",
    ],
    "lookahead_against_exact": [
        r"2 x 1 +6 +100\.0% \(0\.0000\) +100\.0% \(0\.0000\) +100\.0% \(0\.0000\)",
        r"3 x 1 +40 .* +100\.0% \(0\.0000\) +100\.0% \(0\.0000\)\n",
        r"2 x 2 +40 .* +100\.0% \(0\.0000\)\n",
    ],
    "school_bob": [
        # The best play is a published kind of number; Bob is evaluated in tests/school by five solvers.
        r"the best play 132\.339610477, Bob 127\.733620282",
        r"Bob loses 4\.605990195 points a game",
        r"turn  4  1\.0803",
        r"turn 15  0\.0000",
        r"reroll +reroll +3\.419  1\.1912",
        r"two-pairs +16\.3793 +31\.4086 +15\.0293",
    ],
    "own_solver": [
        r"-45\.037037037 in \[.*certified by howard> after 4 rounds",
        r"replace from wear 2",
        r"2 independent solvers\nagree and certified",
        r"uncertified by hasty",
        r"! hasty is uncertified",
        r"NOT OK",
        r"'howard' fails the check 'answer' on the model 'treadmill': it raised RuntimeError",
    ],
    "haddad_monmege": [
        r"20 rungs: exactly 7/10",
        r"0\.0000 .*value iteration",
        r"60 rungs: exactly 7/10",
        r"0\.0000 .*value iteration",
        r"0\.0000 .*HiGHS, which says optimal",
        r"10 rungs: about 0\.700000, certified, in \[0\.700000, 0\.700000\]",
        r"20 rungs: about 0\.700000, certified, in \[0\.[67]\d+, 0\.7000\d+\]",
        r"30 rungs: about .* uncertified",
        r"60 rungs: about .* uncertified, in \[-inf, inf\]",
        r"0\.6000, 'stop': uncertified, value-iteration",
        r"0\.6000, 'stop': uncertified, linear-programming",
        r"the cross-check does not pass",
        r"in rational numbers: 0\.7000, 'play': exact",
    ],
    "weighted_dice": [
        r"all ordinary +46,656 +462 +120 ",
        r"all different +46,656 +46,656 +4,120 ",
        r"Ordinary die +1:1:1:1:1:1 +564\.3409 +3\.1%",
        r"Weighted die +10:1:1:1:1:1 +5911\.0347",
        r"certified by",
    ],
    "yahtzee_chances": [r"three boxes, at least 60 points: 0\.1101881661"],
    "kcd_public_solver": [
        r"1 +399 +399\.0399780 +399\.1126543 +399\.1126543210",
        r"2 +517\.9492 +517\.9492188 +518\.0762299 +505\.5102004466",
        r"3 +517\.9492 +536\.5876465 +536\.6985048 +547\.3522341444",
        r"4 +538\.6540900",
        r"any, no cap +564\.4376204139",
        r"51725/4 = 12931\.25 points on banking is proved optimal",
    ],
}


def test_all_examples_are_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


def check(patterns: list[str], output: str) -> None:
    position = 0
    for pattern in patterns:
        found = re.compile(pattern).search(output, position)
        assert found, f"{pattern!r} is not in the output after character {position}:\n{output}"
        position = found.end()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name == "lookahead_against_exact" else []) for name in EXPECTED],
)
def test_example(name: str, output_of: Callable[..., str]) -> None:
    check(EXPECTED[name], output_of(name))


def test_looking_ahead_from_fewer_positions(output_of: Callable[..., str]) -> None:
    """The slow one, with the number of positions as an argument."""
    patterns = [pattern.replace("+40", "+5") for pattern in EXPECTED["lookahead_against_exact"]]
    patterns[0] = patterns[0].replace("+6 ", "+5 ")
    check(patterns, output_of("lookahead_against_exact", "5"))


def test_an_example_is_a_script(tmp_path: Path, output_of: Callable[..., str]) -> None:
    """Away from the checkout, whose folders would hide an installed mdpdice."""
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", EXAMPLES / "solve_in_100_lines.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, output_of("solve_in_100_lines"), "")
