"""The reference models of tests/data as networks, objectives and exact values."""

from __future__ import annotations

import functools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from mdpdice import Horizon, Network, Objective, Reach, Total, UntilReward

MODELS = Path(__file__).parent.parent / "data" / "models"


@attrs.frozen(eq=False)
class Case:
    """One property of one model.

    `exact` holds the reference value of every state, a Fraction or a float infinity.
    """

    name: str
    kind: str
    network: Network
    objective: Objective
    exact: list[Any]

    def row(self, array: np.ndarray) -> np.ndarray:
        """Entries of the states, with the whole horizon left."""
        return (array if array.ndim == 1 else array[-1])[self.network.state_node]


def names() -> list[str]:
    """Names of all properties that have a kind, as ``model/number``."""
    found = []
    for path in sorted(MODELS.glob("*.json")):
        properties = json.loads(path.read_text(encoding="utf-8"))["properties"]
        found += [f"{path.stem}/{at}" for at, prop in enumerate(properties) if prop.get("kind")]
    return found


@functools.cache
def load(name: str, *, exact: bool = False) -> Case:
    """Read a property, with probabilities and rewards as floats or as exact rationals."""
    stem, number = name.rsplit("/", 1)
    prop = json.loads((MODELS / f"{stem}.json").read_text(encoding="utf-8"))["properties"][int(number)]
    with np.load(MODELS / f"{stem}.npz", allow_pickle=False) as file:
        data = {key: file[key] for key in file.files}
    mine = {key.removeprefix(f"p{number}__"): value for key, value in data.items() if key.startswith(f"p{number}__")}
    reward = prop.get("reward") or ("reward" if "rew__reward" in data else None)
    if reward is None:
        rewards: Any = np.zeros(len(data["tr_ptr"]) - 1)
    else:
        rewards = data[f"{'rewx' if exact else 'rew'}__{reward}"]
    network = Network.from_choices(
        data["choice_ptr"],
        data["tr_ptr"],
        data["tr_col"],
        data["tr_prob_exact" if exact else "tr_prob"],
        rewards,
        owner=mine.get("owner", data.get("owner")),
        discount=Fraction(prop.get("gamma", 1)),
    )
    kind, sense = prop["kind"], prop.get("sense") or "max"
    targets = frozenset(mine["target"].tolist()) if "target" in mine else frozenset()
    if kind in ("reach_prob", "game_reach"):
        outside = () if "phi" not in mine else frozenset(range(network.n_states)) - set(mine["phi"].tolist())
        objective: Objective = Reach(targets, outside, sense=sense)
    elif kind == "reach_reward":
        objective = UntilReward(targets, sense=sense)
    elif kind == "finite_horizon":
        objective = Horizon(int(prop["k"]), sense=sense)
    else:
        objective = Total(sense)
    values = [float(text) if "inf" in text else Fraction(text) for text in mine["value_exact"].tolist()]
    return Case(name, kind, network, objective, values)
