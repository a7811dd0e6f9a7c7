"""Threads for compiled loops, which release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

R = TypeVar("R")
T = TypeVar("T")


def threads() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers() -> ThreadPoolExecutor:
    """Return a thread for every processor, for `in_parallel`: one pool for many layers, which are often small."""
    return ThreadPoolExecutor(threads())


def in_parallel(pool: ThreadPoolExecutor, function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Results in order; the compiled loops inside `function` run side by side."""
    if threads() < 2 or len(items) < 2:
        return map(function, items)
    return pool.map(function, items)
