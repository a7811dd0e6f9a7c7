"""Networks as files: numpy arrays and a JSON header in one archive, sealed by a hash.

The file is an ``.npz`` archive without compression, so `numpy.load` reads it too.
Its members are

* ``header``, the bytes of a JSON object: format and version, start, discount,
  horizon, total, sense, warnings, the exact numbers that no float equals (as hexadecimal
  fractions), the digest of the network, and how the names are stored;
* ``states`` and ``actions``, the bytes of JSON lists in the form of
  `mdpdice.modelling.text`, or, for states, of the texts that the game's `show_state` gives;
* the arrays of `mdpdice.networks.network.Network`, one member each.

The archive is sealed (`mdpdice.archives`), so damage is found before a byte is
interpreted.  Whoever wrote a file on purpose can make the seal right, so nothing in it
is trusted either: the network is validated like any other and compared with its digest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.archives import Archive, exact_text, rational, text_member, write_archive
from mdpdice.errors import UnknownStateError
from mdpdice.modelling.game import Game
from mdpdice.modelling.text import decode, encode, named_classes
from mdpdice.networks.network import Network

__all__ = ["read_network", "write_network"]

FORMAT = "mdpdice-network"
VERSION = 1
_DTYPES: Mapping[str, tuple[str, ...]] = {
    "kind": ("|u1",),
    "indptr": ("<i8",),
    "dst": ("<i8",),
    "weight": ("<f8",),
    "reward": ("<f8",),
    "sign": ("|i1",),
    "step": ("|b1",),
    "payoff": ("<f8",),
    "numerator": ("<i8", "<f8"),
    "state_node": ("<i8",),
    "node_state": ("<i8",),
    "header": ("|u1",),
    "states": ("|u1",),
    "actions": ("|u1",),
}
_HEADER_KEYS = {
    "format", "version", "start", "discount", "horizon", "total", "sense", "warnings", "averaged", "digest",
    "states", "shown", "exact_numerators", "exact_rewards", "exact_payoffs",
}  # fmt: skip


# --- writing -----------------------------------------------------------------


def write_network(network: Network, path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> None:
    """Write a network to a file, which is replaced at once or not at all.

    Parameters
    ----------
    network : Network
        What to write.
    path : path
        The file.
    game : Game, optional
        Its `show_state` writes the states; for classes of states that have no text of their own.

    Raises
    ------
    UnknownStateError
        A state or an action is of a class that has no text.
    """
    exact = network.numerator.dtype == object
    header = {
        "format": FORMAT,
        "version": VERSION,
        "start": int(network.start),
        "discount": exact_text(network.discount),
        "horizon": network.horizon,
        "total": exact_text(network.total),
        "sense": network.sense,
        "warnings": list(network.warnings),
        "averaged": network.averaged,
        "digest": network.digest,
        # Numbered states are one number.
        "states": network.n_states if network.states == range(network.n_states) else None,
        "shown": game is not None,
        "exact_numerators": [exact_text(x) for x in network.numerator.tolist()] if exact else None,
        "exact_rewards": {str(at): exact_text(x) for at, x in sorted(network.exact_rewards.items())},
        "exact_payoffs": {str(at): exact_text(x) for at, x in sorted(network.exact_payoffs.items())},
    }
    members: dict[str, NDArray[Any]] = {
        "header": text_member(header),
        "states": text_member([] if header["states"] is not None else _state_texts(network, game)),
        "actions": text_member([encode(action) for action in network.actions]),
    }
    for name, dtypes in _DTYPES.items():
        if name not in members:
            array = np.zeros(0) if exact and name == "numerator" else getattr(network, name)
            members[name] = array if array.dtype.str in dtypes else array.astype(dtypes[0])
    write_archive(path, members)


def _state_texts(network: Network, game: Game[Any, Any] | None) -> list[Any]:
    if game is not None:
        return [game.show_state(state) for state in network.states]
    try:
        return [encode(state) for state in network.states]
    except UnknownStateError as error:
        error.message += "; with Network.save(path, game) the game's show_state writes the states"
        raise


# --- reading -----------------------------------------------------------------


def read_network(path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> Network:
    """Read a network that `write_network` wrote.

    Parameters
    ----------
    path : path
        The file.
    game : Game, optional
        Its classes read the states and actions.  Without it, those that are not made
        of numbers, strings and tuples come as their text.

    Raises
    ------
    CorruptFileError
        The file is damaged, is not such a file, or contradicts itself; `field` says where.
    UnknownStateError
        `game` has no class for a state or an action.
    """
    source = _File(os.fspath(path), game)
    return source.network(source.read())


class _File(Archive):
    """A file being read, and the game that knows its names."""

    def __init__(self, path: str, game: Game[Any, Any] | None) -> None:
        super().__init__(path, _DTYPES, "write it again with Network.save")
        self.game = game
        self.classes = {} if game is None else named_classes(type(game))

    def network(self, members: dict[str, NDArray[Any]]) -> Network:
        header = self.header(members)
        n_states = header["states"]
        states: Sequence[Hashable]
        if n_states is None:
            read = self.name if self.game is None or not header["shown"] else self.game.read_state
            states = self.names(members, "states", read)
        else:
            # Checked before the range is used: a network has a node for every state.
            if n_states != len(members["state_node"]):
                raise self.corrupt("states", f"{n_states} states, {len(members['state_node'])} in state_node")
            states = range(n_states)
        actions = self.names(members, "actions", self.name)
        for key, size in (("exact_rewards", len(members["dst"])), ("exact_payoffs", len(members["kind"]))):
            if not all(0 <= at < size for at in header[key]):
                raise self.corrupt(key, "a number belongs to no edge or node")
        arrays: dict[str, Any] = {
            name: members[name] for name in _DTYPES if name not in ("header", "states", "actions")
        }
        if header["exact_numerators"] is not None:
            if len(arrays["numerator"]):
                raise self.corrupt("numerator", "numerators are given twice")
            arrays["numerator"] = np.array([*header["exact_numerators"], None], dtype=object)[:-1]
        with self.part("network"):
            network = Network(
                **arrays,
                start=header["start"],
                discount=header["discount"],
                horizon=header["horizon"],
                total=header["total"],
                sense=header["sense"],
                states=states,
                actions=actions,
                exact_rewards=header["exact_rewards"],
                exact_payoffs=header["exact_payoffs"],
                warnings=header["warnings"],
                averaged=header["averaged"],
            )
        if network.digest != header["digest"]:
            raise self.corrupt("digest", "the network is not the one whose digest it states")
        return network

    def header(self, members: dict[str, NDArray[Any]]) -> dict[str, Any]:
        with self.part("header"):
            header = json.loads(members["header"].tobytes())
            if not isinstance(header, dict) or (header.get("format"), header.get("version")) != (
                FORMAT,
                VERSION,
            ):
                raise self.corrupt("header", f"it is not {FORMAT} version {VERSION}")
            header.setdefault("sense", "max")  # files of older versions
            if set(header) != _HEADER_KEYS:
                raise self.corrupt("header", f"its entries are not {', '.join(sorted(_HEADER_KEYS))}")
        for key, kinds in (
            ("start", (int,)),
            ("horizon", (int, type(None))),
            ("states", (int, type(None))),
            ("shown", (bool,)),
            ("digest", (str,)),
            ("warnings", (list,)),
            ("averaged", (bool,)),
        ):
            if type(header[key]) not in kinds:
                raise self.corrupt(key, f"{header[key]!r}")
        with self.part("warnings"):
            if not all(isinstance(text, str) for text in header["warnings"]):
                raise self.corrupt("warnings", "they are not all text")
            header["warnings"] = tuple(header["warnings"])
        for key in ("discount", "total"):
            with self.part(key):
                header[key] = rational(header[key])
        for key in ("exact_rewards", "exact_payoffs"):
            with self.part(key):
                header[key] = {int(at): rational(text) for at, text in header[key].items()}
        with self.part("exact_numerators"):
            if header["exact_numerators"] is not None:
                numbers = [rational(text) for text in header["exact_numerators"]]
                header["exact_numerators"] = [x.numerator if x.denominator == 1 else x for x in numbers]
        return header

    def names(
        self, members: dict[str, NDArray[Any]], field: str, read: Callable[[Any], Hashable]
    ) -> list[Hashable]:
        with self.part(field):
            data = json.loads(members[field].tobytes())
            if not isinstance(data, list):
                raise self.corrupt(field, "it is not a list")
        with self.part(field):
            try:
                return [read(item) for item in data]
            except UnknownStateError as error:
                # The file is sound; the game that was given is another one.
                unknown = error
        raise unknown

    def name(self, data: Any) -> Hashable:
        """A state or action; its text, as `Game.show_state` writes it, where there is no game to read it."""
        try:
            name: Hashable = decode(data, self.classes)
        except UnknownStateError:
            if self.game is not None:
                raise
            name = json.dumps(data, ensure_ascii=False)
        return name
