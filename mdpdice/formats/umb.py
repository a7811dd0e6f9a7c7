"""UMB, the unified Markov binary of Storm and PRISM: a packed folder of arrays, and ``index.json`` says what they are.

The package `umbi`, which needs Python 3.12, codes the arrays; what it does not look at is checked here, before anything
is decoded.  UMB names states by values of variables; names in words stand in the ``file-data`` of the index.
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
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mdpdice.archives import replaced
from mdpdice.errors import MdpDiceError, MissingPackageError, UnsupportedError
from mdpdice.formats.exported_model import REWARD, Explicit, Model, Start, action_text, explicit
from mdpdice.formats.line_reader import Labels, PathLike, Reader, number_text
from mdpdice.networks.network import Ints, Network

_MOST = 1 << 29  # bytes that are unpacked; as Python's numbers they take ten times as many
_WIDEST = 1 << 16  # bits of a rational; to cancel longer ones takes minutes
_KINDS = ("dtmc", "mdp", "smg")
logging.getLogger("umbi").addHandler(logging.NullHandler())  # its warnings are for those who listen


def _umbi() -> Any:
    try:
        return import_module("umbi")
    except ModuleNotFoundError as error:
        msg = "UMB needs the package umbi, which needs Python 3.12 or newer; with that: pip install 'mdpdice[umb]'"
        raise MissingPackageError(msg, package="umbi") from error


def write_umb(network: Network, path: PathLike, *, exact: bool = True, labels: Labels = None) -> Explicit:
    """Write a network of one player or two as UMB; arguments, result and errors are those of `write_drn`.

    Numbers are rationals with as many bits as the longest needs, or doubles if they need not be `exact`.  The initial
    state is marked without a label.  A `MissingPackageError` says that umbi is not installed.
    """
    umbi = _umbi()
    found = explicit(network, name="UMB", labels=labels)
    model, rewards, binary = found.model, found.model.rewards[REWARD], umbi.binary
    parts = [x.as_integer_ratio() for x in {*model.probability, *rewards}]
    bits = 128 * -(-max(max(p.bit_length() + 1, q.bit_length()) for p, q in parts) // 64) if exact else 64
    if bits > _WIDEST:
        raise UnsupportedError("a number is too long for UMB; .npz (Network.save) holds it")
    sort = {"type": "rational" if exact else "double", "size": bits}
    number: Any = Fraction if exact else lambda x: float(number_text(x, exact=False))
    numbers = binary.SizedType(umbi.datatypes.NumericPrimitiveType(sort["type"]), bits)
    chosen = [str(name) for name in model.actions or ()]
    actions = {name: k for k, name in enumerate(dict.fromkeys(chosen if any(chosen) else ()))}
    names: list[Any] = [f"#{k}" for k in range(model.n_states)]  # where no state of the network is
    for state, node in zip(network.states, network.state_node.tolist(), strict=True):
        names[found.node[node]] = state if isinstance(state, int) else action_text(state)
    # An identifier has no capitals, and a label no hyphen.
    keys = {label: f"{label.lower()}-{k}" for k, label in enumerate(model.labels) if label != "init"}
    index = {
        "format-version": 1, "format-revision": 0,
        "model-data": {"comment": f"The value of the game is that of {found.property}, plus {found.shift}"},
        "file-data": {"tool": "mdpdice", "parameters": {"states": names}},
        "transition-system": {
            "time": "discrete", "#players": _KINDS.index(model.kind), "#states": model.n_states, "#initial-states": 1,
            "#choices": model.n_choices, "#choice-actions": len(actions), "#branches": len(model.target),
            "#branch-actions": 0, "#observations": 0, "branch-probability-type": sort,
        } | ({} if model.owner is None else {"player-names": ["maximiser", "minimiser"]}),
        "annotations": {
            "rewards": {REWARD: {"alias": REWARD, "applies-to": ["choices"], "type": sort}},
            "aps": {key: {"alias": label, "applies-to": ["states"], "type": {"type": "bool", "size": 1}}
                    for label, key in keys.items()},
        },
    }  # fmt: skip
    members = umbi.tar.TarCoder()
    members.add_json("index.json", index)
    for label, states in model.labels.items():
        name = f"annotations/aps/{keys[label]}/states/values" if label in keys else "state-is-initial"
        members.add_bitvector(f"{name}.bin", np.isin(np.arange(model.n_states), states).tolist())
    for name, kind, values in (
        ("state-to-choices", binary.UINT64, model.choice_ptr.tolist()),
        ("state-to-player", binary.UINT32, [] if model.owner is None else model.owner.tolist()),
        ("choice-to-branches", binary.UINT64, model.branch_ptr.tolist()),
        ("branch-to-target", binary.UINT64, model.target.tolist()),
        ("branch-to-probability", numbers, [number(x) for x in model.probability]),
        ("actions/choices/values", binary.UINT32, [actions[name] for name in chosen if actions]),
        (f"annotations/rewards/{REWARD}/choices/values", numbers, [number(x) for x in rewards]),
    ):
        if values:
            members.add_vector(f"{name}.bin", kind, values)
    if actions:
        members.add_strings("actions/choices/strings.bin", [*actions], "actions/choices/string-mapping.bin")
    with replaced(Path(path)) as file:
        members.write(file.name)
    return found


def read_umb(
    path: PathLike, *, exact: bool | None = None, tolerance: float = 1e-9, start: Start | None = None
) -> Model:
    """Read a chain, a decision process or a game from UMB; arguments, result and errors are those of `read_drn`.

    If `exact`, doubles mean the rationals that they are printed as: 0.1 is 1/10.  States are named as in the network
    that was written, or by their variables, where these differ.  Player 0 maximises.  Like `write_umb` it needs umbi.
    """
    umbi, reader = _umbi(), Reader(path)
    try:
        return _Parse(umbi, reader, exact=bool(exact)).model(tolerance, start)
    except (MdpDiceError, MemoryError):
        raise
    except Exception as error:  # whatever damage makes of umbi
        raise reader.corrupt("umb", f"{type(error).__name__}: {str(error)[:200]}", None) from error


class _Parse:
    def __init__(self, umbi: Any, reader: Reader, *, exact: bool) -> None:
        self.binary, self.reader, self.exact, self.members = umbi.binary, reader, exact, umbi.tar.TarCoder()
        packed = Path(reader.path).read_bytes()
        opened: Any = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}.get(packed[:2], io.BufferedReader)
        data = opened(io.BytesIO(packed)).read(_MOST + 1)
        self.check(len(data) <= _MOST, "size", f"it unpacks to more than {_MOST:,} bytes")
        self.check(data.endswith(bytes(1024)), "size", "it is not a tar archive, or was cut off")
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for one in tar:
                self.members[one.name] = data[one.offset_data : one.offset_data + one.size]
        self.index = umbi.umb.index.UmbIndex.from_json(json.loads(self.members["index.json"]))
        system = self.system = self.index.transition_system
        kind = str(system.branch_probability_type and system.branch_probability_type.type)
        if other := (
            (system.time != "discrete" and "exit rates") or (system.num_observations and "observations")
            or (system.num_players > 2 and "more than two players") or ("interval" in kind and "intervals")
            or (kind == "None" and "no probabilities")
        ):  # fmt: skip
            msg = f"{reader.path} has {other}; only UMB files of a DTMC, an MDP or a game of two players can be read"
            raise UnsupportedError(msg, value=other)
        most = max(system.num_states, system.num_choices, system.num_branches, system.num_choice_actions)
        self.check(most <= len(data), "index.json", f"{most:,} things are announced, and there are {len(data):,} bytes")

    def check(self, right: Any, field: str, what: str) -> None:
        if not right:
            raise self.reader.corrupt(field, what, None)

    def vector(self, name: str, kind: Any, length: int, low: float = -math.inf, below: float = math.inf) -> list[Any]:
        """Numbers of some kind and length, each in its limits; without a file they are 0."""
        if (data := self.members.get(f"{name}.bin")) is None:
            return [0] * length
        size = -(-length // 64) * 8 if kind.size_bits == 1 else length * kind.size_bytes
        right = len(data) == size and kind.size_bits <= _WIDEST
        self.check(right, name, f"it has {len(data):,} bytes, and {length:,} entries need {size:,}")
        found = self.members.read_vector(f"{name}.bin", kind)[:length]
        self.check(all(low <= x < below and x > -math.inf for x in found), name, "a number is out of bounds")
        return [Fraction(repr(x)) if self.exact and isinstance(x, float) else x for x in found]

    def pointers(self, name: str, sources: int, targets: int) -> Ints:
        """Where every interval of indices begins, and the last one ends; without a file each has one index."""
        given = f"{name}.bin" in self.members
        found = self.vector(name, self.binary.UINT64, sources + 1, 0, targets + 1) if given else range(sources + 1)
        right = found[0] == 0 and found[-1] == targets and all(a <= b for a, b in itertools.pairwise(found))
        self.check(right, name, f"its pointers do not rise from 0 to {targets}")
        return np.array(found, dtype=np.int64)

    def model(self, tolerance: float, begin: Start | None) -> Model:
        system, vector, binary = self.system, self.vector, self.binary
        n, m, b = system.num_states, system.num_choices, system.num_branches
        choice_ptr, branch_ptr = self.pointers("state-to-choices", n, m), self.pointers("choice-to-branches", m, b)
        self.check(system.num_players or np.diff(choice_ptr).max() < 2, "state-to-choices", "a DTMC has no choices")
        chances = vector("branch-to-probability", system.branch_probability_type, b, 0, 1 + 1e-9)
        groups, labels, rewards = self.index.annotations or {}, {}, {}
        for key, one in groups.get("aps", {}).items():
            labels[one.alias or key] = vector(f"annotations/aps/{key}/states/values", binary.BOOL1, n)
        labels["init"] = vector("state-is-initial", binary.BOOL1, n)
        for key, one in groups.get("rewards", {}).items():
            of_state, own, of_branch = (
                [Fraction(x) for x in vector(f"annotations/rewards/{key}/{at}/values", one.type, length)]
                for at, length in (("states", n), ("choices", m), ("branches", b))
            )
            means = [Fraction(p) * x for p, x in zip(chances, of_branch, strict=True)]
            paid = np.repeat(np.array(of_state, dtype=object), np.diff(choice_ptr)) + own
            paid += [sum(means[first:end]) for first, end in itertools.pairwise(branch_ptr.tolist())]
            rewards[one.alias or key] = list(paid if self.exact or "'rational'" in repr(one.type) else map(float, paid))
        actions, states, about, given = None, None, self.index.file_data, (self.index.valuations or {}).get("states")
        if (text := self.members.get("actions/choices/strings.bin")) is not None:
            ends = self.pointers("actions/choices/string-mapping", system.num_choice_actions, len(text)).tolist()
            words = [text[first:end].decode() for first, end in itertools.pairwise(ends)]
            actions = [words[k] for k in vector("actions/choices/values", binary.UINT32, m, 0, len(words))]
        if about and about.tool == "mdpdice":
            states = about.parameters["states"]
        elif given and len(given.classes) == 1 and not given.num_strings:
            name, size = "valuations/states/valuations.bin", n * given.classes[0].size_bytes
            self.check(len(self.members[name]) == size, name, f"{n:,} states have not {size:,} bytes")
            read = self.members.read_vector(name, given.classes[0])
            shift = {x.name: x.offset for x in given.classes[0].attributes}
            states = [tuple(x + shift[at] if shift[at] else x for at, x in one.items()) for one in read]
        owner = vector("state-to-player", binary.UINT32, n, 0, max(system.num_players, 1))
        marked = {label: tuple(itertools.compress(range(n), mark)) for label, mark in labels.items()}
        return Model(
            kind=_KINDS[system.num_players],
            choice_ptr=choice_ptr,
            branch_ptr=branch_ptr,
            target=np.array(vector("branch-to-target", binary.UINT64, b, 0, n), dtype=np.int64),
            probability=self.reader.rows(branch_ptr, chances, [None] * m, tolerance=tolerance),
            rewards=rewards,
            labels=marked,
            start=self.reader.start(marked["init"], begin),
            owner=np.array(owner, dtype=np.int64) if system.num_players == 2 else None,
            actions=actions,
            states=states if states and len({*states}) == len(states) == n else None,
            warnings=tuple(self.reader.notes),
        )
