"""Claims about small networks, for tests of the checkers."""

from __future__ import annotations

import numpy as np

from mdpdice import Network


def network(rows, *, discount=1, horizon=None, payoff=None) -> Network:
    """Nodes as (kind, [(target, weight, reward, sign, step)]), shorter edges filled up."""
    edges = [tuple(edge) + (1.0, 0.0, 1, False)[len(edge) - 1 :] for _, row in rows for edge in row]
    columns = list(zip(*edges, strict=True))
    return Network(
        kind=[kind for kind, _ in rows],
        indptr=np.cumsum([0, *(len(row) for _, row in rows)]),
        dst=columns[0],
        weight=columns[1],
        reward=columns[2],
        sign=columns[3],
        step=columns[4],
        payoff=[0.0] * len(rows) if payoff is None else payoff,
        start=0,
        discount=discount,
        horizon=horizon,
    )


def claim(net, policy, below, above, *, group=None, rank=None, label=None, gains=None) -> tuple:
    """Arguments of `verify` for the claim that values lie in [below, above]."""
    bounds = np.concatenate((-np.asarray(below, float), np.asarray(above, float)), axis=-1)
    size = 2 * net.n_nodes
    default = {"group": np.full(size, -1), "rank": np.zeros(size, int), "label": np.zeros(size, int)}
    given = {"group": group, "rank": rank, "label": label}
    arrays = {key: default[key] if value is None else np.asarray(value) for key, value in given.items()}
    return net, np.asarray(policy), bounds, {**arrays, "gains": gains}
