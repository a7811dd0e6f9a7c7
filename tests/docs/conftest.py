"""Running the examples, once each."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def output_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Output of an example by its name and arguments; it must not fail, and not write to the error stream.

    A process of its own for each would spend more time on imports than most examples take.
    """
    base = tmp_path_factory.getbasetemp()
    # All processes of pytest-xdist look into one folder.
    outputs = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "outputs"
    outputs.mkdir(exist_ok=True)

    def run(name: str, *arguments: str) -> str:
        known = outputs / f"{'-'.join((*name.split('/'), *arguments))}.txt"
        if not known.exists():
            script, told, complaints = EXAMPLES / f"{name}.py", io.StringIO(), io.StringIO()
            with (
                pytest.MonkeyPatch.context() as patch,
                warnings.catch_warnings(),
                contextlib.redirect_stdout(told),
                contextlib.redirect_stderr(complaints),
            ):
                warnings.simplefilter("error")
                patch.chdir(tmp_path_factory.mktemp(script.stem))
                patch.setattr(sys, "argv", [str(script), *arguments])
                runpy.run_path(str(script), run_name="__main__")
            assert not complaints.getvalue()
            written = tmp_path_factory.mktemp("output") / known.name
            written.write_text(told.getvalue(), encoding="utf-8")
            written.replace(known)  # in one step: another process may be looking
        return known.read_text(encoding="utf-8")

    return run
