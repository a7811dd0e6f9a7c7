"""Konijnenhokken ("rabbit hutches"), a dice game by 999 Games."""

from mdpdice.games.konijnenhokken.game import Field, Konijnenhokken, Rolled
from mdpdice.games.konijnenhokken.race import KonijnenhokkenRace
from mdpdice.games.konijnenhokken.rules import Take
from mdpdice.games.konijnenhokken.stopping import StoppingBound, stopping_bound

__all__ = [
    "Field", "Konijnenhokken", "KonijnenhokkenRace", "Rolled", "StoppingBound", "Take", "stopping_bound",
]  # fmt: skip
