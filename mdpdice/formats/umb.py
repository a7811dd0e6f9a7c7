"""UMB, the unified Markov binary of Storm and PRISM, a packed folder of arrays with ``index.json`` beside them.

The package `umbi`, which needs Python 3.12, reads and writes the arrays; what it does not check is checked here.  The
names of the states stand in the ``file-data`` of the index, as UMB knows no other names than values of variables.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import logging
import lzma
import math
import tarfile
from collections.abc import Hashable
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mdpdice.archives import replaced
from mdpdice.errors import MdpDiceError, MissingPackageError, UnknownStateError, UnsupportedError
from mdpdice.formats.exported_model import REWARD, Explicit, Model, Start, explicit, start_of
from mdpdice.formats.line_reader import Labels, PathLike, Reader, number_text
from mdpdice.formats.row_sums import check_rows
from mdpdice.modelling.text import decode, encode
from mdpdice.networks.network import Ints, Network

_MOST = 1 << 29
"""Most bytes that are unpacked; as Python's numbers they take ten times as many."""

_WIDEST = 1 << 16
"""Most bits of a rational; to cancel longer ones takes minutes."""

_KINDS = ("dtmc", "mdp", "smg")
_SILENT = logging.NullHandler()


def _umbi() -> Any:
    try:
        umbi = import_module("umbi")
        import_module("umbi.umb.umb_to_tar")
    except ModuleNotFoundError as error:
        msg = "UMB needs the package umbi, which needs Python 3.12 or newer; with that: pip install 'mdpdice[umb]'"
        raise MissingPackageError(msg, package="umbi") from error
    logging.getLogger("umbi").addHandler(_SILENT)  # its warnings are for those who listen
    return umbi


def write_umb(network: Network, path: PathLike, *, exact: bool = True, labels: Labels = None) -> Explicit:
    """Write a network of one player or two as UMB, as `mdpdice.formats.exported_model` describes.

    Parameters
    ----------
    network, path, labels
        As for `write_drn`; the initial state is marked without a label.
    exact : bool
        Write rationals, with as many bits as the longest needs; else doubles.

    Returns
    -------
    Explicit
        Which state of the file every node of the network is.

    Raises
    ------
    MissingPackageError
        The package umbi is not installed.
    UnsupportedError
        A number is too long, or without `exact` too large or too near to 0 for a float.
    """
    umbi = _umbi()
    found = explicit(network, name="UMB", labels=labels)
    members = umbi.umb.umb_to_tar.UmbEncoder()
    members.encode(_described(umbi, found, _names(network, found), exact=exact), insert_umbi_metadata=False)
    with (
        replaced(Path(path)) as file,
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed,  # equal networks, equal files
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return found


def _described(umbi: Any, found: Explicit, names: list[str], *, exact: bool) -> Any:
    model, rewards = found.model, found.model.rewards[REWARD]
    number: Any = Fraction if exact else lambda x: float(number_text(x, exact=False))
    parts = [x.as_integer_ratio() for x in {*model.probability, *rewards}]
    bits = 128 * -(-max(max(p.bit_length() + 1, q.bit_length()) for p, q in parts) // 64) if exact else 64
    if bits > _WIDEST:
        raise UnsupportedError("a number is too long for UMB; .npz (Network.save) holds it")
    sized, chosen = {"type": "rational" if exact else "double", "size": bits}, [str(x) for x in model.actions or ()]
    actions = {name: k for k, name in enumerate(dict.fromkeys(chosen))}
    # An identifier has no capitals, and a label no hyphen.
    marked = {
        label if label.islower() else f"{label.lower()}-{k}": (label, states)
        for k, (label, states) in enumerate(model.labels.items())
        if label != "init"
    }
    index = {
        "format-version": 1, "format-revision": 0,
        "model-data": {"comment": f"The value of the game is that of {found.property}"},
        "file-data": {"tool": "mdpdice", "parameters": {"states": names}},
        "transition-system": {
            "time": "discrete", "#players": _KINDS.index(model.kind), "#states": model.n_states, "#initial-states": 1,
            "#choices": model.n_choices, "#choice-actions": len(actions) if any(actions) else 0,
            "#branches": len(model.target), "#branch-actions": 0, "#observations": 0, "branch-probability-type": sized,
        } | ({} if model.owner is None else {"player-names": ["maximiser", "minimiser"]}),
        "annotations": {
            "rewards": {REWARD: {"alias": REWARD, "applies-to": ["choices"], "type": sized}},
            "aps": {
                key: {"alias": label, "applies-to": ["states"], "type": {"type": "bool", "size": 1}}
                for key, (label, _) in marked.items()
            },
        },
    }  # fmt: skip
    return umbi.umb.ExplicitUmb(
        index=umbi.umb.index.UmbIndex.from_json(index),
        state_is_initial=[state == model.start for state in range(model.n_states)],
        state_to_choices=model.choice_ptr.tolist(),
        state_to_player=None if model.owner is None else model.owner.tolist(),
        choice_to_branches=model.branch_ptr.tolist(),
        branch_to_target=model.target.tolist(),
        branch_to_probability=[number(p) for p in model.probability],
        choice_to_choice_action=[actions[name] for name in chosen],
        choice_action_to_string=list(actions),
        annotations={
            "rewards": {REWARD: {"choices": [number(x) for x in rewards]}},
            "aps": {
                key: {"states": np.isin(np.arange(model.n_states), states).tolist()}
                for key, (_, states) in marked.items()
            },
        },
    )


def _names(network: Network, found: Explicit) -> list[str]:
    """The states as JSON texts, and #7 where there is none; empty if they are numbers anyway."""
    names = [f'"#{k}"' for k in range(found.model.n_states)]
    for state, node in zip(network.states, network.state_node.tolist(), strict=True):
        try:
            names[found.node[node]] = json.dumps(encode(state))
        except UnknownStateError:  # of a class that has no text
            names[found.node[node]] = json.dumps(repr(state))
    return [] if isinstance(network.states, range) or len({*names}) < len(names) else names


def read_umb(
    path: PathLike, *, exact: bool | None = None, tolerance: float = 1e-9, start: Start | None = None
) -> Model:
    """Read a Markov chain, a decision process or a game of two players from a UMB file.

    Parameters
    ----------
    path, tolerance, start
        As for `read_drn`.
    exact : bool, optional
        Whether doubles mean the rationals that they are printed as (0.1 is 1/10); rationals are exact either way.

    Returns
    -------
    Model
        ``read_umb(path).network()`` is the network.  Its states are named by the values of their variables, if the
        file has them, or as in the network that was written.  Player 0 maximises, player 1 minimises.

    Raises
    ------
    MissingPackageError
        The package umbi is not installed.
    CorruptFileError
        The file is not UMB or contradicts itself; `field` says where.
    UnsupportedError
        It holds a model with rates, observations, intervals or more than two players, or without probabilities; or it
        has several initial states, and `start` does not say which.
    """
    umbi, reader = _umbi(), Reader(path)
    try:
        return _Parse(umbi, reader, exact=bool(exact)).model(tolerance, start)
    except MdpDiceError:
        raise
    except Exception as error:  # whatever damage makes of umbi
        raise reader.corrupt("umb", f"{type(error).__name__}: {str(error)[:200]}", None) from error


class _Parse:
    def __init__(self, umbi: Any, reader: Reader, *, exact: bool) -> None:
        self.reader, self.exact = reader, exact
        self.umb, decoder = umbi.umb.ExplicitUmb(), umbi.umb.umb_to_tar.UmbDecoder()
        packed = Path(reader.path).read_bytes()
        opened: Any = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}.get(packed[:2], io.BufferedReader)
        data = opened(io.BytesIO(packed)).read(_MOST + 1)
        self.check(len(data) <= _MOST, "size", f"it unpacks to more than {_MOST:,} bytes")
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            # A sparse member can be longer than the file.
            for member in (one for one in tar if one.isreg() and not one.issparse()):
                content: Any = tar.extractfile(member)
                decoder[member.name] = content.read()
        decoder.read_index_file(self.umb)
        self.system = self.umb.index.transition_system
        self.require(len(data))
        for name, part in decoder.items():
            if name == "state-is-initial.bin" or name.startswith("annotations/aps/"):
                self.check(len(part) <= self.system.num_states // 8 + 8, name, "it is too long")
            elif name.endswith("string-mapping.bin"):
                self.pointers(name, np.frombuffer(part, dtype="<u8"))
        for read in ("state", "transition", "annotation", "valuation"):
            getattr(decoder, f"read_{read}_files")(self.umb)

    def check(self, right: Any, field: str, what: str) -> None:
        if not right:
            raise self.reader.corrupt(field, what, None)

    def require(self, size: int) -> None:
        """Refuse what a model does not hold, and what takes far more memory than the file; leave out the rest."""
        system, index = self.system, self.umb.index
        groups, valuations = index.annotations or {}, index.valuations or {}
        index.annotations = {group: groups.get(group, {}) for group in ("rewards", "aps")}
        index.valuations = {at: one for at, one in valuations.items() if at == "states" and _plain(one)}
        system.num_branch_actions = 0
        kinds = {name: one.type for name, one in index.annotations["rewards"].items()}
        kinds |= {"branch-probability-type": system.branch_probability_type}
        for what, there in {
            "exit rates": system.time != "discrete",
            "observations": system.num_observations,
            "more than two players": system.num_players > 2,
            "no probabilities": system.branch_probability_type is None,
            "intervals": any(kind and "interval" in str(kind.type) for kind in kinds.values()),
        }.items():
            if there:
                msg = f"{self.reader.path} has {what}; only UMB files of a DTMC, an MDP or a game of two can be read"
                raise UnsupportedError(msg, value=what)
        for name in ("num_states", "num_choices", "num_branches", "num_choice_actions"):
            count = getattr(system, name)
            self.check(count <= size, name, f"it announces {count:,}, and there are {size:,} bytes")
        for name, kind in kinds.items():
            right = kind.is_numeric and kind.size_bits % 64 == 0 and kind.size_bits <= _WIDEST
            self.check(right, name, f"its numbers are of type {kind.type} with {kind.size_bits} bits")
        for name, one in index.annotations["aps"].items():
            self.check(one.type.size_bits == 1, name, "it is not of type bool")

    def pointers(self, name: str, given: Any, sources: int = -1, targets: int = -1) -> Ints:
        """Where every interval of indices begins, and the last one ends; without a file each has one index."""
        found = np.arange(sources + 1) if given is None else np.array(given, dtype=np.int64)
        right = found.size and found[0] == 0 and sources in (-1, len(found) - 1) and targets in (-1, found[-1])
        self.check(right and (np.diff(found) >= 0).all(), name, "its pointers do not rise from 0 to what there is")
        return found

    def vector(self, name: str, given: Any, length: int, below: float = math.inf, least: float = -math.inf) -> Any:
        """As many numbers as there should be, each in its limits; without a file they are 0."""
        found = [0] * length if given is None else given
        self.check(len(found) == length, name, f"it has {len(found):,} entries, not {length:,}")
        self.check(all(least <= x < below for x in found), name, "a number is out of bounds")
        return [Fraction(repr(x)) for x in found] if self.exact and found and isinstance(found[0], float) else found

    def model(self, tolerance: float, begin: Start | None) -> Model:
        umb, system, vector = self.umb, self.system, self.vector
        n, m, b = system.num_states, system.num_choices, system.num_branches
        choice_ptr = self.pointers("state-to-choices.bin", umb.state_to_choices, n, m)
        single = system.num_players or (np.diff(choice_ptr) < 2).all()
        self.check(single, "state-to-choices.bin", "a state of a DTMC has one choice")
        branch_ptr = self.pointers("choice-to-branches.bin", umb.choice_to_branches, m, b)
        chances = vector("branch-to-probability.bin", umb.branch_to_probability, b, 1 + 1e-9, 0)
        chances = check_rows(self.reader, branch_ptr, chances, [None] * m, tolerance=tolerance)
        labels = {name: np.flatnonzero(vector(name, of["states"], n)) for name, of in self.annotations("aps")}
        labels["init"] = np.flatnonzero(vector("state-is-initial.bin", umb.state_is_initial, n))
        self.check(labels["init"].size or begin is not None, "state-is-initial.bin", "no state is initial; one must be")
        owner = vector("state-to-player.bin", umb.state_to_player, n, max(system.num_players, 1))
        texts = umb.choice_action_to_string
        chosen = vector("actions", umb.choice_to_choice_action, m, len(texts or ()) or math.inf)
        paid = {name: self.paid(of, choice_ptr, branch_ptr, chances) for name, of in self.annotations("rewards")}
        return Model(
            kind=_KINDS[system.num_players],
            choice_ptr=choice_ptr,
            branch_ptr=branch_ptr,
            target=np.array(vector("branch-to-target.bin", umb.branch_to_target, b, n), dtype=np.int64),
            probability=chances,
            rewards=paid,
            labels={name: tuple(states.tolist()) for name, states in labels.items()},
            start=start_of(self.reader.path, labels["init"].tolist(), begin),
            owner=np.array(owner, dtype=np.int64) if system.num_players == 2 else None,
            actions=[texts[k] for k in chosen] if texts else None,
            states=self.names(n),
        )

    def annotations(self, group: str) -> list[tuple[str, dict[str, list[Any]]]]:
        about = self.umb.index.annotations[group]
        found = [(about[key].alias or key, of) for key, of in self.umb.annotations[group].items()]
        self.check(len(dict(found)) == len(found), group, "two have the same name")
        return found

    def paid(self, of: dict[str, list[Any]], choice_ptr: Ints, branch_ptr: Ints, chances: list[Any]) -> Any:
        """Expected reward of every choice: that of its state, its own, and the mean of those of its branches."""
        lengths = {"states": len(choice_ptr) - 1, "choices": len(branch_ptr) - 1, "branches": len(chances)}
        given = {at: self.vector(f"rewards of {at}", values, lengths[at]) for at, values in of.items()}
        if [*given] == ["choices"]:
            return given["choices"]
        # Three tenths of a float are not the float of three tenths, so this is summed exactly.
        total = np.array([Fraction(x) for x in given.get("choices", [0] * lengths["choices"])], dtype=object)
        if "states" in given:
            total += np.repeat(np.array([Fraction(x) for x in given["states"]], dtype=object), np.diff(choice_ptr))
        if "branches" in given:
            means = [Fraction(p) * Fraction(x) for p, x in zip(chances, given["branches"], strict=True)]
            total += [sum(means[first:end], Fraction(0)) for first, end in itertools.pairwise(branch_ptr.tolist())]
        floats = any(isinstance(x, float) for x in itertools.chain(*given.values()))
        return [float(x) for x in total] if floats else list(total)

    def names(self, n: int) -> list[Hashable] | None:
        about = self.umb.index.file_data
        if valued := self.umb.valuations.get("states"):
            found: list[Hashable] = [tuple(one.values()) for one in valued]
        elif about is not None and about.tool == "mdpdice" and (about.parameters or {}).get("states"):
            found = [_read_name(text) for text in about.parameters["states"]]
        else:
            return None
        self.check(len({*found}) == len(found) == n, "states", "their names are not as many, or not all different")
        return found


def _read_name(text: str) -> Any:
    try:
        return decode(json.loads(text), {})
    except UnknownStateError:  # of a class that is not known here
        return text


def _plain(described: Any) -> bool:
    """Whether umbi decodes these valuations: of one class, with neither texts nor offsets."""
    classes = described.classes
    return len(classes) == 1 and not classes[0].contains_strings and not any(x.offset for x in classes[0].attributes)
