"""Solves that are stopped, checkpoints that are changed, and what must come out the same."""

from __future__ import annotations

import json
import threading
from types import MappingProxyType

import numpy as np

from mdpdice import Game, decide, die, end, go, roll
from mdpdice.archives import text_member, write_archive
from mdpdice.backend import Run
from mdpdice.solving import pipeline


def walk(ends=30):
    """Fair steps between two ends; slow enough to be stopped."""
    return Game.of(
        start=ends // 2, node=lambda n: end(n // ends) if n in {0, ends} else roll(die(2), lambda k: go(n + 2 * k - 3))
    )


def components():
    return Game.of(
        start=(0, 5),
        node=lambda s: (
            end(3)
            if s[0] == 4
            else decide({"on": go((s[0] + 1, 5)), "round": roll(die(6), lambda k: go((s[0] + (k == 6), k)), reward=1)})
        ),
    )


def same(one, two):
    assert one.nodes.values.tobytes() == two.nodes.values.tobytes()
    assert one.nodes.lowers.tobytes() == two.nodes.lowers.tobytes()
    assert one.nodes.choice.tobytes() == two.nodes.choice.tobytes()
    assert (one.status, one.iterations) == (two.status, two.iterations)
    assert one.value() == two.value()


def certify_unwatched(monkeypatch):
    """Let looks at the clock count while a solver is at work only, so that every leg gets on."""
    certify = pipeline.certify

    def unwatched(problem, value, policy, epsilon, check, details=MappingProxyType({})):
        watches = isinstance(getattr(check, "__self__", None), Run)
        return certify(problem, value, policy, epsilon, (lambda: None) if watches else check, details)

    monkeypatch.setattr(pipeline, "certify", unwatched)


class Interrupting(threading.Event):
    """A cancel event that is set when it was looked at so many times, beyond once for each reduction of `Total`."""

    def __init__(self, looks):
        super().__init__()
        self.looks = 7 + looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


def written(path, series="state", attempt=0):
    """The last file of a series in a checkpoint."""
    return max(path.glob(f"{attempt}-{series}-*.npz"))


def steps_of(file):
    """Header of a file of a checkpoint, and the arrays of its steps."""
    with np.load(file) as members:
        header, data = json.loads(members["header"].tobytes()), members["data"].copy()
    at, steps = 0, []
    for layout in header["steps"]:
        step = {}
        for name, dtype, shape in layout:
            length = int(np.prod(shape)) * np.dtype(dtype).itemsize
            step[name] = data[at : at + length].view(dtype).reshape(shape)
            at += length
        steps.append(step)
    return header, data, steps


def forge(path, change, series="state"):
    """Change the arrays of the last step in a checkpoint and seal it again."""
    file = written(path, series)
    header, data, steps = steps_of(file)
    change(steps[-1])
    write_archive(file, {"header": text_member(header), "data": data})


def put(name, value, at=...):
    def change(views):
        views[name][at] = value

    return change
