"""What the page on formalisms shows of other tools is read by them, and has the value that the page computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "formalism.md"
VALUE = 16 / 9


def block(kind: str, part: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    (found,) = (
        body
        for body in re.findall(rf"^```{re.escape(kind)}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if part in body
    )
    return str(found)


def test_storm_reads_the_modules(tmp_path: Path) -> None:
    import stormpy

    (tmp_path / "turn.prism").write_text(block("text", "endmodule"), encoding="utf-8")
    program = stormpy.parse_prism_program(str(tmp_path / "turn.prism"))
    (question,) = stormpy.parse_properties('R{"payoff"}max=? [ C ]', program)
    model = stormpy.build_model(program, [question])
    result = stormpy.model_checking(model, question)
    assert result.get_value(model.initial_states[0]) == pytest.approx(VALUE, rel=1e-9)


def test_quantecon_solves_the_arrays() -> None:
    names: dict[str, object] = {"GOAL": 3}
    exec(block("{testcode}", "s_indices = "), names)
    *call, answer = block("text", "qe.markov").strip().splitlines()
    exec("\n".join(call), names)
    assert eval(answer, names)[0] == pytest.approx(VALUE, abs=1e-3)  # with the page's discount of 0.99999
