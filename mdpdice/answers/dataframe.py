"""Solutions as data frames of pandas, which is imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdpdice.errors import MissingPackageError
from mdpdice.modelling.text import ITSELF, fields_of
from mdpdice.networks.network import Floats, Ints, Kind, Network

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["data_frame"]


def data_frame(
    network: Network, values: Floats, lowers: Floats, uppers: Floats, policy: Ints, *, decisions: bool
) -> pd.DataFrame:
    """One row per state, with the values and the chosen edge of its node; see `Solution.to_dataframe`."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise MissingPackageError("a data frame needs pandas: pip install pandas", package="pandas") from error
    nodes = network.state_node
    index = np.flatnonzero(network.decides[nodes]) if decisions else np.arange(network.n_states)
    nodes = nodes[index]
    states = [network.states[at] for at in index.tolist()]
    columns: dict[str, Any] = {
        "state": pd.Series(states, dtype=object),
        "kind": pd.Categorical.from_codes(network.kind[nodes], categories=[kind.name for kind in Kind]),
        "value": values[nodes],
        "lower": lowers[nodes],
        "upper": uppers[nodes],
        "action": pd.Series(
            [None if edge < 0 else network.action_of(edge) for edge in policy[nodes].tolist()], dtype=object
        ),
    }
    fields = [fields_of(state) for state in states]
    for name in dict.fromkeys(name for one in fields for name in one):
        if name != ITSELF:
            # What the state calls "value" is not the value of the state.
            column = f"state.{name}" if name in columns else name
            columns[column] = [one.get(name) for one in fields]
    return pd.DataFrame(columns)
