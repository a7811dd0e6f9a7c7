"""DRN, the explicit format of Storm: Markov chains and decision processes with reward models and labels.

A file has a header of entries with an ``@`` and, after ``@model``, every state with its choices and branches, as the
page on models of other tools shows.  Rewards stand in brackets behind a state or an action, one for each reward model;
the former are paid with every choice.  Numbers are decimals, or fractions ``p/q``; a file of value type ``rational``
means its decimals as they are written, and so holds a network without any rounding.

References
----------
C. Hensel, S. Junges, J.-P. Katoen, T. Quatmann, M. Volk, "The probabilistic model checker Storm",
*International Journal on Software Tools for Technology Transfer* 24 (2022), 589-610.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from mdpdice.errors import UnsupportedError
from mdpdice.formats.exported_model import Explicit, Model, Start, choices_of, explicit, labels_of_states
from mdpdice.formats.line_reader import Labels, Number, PathLike, Reader, number_text, write_lines
from mdpdice.networks.network import Network

_UNNAMED = "__NOLABEL__"
_LABEL = re.compile(r'"([^"]+)"|([^\s"]+)')
_ENTRIES = ("@type", "@value_type", "@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")
_OTHERS = ("ctmc", "ma", "markov automaton", "pomdp", "s2pg", "smg")


# --- writing -----------------------------------------------------------------


def write_drn(network: Network, path: PathLike, *, exact: bool = True, labels: Labels = None) -> Explicit:
    """Write a network as DRN, as `mdpdice.formats.exported_model` describes.

    Parameters
    ----------
    network : Network
        A network of one player.
    path : path
        Usually ending in ``.drn``.
    exact : bool
        Write fractions ``p/q`` wherever no decimal is exact; else the shortest decimals that give the same floats.
    labels : mapping of str to collection of states, optional
        Labels to give besides ``init``, ``end`` and ``done``.

    Returns
    -------
    Explicit
        Which state of the file every node of the network is.

    Raises
    ------
    UnsupportedError
        There are two players, or a number is too long.
    UnknownStateError, GameError
        A state of a label is not there, or a label has a name that formats do not allow.
    """
    found = explicit(network, games=False, name="DRN", labels=labels)
    write_lines(path, _lines(found, exact=exact))
    return found


def _lines(found: Explicit, *, exact: bool) -> Iterator[str]:
    model = found.model
    yield "// Exported by mdpdice"
    yield f"// The value of the game is that of {found.property}"
    yield f"@type: {model.kind.upper()}"
    yield f"@value_type: {'rational' if exact else 'double'}"
    yield "@parameters\n"
    yield f"@reward_models\n{' '.join(model.rewards)}"
    yield f"@nr_states\n{model.n_states}"
    yield f"@nr_choices\n{model.n_choices}"
    yield "@model"
    labels = labels_of_states(model)
    zeros = ", ".join("0" for _ in model.rewards)
    for choice, (state, k, name, branches) in enumerate(choices_of(model)):
        if k == 0:
            yield " ".join((f"state {state} [{zeros}]", *labels.get(state, ())))
        rewards = ", ".join(number_text(row[choice], exact=exact) for row in model.rewards.values())
        yield f"\taction {name or _UNNAMED} [{rewards}]"
        for to, p in branches:
            yield f"\t\t{to} : {number_text(p, exact=exact)}"


# --- reading -----------------------------------------------------------------


def read_drn(
    path: PathLike, *, exact: bool | None = None, tolerance: float = 1e-9, start: Start | None = None
) -> Model:
    """Read a Markov chain or decision process from a DRN file.

    Parameters
    ----------
    path : path
        The file.
    exact : bool, optional
        Whether decimals mean the rationals that they spell (0.1 is 1/10) or floats; by default
        what the value type of the file says.
    tolerance : float
        How far the probabilities of a choice may be from 1 in sum; then they are scaled.
    start : int, or mapping of int to number, optional
        State to start in, or the states to start in with their chances; by default the one with the label init.

    Returns
    -------
    Model
        ``read_drn(path).network()`` is the network.

    Raises
    ------
    CorruptFileError
        The file is not DRN or contradicts itself; `line` and `field` say where.
    UnsupportedError
        It holds a model with rates, observations, intervals or parameters; or it has several initial states, and
        `start` does not say which.
    """
    return _Parse(Reader(path, comment="//", exact=bool(exact)), exact, tolerance).model(start)


class _Parse:
    def __init__(self, reader: Reader, exact: bool | None, tolerance: float) -> None:
        self.reader = reader
        self.exact = exact
        self.tolerance = tolerance
        self.kind = ""
        self.reward_models: list[str] = []
        self.placeholders: dict[str, str] = {}
        self.states = self.choices = -1
        self.choice_ptr: list[int] = []
        self.branch_ptr: list[int] = []
        self.line_of: list[int] = []
        self.target: list[int] = []
        self.probability: list[Number] = []
        self.actions: list[str] = []
        self.state_reward: list[Number] = []
        self.rewards: list[list[Number]] = []
        self.labels: dict[str, list[int]] = {}

    def model(self, begin: Start | None) -> Model:
        reader = self.reader
        lines = reader.lines()
        self.read_header(lines)
        for text in lines:
            word, _, rest = text.partition(" ")
            if word == "state":
                self.read_state(rest.strip())
            elif word == "action":
                self.read_action(rest.strip())
            else:
                self.read_branch(text)
        self.begin_state()
        self.branch_ptr.append(len(self.target))
        for field, announced, found in (
            ("states", self.states, len(self.choice_ptr) - 1),
            ("choices", self.choices, len(self.actions)),
        ):
            if announced not in (-1, found):
                raise reader.corrupt(f"@nr_{field}", f"{announced} {field} announced, {found} found", None)
        branch_ptr = np.array(self.branch_ptr)
        return Model(
            kind=self.kind,
            choice_ptr=np.array(self.choice_ptr),
            branch_ptr=branch_ptr,
            target=np.array(self.target, dtype=np.int64),
            probability=reader.rows(branch_ptr, self.probability, self.line_of, tolerance=self.tolerance),
            rewards=self.structures(),
            labels={label: tuple(states) for label, states in self.labels.items()},
            start=reader.start(self.labels.get("init", []), begin),
            actions=self.actions,
            warnings=tuple(reader.notes),
        )

    def structures(self) -> dict[str, list[Number]]:
        names = self.reward_models
        widths = [len(row) for row in self.rewards]
        width = max(widths, default=0)
        if names and width > len(names):
            line = self.line_of[widths.index(width)]
            raise self.reader.corrupt("reward", f"{width} rewards, and {len(names)} reward models", line)
        names = names or [f"rew{k}" for k in range(width)]
        return {name: [row[k] if k < len(row) else 0.0 for row in self.rewards] for k, name in enumerate(names)}

    # --- header ---

    def read_header(self, lines: Iterator[str]) -> None:
        reader = self.reader
        seen: set[str] = set()
        section = ""
        for text in lines:
            if not text.startswith("@"):
                self.in_section(section, text)
                continue
            section, _, value = (part.strip() for part in text.partition(":"))
            if section in seen:
                raise reader.corrupt(section, "it occurs a second time")
            seen.add(section)
            if section == "@model":
                break
            if section not in _ENTRIES:
                raise reader.corrupt("header", f"{text[:40]!r} is not an entry of a DRN header")
            if section == "@type":
                self.read_kind(value)
            elif section == "@value_type":
                self.read_value_type(value)
        else:
            raise reader.corrupt("header", "the file ends before @model")
        if not self.kind:
            raise reader.corrupt("@type", "it is missing")
        if self.states < 0:
            raise reader.corrupt("@nr_states", "it is missing")

    def in_section(self, section: str, text: str) -> None:
        reader = self.reader
        if section == "@parameters":
            raise UnsupportedError(f"{reader.path} has parameters {text}; give them values (storm-pars, PRISM -const)")
        if section == "@reward_models" and not self.reward_models:
            self.reward_models = text.split()
            if len(set(self.reward_models)) < len(self.reward_models):
                raise reader.corrupt(section, "two reward models have the same name")
        elif section == "@nr_states" and self.states < 0:
            self.states = reader.count(text, section)
        elif section == "@nr_choices" and self.choices < 0:
            self.choices = reader.count(text, section)
        elif section == "@placeholders":
            name, colon, value = text.partition(":")
            if not colon or not name.startswith("$"):
                raise reader.corrupt(section, f"{text[:40]!r} is not `$name : value`")
            self.placeholders[name.strip()] = value.strip()
            reader.number(value.strip(), section)  # raises
        else:
            raise reader.corrupt(section or "header", f"{text[:40]!r} is not expected here")

    def read_kind(self, text: str) -> None:
        self.kind = text.lower()
        if self.kind in _OTHERS:
            raise UnsupportedError(f"{self.reader.path} holds a {text}; only DTMC and MDP can be read", value=text)
        if self.kind not in ("dtmc", "mdp"):
            raise self.reader.corrupt("@type", f"{text[:40]!r} is not a type of model")

    def read_value_type(self, text: str) -> None:
        if text in ("double-interval", "rational-interval", "parametric"):
            raise UnsupportedError(f"{self.reader.path} has values of type {text}; a model needs numbers", value=text)
        if text not in ("double", "rational"):
            raise self.reader.corrupt("@value_type", f"{text[:40]!r} is not a type of values")
        if self.exact is None:
            self.reader.exact = text == "rational"

    # --- states ---

    def begin_state(self) -> None:
        if self.choice_ptr and len(self.branch_ptr) == self.choice_ptr[-1]:
            # Storm counts a state without actions as one with an empty row; it cannot be left.
            raise self.reader.corrupt("state", f"state {len(self.choice_ptr) - 1} has no action")
        self.choice_ptr.append(len(self.branch_ptr))

    def read_state(self, text: str) -> None:
        reader = self.reader
        expected = len(self.choice_ptr)
        self.begin_state()
        name, _, rest = text.partition(" ")
        if (number := reader.natural(name, "state")) != expected or number >= self.states:
            raise reader.corrupt("state", f"{number} where {expected} of {self.states} is expected")
        rest = rest.strip()
        if rest.startswith(("!", "{")):
            raise UnsupportedError(f"{reader.path}, line {reader.line}: rates and observations cannot be read")
        self.state_reward, rest = self.bracket(rest)
        if rest.count('"') % 2:
            raise reader.corrupt("label", "a quotation mark is missing")
        for match in _LABEL.finditer(rest):
            self.labels.setdefault(match[1] or match[2], []).append(number)

    def read_action(self, text: str) -> None:
        reader = self.reader
        if not self.choice_ptr:
            raise reader.corrupt("action", "it comes before the first state")
        if self.branch_ptr and self.branch_ptr[-1] == len(self.target):
            raise reader.corrupt("action", "the action before has no branch")
        name, rest = ("", text) if text.startswith("[") else text.partition(" ")[::2]
        own, rest = self.bracket(rest.strip())
        if rest:
            raise reader.corrupt("action", f"{rest[:40]!r} is not expected here")
        if self.kind == "dtmc" and len(self.branch_ptr) > self.choice_ptr[-1]:
            raise reader.corrupt("action", "a state of a DTMC has one action")
        self.branch_ptr.append(len(self.target))
        self.line_of.append(reader.line)
        self.actions.append("" if name == _UNNAMED else name)
        self.rewards.append([a + b if a else b for a, b in zip_longest(self.state_reward, own, fillvalue=0)])

    def read_branch(self, text: str) -> None:
        reader = self.reader
        to, colon, value = (part.strip() for part in text.partition(":"))
        if not colon:
            raise reader.corrupt("branch", f"{text[:40]!r} is not `target : probability`")
        if not self.branch_ptr or len(self.branch_ptr) == self.choice_ptr[-1]:
            raise reader.corrupt("branch", "it comes before the first action of its state")
        self.target.append(reader.natural(to, "target", self.states))
        text = self.plain(value, "probability") if value.startswith(("$", "[")) else value
        self.probability.append(reader.probability(text))

    def bracket(self, text: str) -> tuple[list[Number], str]:
        """Rewards in front of a text, and the rest of it."""
        if not text.startswith("["):
            return [], text
        inside, closed, rest = text[1:].partition("]")
        if not closed:
            raise self.reader.corrupt("reward", "] is missing")
        parts = (part.strip() for part in inside.split(","))
        return [self.reader.number(self.plain(part, "reward"), "reward") for part in parts if part], rest.strip()

    def plain(self, text: str, field: str) -> str:
        """Return a number as it is written, or what a placeholder stands for."""
        if text.startswith("["):
            raise UnsupportedError(f"{self.reader.path}, line {self.reader.line}: intervals cannot be read")
        if text.startswith("$") and text not in self.placeholders:
            raise self.reader.corrupt(field, f"the placeholder {text[:40]} is not defined")
        return self.placeholders.get(text, text)
