"""Policies as files: sealed archives (`mdpdice.archives`) that belong to one network.

A file holds the chosen edges, the weights of a randomised policy, and the digest of the
network.  States and actions are not stored: whoever reads the file has the network, or
the game that it is explored from, and edges are numbers in it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.policy import Policy
from mdpdice.archives import Archive, exact_text, rational, read_header, text_member, write_archive
from mdpdice.networks.network import Network

__all__ = ["load_policy", "save_policy"]

FORMAT = "mdpdice-policy"
VERSION = 1
_OTHER = (
    "it belongs to another network: of another game or other parameters of it, or of another objective, discount or "
    "horizon; Policy.on carries a policy over"
)
_DTYPES = {"header": ("|u1",), "choice": ("<i8",), "weight": ("<i8", "<f8")}
_HEADER = {"format": str, "version": int, "digest": str, "randomised": bool, "exact_weights": (list, type(None))}


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> None:
    """Write a policy to a file, which is replaced at once or not at all."""
    weight, exact = np.zeros(0) if policy.weight is None else policy.weight, None
    if weight.dtype == object:
        weight, exact = np.zeros(0), [exact_text(number) for number in weight.ravel().tolist()]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "digest": policy.network.digest,
        "randomised": policy.randomised,
        "exact_weights": exact,
    }
    write_archive(path, {"header": text_member(header), "choice": policy.choice, "weight": weight})


def load_policy(path: str | os.PathLike[str], network: Network) -> Policy:
    """Read a policy of a network; see `Policy.load`."""
    file = Archive(os.fspath(path), _DTYPES, "write it again with Policy.save", dimensions=2)
    members = file.read()
    header = read_header(file, members, FORMAT, VERSION, _HEADER)
    if header["digest"] != network.digest:
        raise file.corrupt("digest", _OTHER)
    weight: NDArray[Any] | None = members["weight"]
    with file.part("exact_weights"):
        if header["exact_weights"] is not None:
            numbers = [rational(text) for text in header["exact_weights"]]
            weight = np.array([*numbers, None], dtype=object)[:-1]
            if members["choice"].ndim == 2:
                weight = weight.reshape(-1, network.n_edges)
    if not header["randomised"]:
        weight = None
    with file.part("policy"):
        return Policy(network, members["choice"], weight)
