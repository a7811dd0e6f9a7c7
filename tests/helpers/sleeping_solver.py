"""A solver that never comes back; in a module of its own, since a child process imports it."""

import time

import attrs

from mdpdice import Feature


@attrs.frozen
class Sleeper:
    name = "sleeper"
    features = frozenset(Feature)

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        time.sleep(600)
