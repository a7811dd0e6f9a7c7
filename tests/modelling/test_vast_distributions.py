"""Distributions that cannot fit in memory are refused before they are made."""

from __future__ import annotations

import math

import pytest

from mdpdice import d6, die, pool, product
from mdpdice.errors import GameError
from mdpdice.modelling import distribution


@pytest.mark.parametrize(
    ("make", "count", "words"),
    [
        (lambda: product(*[d6] * 20), 6**20, r"product\(\) would have about 10\^15 outcomes.*use pool\(dice\)"),
        (lambda: product(*[d6] * 20000), 6**20000, r"about 10\^15563 outcomes"),
        (lambda: pool([die(100)] * 50), math.comb(149, 50), r"pool\(\) would have about 10\^"),
        (lambda: die(10**12), 10**12, r"die\(1000000000000\) would have 1,000,000,000,000 outcomes"),
    ],
    ids=["rolls", "more rolls", "pool", "die"],  # numbers of so many digits have no text
)
def test_it_is_refused_beforehand(make, count, words):
    with pytest.raises(GameError, match=words) as caught:
        make()
    assert caught.value.value == count


def test_what_fits_is_made(monkeypatch):
    monkeypatch.setattr(distribution, "FEW", 10)
    assert len(product(d6, d6)) == 36
    monkeypatch.setattr(distribution, "available_bytes", lambda: 3000)
    assert len(die(20)) == 20
    with pytest.raises(GameError, match="product.* would have 36 outcomes"):
        product(d6, d6)
