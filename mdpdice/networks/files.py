"""Networks as files: numpy arrays and a JSON header in one archive, sealed by a hash.

The file is an ``.npz`` archive without compression, so `numpy.load` reads it too.  Its members are

* ``header``, the bytes of a JSON object: format and version, start, discount,
  horizon, total, sense, warnings, the exact numbers that no float equals (as hexadecimal
  fractions), the digest of the network, and how the names are stored;
* ``states`` and ``actions``, the bytes of JSON lists in the form of
  `mdpdice.modelling.text`, or, for states, of the texts that the game's look gives;
* the arrays of `mdpdice.networks.network.Network`, one member each.

The archive is sealed (`mdpdice.archives`), so damage is found before a byte is
interpreted.  Whoever wrote a file on purpose can make the seal right, so nothing in it
is trusted either: the network is validated like any other and compared with its digest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.archives import Archive, exact_text, rational, read_header, text_member, write_archive
from mdpdice.errors import UnknownStateError
from mdpdice.looks.look import look_of
from mdpdice.modelling.game import Game
from mdpdice.modelling.text import decode, encode, named_classes
from mdpdice.networks.network import Network

FORMAT = "mdpdice-network"
VERSION = 1
NETWORK_DTYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("header", "states", "actions", "kind"), ("|u1",)),
    **dict.fromkeys(("indptr", "dst", "state_node", "node_state"), ("<i8",)),
    **dict.fromkeys(("weight", "reward", "payoff"), ("<f8",)),
    "sign": ("|i1",),
    "step": ("|b1",),
    "numerator": ("<i8", "<f8"),
}
_NONE = type(None)
_HEADER: Mapping[str, Any] = {
    **dict.fromkeys(("format", "discount", "total", "sense", "digest"), str),
    **dict.fromkeys(("version", "start"), int),
    **dict.fromkeys(("averaged", "shown"), bool),
    **dict.fromkeys(("horizon", "states"), (int, _NONE)),
    **dict.fromkeys(("exact_rewards", "exact_payoffs"), dict),
    "warnings": list,
    "exact_numerators": (list, _NONE),
}


# --- writing -----------------------------------------------------------------


def write_network(network: Network, path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> None:
    """Implement `Network.save`."""
    numbered = network.states == range(network.n_states)
    states = [] if numbered else _state_texts(network, game)
    actions = [encode(action) for action in network.actions]
    write_archive(path, network_members(network, states, actions, shown=game is not None))


def network_members(network: Network, states: Any, actions: Any, *, shown: bool = False) -> dict[str, NDArray[Any]]:
    """Return the members of an archive that hold a network, given its names as JSON data."""
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
        "shown": shown,
        "exact_numerators": [exact_text(x) for x in network.numerator.tolist()] if exact else None,
        "exact_rewards": {str(at): exact_text(x) for at, x in sorted(network.exact_rewards.items())},
        "exact_payoffs": {str(at): exact_text(x) for at, x in sorted(network.exact_payoffs.items())},
    }
    members: dict[str, NDArray[Any]] = {
        "header": text_member(header),
        "states": text_member(states),
        "actions": text_member(actions),
    }
    for name, dtypes in NETWORK_DTYPES.items():
        if name not in members:
            array = np.zeros(0) if exact and name == "numerator" else getattr(network, name)
            members[name] = array if array.dtype.str in dtypes else array.astype(dtypes[0])
    return members


def _state_texts(network: Network, game: Game[Any, Any] | None) -> list[Any]:
    if game is not None:
        show = look_of(game).show_state
        return [show(state) for state in network.states]
    try:
        return [encode(state) for state in network.states]
    except UnknownStateError as error:
        error.message += "; with Network.save(path, game) the game's look writes the states"
        raise


# --- reading -----------------------------------------------------------------


def read_network(path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> Network:
    """Implement `Network.load`."""
    source = NetworkFile(os.fspath(path), game)
    return source.network(source.read())


class NetworkFile(Archive):
    """A file being read, and the game that knows its names."""

    def __init__(self, path: str, game: Game[Any, Any] | None) -> None:
        super().__init__(path, NETWORK_DTYPES, "write it again with Network.save")
        self.game = game
        self.classes = {} if game is None else named_classes(type(game))

    def network(self, members: dict[str, NDArray[Any]]) -> Network:
        """Return the network of the members."""
        header = read_header(self, members, FORMAT, VERSION, _HEADER, older={"sense": "max"})
        fields: dict[str, Any] = {name: header[name] for name in ("start", "horizon", "sense", "averaged")}
        with self.part("warnings"):
            if not all(isinstance(text, str) for text in header["warnings"]):
                raise self.corrupt("warnings", "they are not all text")
            fields["warnings"] = tuple(header["warnings"])
        for key in ("discount", "total"):
            with self.part(key):
                fields[key] = rational(header[key])
        for key in ("exact_rewards", "exact_payoffs"):
            with self.part(key):
                fields[key] = {int(at): rational(text) for at, text in header[key].items()}
        n_states = header["states"]
        if n_states is None:
            read = self.name if self.game is None or not header["shown"] else look_of(self.game).read_state
            fields["states"] = self.names(members, "states", read)
        else:
            # Checked before the range is used: a network has a node for every state.
            if n_states != len(members["state_node"]):
                raise self.corrupt("states", f"{n_states} states, {len(members['state_node'])} in state_node")
            fields["states"] = range(n_states)
        fields["actions"] = self.names(members, "actions", self.name)
        fields |= {name: members[name] for name in NETWORK_DTYPES if name not in ("header", "states", "actions")}
        if header["exact_numerators"] is not None:
            if len(fields["numerator"]):
                raise self.corrupt("numerator", "numerators are given twice")
            with self.part("exact_numerators"):
                numbers = [rational(text) for text in header["exact_numerators"]]
                whole = [x.numerator if x.denominator == 1 else x for x in numbers]
                fields["numerator"] = np.array([*whole, None], dtype=object)[:-1]
        with self.part("network"):
            network = Network(**fields)
        if network.digest != header["digest"]:
            raise self.corrupt("digest", "the network is not the one whose digest it states")
        return network

    def names(self, members: dict[str, NDArray[Any]], field: str, read: Callable[[Any], Hashable]) -> list[Hashable]:
        """Return the names in a member, each made by `read`."""
        with self.part(field):
            data = json.loads(members[field].tobytes())
            if not isinstance(data, list):
                raise self.corrupt(field, "it is not a list")
            try:
                return [read(item) for item in data]
            except UnknownStateError as error:
                # The file is sound; the game that was given is another one.
                unknown = error
        raise unknown

    def name(self, data: Any) -> Hashable:
        """Return a state or action; its text, as the game's look writes it, where there is no game to read it."""
        try:
            name: Hashable = decode(data, self.classes)
        except UnknownStateError:
            if self.game is not None:
                raise
            name = json.dumps(data, ensure_ascii=False)
        return name
