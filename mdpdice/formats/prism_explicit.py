"""PRISM's explicit files: transitions, labels, rewards and states of a chain or decision process, in a file each.

==========  =====================================================================================
file        lines
==========  =====================================================================================
``.tra``    ``states transitions`` or ``states choices transitions``, then ``s t p`` or ``s c t p``
``.lab``    ``0="init" 1="deadlock" ...``, then ``s: 0 3``
``.srew``   ``states entries``, then ``s r``: paid in state ``s`` with every choice
``.trew``   ``states entries`` or ``states choices entries``, then ``s t r`` or ``s c t r``
``.sta``    ``(x,y)``, then ``s:(0,1)``: the variables of every state
==========  =====================================================================================

Several reward structures come as ``x1.srew``, ``x2.srew``, ..., with their names in the comments at the top.
Lines that begin with ``#`` are comments; a transition may be followed by the name of its action.  Storm's dialect is
read too: ``dtmc`` or ``mdp`` in place of the sizes, and labels between ``#DECLARATION`` and ``#END``.

References
----------
M. Kwiatkowska, G. Norman, D. Parker, "PRISM 4.0: Verification of probabilistic real-time systems", *CAV 2011*,
LNCS 6806, 585-591; the manual's appendix "Explicit Model Files".
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mdpdice.errors import GameError, UnsupportedError
from mdpdice.formats.exported_model import REWARD, Explicit, Model, Start, choices_of, explicit, labels_of_states
from mdpdice.formats.line_reader import Labels, Number, PathLike, Reader, number_text, write_lines
from mdpdice.networks.network import Network

_OTHERS = ("ctmc", "ma", "pomdp", "smg", "imdp", "idtmc", "popta", "pta", "lts", "stpg")
_DECLARED = re.compile(r'(\d+)="([^"]+)"')


# --- writing -----------------------------------------------------------------


def write_prism_explicit(
    network: Network, path: PathLike, *, exact: bool = False, dialect: str = "prism", labels: Labels = None
) -> Explicit:
    """Write a network as explicit files, as `mdpdice.formats.exported_model` describes.

    Parameters
    ----------
    path : path
        The file of transitions, ``x.tra``; beside it are written ``x.lab``, and the rewards as ``x.trew`` (of a
        decision process) or ``x.srew`` (of a chain).
    exact : bool
        Write fractions ``p/q`` wherever no decimal is exact, for PRISM's ``-exact``.
    dialect : {"prism", "storm"}
        Whose form of the files to write.
    network, labels
        As for `write_drn`, and so are result and errors; a path of another file of the model is a `GameError`.
    """
    if dialect not in ("prism", "storm"):
        raise GameError(f'dialect {dialect!r}: it is "prism" or "storm"', value=dialect)
    base = Path(path)
    if base.suffix in (".lab", ".srew", ".trew", ".sta"):
        raise GameError(f"{base} is another file; transitions go to {base.with_suffix('.tra')}", value=base)
    found = explicit(network, games=False, name="PRISM's explicit format", labels=labels)
    model = found.model
    suffix, other = (".srew", ".trew") if model.kind == "dtmc" else (".trew", ".srew")
    write_lines(base, _transitions(model, exact=exact, dialect=dialect))
    write_lines(base.with_suffix(".lab"), _labels(model, dialect))
    write_lines(base.with_suffix(suffix), _rewards(model, exact=exact, dialect=dialect))
    # What an earlier model left there would be read with this one.
    for left in (*_reward_files(base, other), *_reward_files(base, suffix)[1:], base.with_suffix(".sta")):
        left.unlink(missing_ok=True)
    return found


def _reward_files(base: Path, suffix: str) -> list[Path]:
    """Return ``x.srew``, and those of ``x1.srew``, ``x2.srew``, ... that exist."""
    numbered = re.compile(re.escape(base.stem) + r"\d+" + re.escape(suffix))
    there = (path for path in base.parent.glob(f"*{suffix}") if numbered.fullmatch(path.name))
    return [base.with_suffix(suffix), *sorted(there, key=lambda path: (len(path.name), path.name))]


def _head(model: Model, entries: int, dialect: str) -> str:
    if dialect == "storm":
        return model.kind
    sizes = [model.n_states, entries] if model.kind == "dtmc" else [model.n_states, model.n_choices, entries]
    return " ".join(map(str, sizes))


def _transitions(model: Model, *, exact: bool, dialect: str) -> Iterator[str]:
    yield _head(model, len(model.target), dialect)
    for state, k, name, branches in choices_of(model):
        number = "" if model.kind == "dtmc" else f" {k}"
        # Storm has its names of choices in yet another file.
        action = f" {name}" if name and dialect == "prism" else ""
        for to, p in branches:
            yield f"{state}{number} {to} {number_text(p, exact=exact)}{action}"


def _labels(model: Model, dialect: str) -> Iterator[str]:
    # PRISM expects these two first.
    names = list(dict.fromkeys(("init", "deadlock", *model.labels)))
    storm = dialect == "storm"
    if storm:
        yield f"#DECLARATION\n{' '.join(names)}\n#END"
    else:
        yield " ".join(f'{k}="{name}"' for k, name in enumerate(names))
    for state, labels in sorted(labels_of_states(model).items()):
        words = labels if storm else [str(names.index(label)) for label in labels]
        yield f"{state}{'' if storm else ':'} {' '.join(words)}"


def _rewards(model: Model, *, exact: bool, dialect: str) -> Iterator[str]:
    chain = model.kind == "dtmc"
    entries = [
        (f"{state}" if chain else f"{state} {k} {to}", reward)
        for (state, k, _, branches), reward in zip(choices_of(model), model.rewards[REWARD], strict=True)
        if reward
        for to in ([None] if chain else [to for to, _ in branches])
    ]
    if dialect == "prism":
        yield f'# Reward structure "{REWARD}"'
        yield f"# {'State' if chain else 'Transition'} rewards"
        yield _head(model, len(entries), dialect)
    for place, reward in entries:
        yield f"{place} {number_text(reward, exact=exact)}"


# --- reading -----------------------------------------------------------------


def read_prism_explicit(
    path: PathLike,
    *,
    labels: PathLike | None = None,
    state_rewards: PathLike | None = None,
    transition_rewards: PathLike | None = None,
    states: PathLike | None = None,
    exact: bool = False,
    tolerance: float = 1e-9,
    start: Start | None = None,
) -> Model:
    """Read a Markov chain or decision process from explicit files.

    A state without transitions is one where play ends, as with PRISM's option to fix deadlocks.

    Parameters
    ----------
    path : path
        The file of transitions, ``x.tra``.
    labels, state_rewards, transition_rewards, states : path, optional
        The other files; by default ``x.lab``, ``x.srew``, ``x1.srew``, ..., ``x.trew``, ... and ``x.sta`` where they
        exist.
    exact : bool
        Whether decimals mean the rationals that they spell (0.1 is 1/10), or floats; fractions are exact either way.
    tolerance, start
        As for `read_drn`, and so are result and errors; without labels play starts in 0.
    """
    base = Path(path)

    def readers(given: PathLike | None, there: list[Path]) -> list[Reader]:
        found: list[Any] = [path for path in there if path.exists()] if given is None else [given]
        return [Reader(one, exact=exact) for one in found]

    found = _Transitions(Reader(base, exact=exact), tolerance)
    found.read()
    for reader in readers(state_rewards, _reward_files(base, ".srew")):
        found.add_state_rewards(reader)
    for reader in readers(transition_rewards, _reward_files(base, ".trew")):
        found.add_transition_rewards(reader)
    marked: dict[str, tuple[int, ...]] = {}
    begin: Start = 0 if start is None else start
    for reader in readers(labels, [base.with_suffix(".lab")]):
        marked = _read_labels(reader, found.n_states)
        begin = reader.start(marked.get("init", ()), start)
    named = [_read_states(reader, found.n_states) for reader in readers(states, [base.with_suffix(".sta")])]
    return found.model(marked, begin, named[0] if named else None)


class _Transitions:
    """Rows of the transitions and of what is paid on them."""

    def __init__(self, reader: Reader, tolerance: float) -> None:
        self.reader = reader
        self.tolerance = tolerance
        self.kind = ""
        self.n_states = 0
        self.rows: dict[tuple[int, int], dict[int, Number]] = {}
        self.line: dict[tuple[int, int], int] = {}
        self.action: dict[tuple[int, int], str] = {}
        # By reward structure: state and transition rewards of one name belong together.
        self.rewards: dict[str, dict[tuple[int, int], Fraction]] = {}
        self.paid: dict[tuple[int, int], Fraction] = {}
        self.idle: list[str] = []  # rewards of states without choices, which nobody gets
        self.decimal = False
        self.sized = False

    def read(self) -> None:
        reader = self.reader
        lines = reader.lines()
        first = next(lines, "").split()
        announced: list[int] = []
        rows: Iterable[tuple[int, list[str]]] = ((reader.line, text.split()) for text in lines)
        if first and first[0].lower() in _OTHERS:
            msg = f"{reader.path} holds a {first[0]}; only chains (dtmc) and decision processes (mdp) can be read"
            raise UnsupportedError(msg, value=first[0])
        if [word.lower() for word in first] in (["dtmc"], ["mdp"]):
            self.kind = first[0].lower()
            rows = list(rows)
            numbers = [parts[0] for _, parts in rows] + [parts[-2] for _, parts in rows if len(parts) > 2]
            self.n_states = 1 + max((reader.count(x, "state") for x in numbers if x.isdigit()), default=0)
        elif len(first) in (2, 3):
            self.kind = "dtmc" if len(first) == 2 else "mdp"
            announced = [reader.count(x, "sizes") for x in first]
            self.sized = True
            self.n_states = announced[0]
        else:
            raise reader.corrupt("sizes", "the first line holds 2 or 3 numbers, or dtmc or mdp")
        transitions = 0
        for reader.line, parts in rows:
            self.branch(parts)
            transitions += 1
        found = {"choices": len(self.rows), "transitions": transitions}
        for what, size in zip(reversed(found), reversed(announced[1:]), strict=False):
            if size != found[what]:
                raise reader.corrupt("sizes", f"{size} {what} announced, {found[what]} found", None)

    def key(self, reader: Reader, parts: list[str]) -> tuple[tuple[int, int], int, list[str]]:
        """State and choice, target, and the rest of a line."""
        width = 2 if self.kind == "dtmc" else 3
        if len(parts) <= width:
            raise reader.corrupt("transition", f"{' '.join(parts)[:40]!r} has too few entries")
        state = reader.natural(parts[0], "state", self.n_states)
        choice = 0 if width == 2 else reader.natural(parts[1], "choice")
        return (state, choice), reader.natural(parts[width - 1], "target", self.n_states), parts[width:]

    def branch(self, parts: list[str]) -> None:
        reader = self.reader
        key, to, (number, *action) = self.key(reader, parts)
        row = self.rows.setdefault(key, {})
        self.line.setdefault(key, reader.line)
        if number.startswith("["):
            raise UnsupportedError(f"{reader.path}, line {reader.line}: intervals cannot be read", value=number)
        p = reader.probability(number)
        row[to] = p if to not in row else Fraction(row[to]) + Fraction(p)
        name = " ".join(action)
        if self.action.setdefault(key, name) != name:
            raise reader.corrupt("action", f"{name[:40]!r} is not the action of the lines before")

    def entries(self, reader: Reader, width: int, *, like_sizes: bool = False) -> Iterator[list[str]]:
        """Lines of a reward file; its sizes and the name in its comments are looked at.

        "13 7" may be the sizes of 13 states with 7 entries, or the reward of state 13: where entries look `like_sizes`,
        the first line is taken for these if they are right.
        """
        with Path(reader.path).open(encoding="utf-8", errors="replace") as file:
            named = re.match(r'# Reward structure:? "([^"]+)"', file.readline(4096))
        self.paid = self.rewards.setdefault(named[1] if named else REWARD, {})
        if not (rows := [(reader.line, text.split()) for text in reader.lines()]) and self.sized:
            # A file of PRISM's states its sizes even where nothing pays.
            raise reader.corrupt("sizes", "the file is empty", None)
        first = rows[0][1] if rows else []
        mine = [self.n_states, len(self.rows)][: width - 1]
        if first == [str(size) for size in (*mine, len(rows) - 1)]:
            del rows[0]
        elif len(first) == width and not like_sizes:
            reader.line = rows[0][0]
            *sizes, announced = (reader.natural(x, "sizes") for x in first)
            if sizes != mine:
                raise reader.corrupt("sizes", f"{sizes} states and choices, but {mine} in the transitions")
            raise reader.corrupt("sizes", f"{announced} rewards announced, {len(rows) - 1} found", None)
        for reader.line, parts in rows:
            yield parts

    def add_state_rewards(self, reader: Reader) -> None:
        paid: dict[int, Number] = {}
        for parts in self.entries(reader, 2, like_sizes=True):
            if len(parts) != 2:
                raise reader.corrupt("reward", f"{' '.join(parts)[:40]!r} is not a state and its reward")
            if (state := reader.natural(parts[0], "state", self.n_states)) in paid:
                raise reader.corrupt("state", f"state {state} occurs a second time")
            paid[state] = reader.number(parts[1], "reward")
            self.decimal |= isinstance(paid[state], float)
        for key in self.rows:
            if key[0] in paid:
                self.paid[key] = self.paid.get(key, 0) + Fraction(paid[key[0]])
        moving = {state for state, _ in self.rows}
        self.idle += [
            f"{reader.path}: the reward {number} of state {state} is not paid, since the play ends there"
            for state, number in paid.items()
            if number and state not in moving
        ]

    def add_transition_rewards(self, reader: Reader) -> None:
        seen: set[tuple[tuple[int, int], int]] = set()
        for parts in self.entries(reader, 2 if self.kind == "dtmc" else 3):
            key, to, (number, *rest) = self.key(reader, parts)
            row = self.rows.get(key, {})
            if rest or to not in row or (key, to) in seen:
                raise reader.corrupt("transition", f"{' '.join(parts)[:40]!r} is not a transition, or is repeated")
            seen.add((key, to))
            # Three tenths of a float are not the float of three tenths, so this is summed exactly.
            reward = reader.number(number, "reward")
            self.decimal |= isinstance(reward, float) or isinstance(row[to], float)
            self.paid[key] = self.paid.get(key, 0) + Fraction(row[to]) * Fraction(reward)

    def model(self, labels: Mapping[str, tuple[int, ...]], start: Start, states: list[Hashable] | None) -> Model:
        reader = self.reader
        keys = sorted(self.rows)
        count = np.bincount([state for state, _ in keys], minlength=self.n_states)
        choice_ptr = np.concatenate(([0], np.cumsum(count)))
        for at, (state, choice) in enumerate(keys):
            if choice != at - choice_ptr[state]:
                what = f"state {state} has choice {choice}, but not all before it"
                raise reader.corrupt("choice", what, self.line[state, choice])
        if not self.n_states:
            raise reader.corrupt("sizes", "there are no states", None)
        branch_ptr = np.concatenate(([0], np.cumsum([len(self.rows[key]) for key in keys]))).astype(np.int64)
        probability = [p for key in keys for p in self.rows[key].values()]
        lines = [self.line[key] for key in keys]
        number: Any = float if self.decimal else Fraction  # a sum of decimals that mean floats is a float
        return Model(
            kind=self.kind,
            choice_ptr=choice_ptr,
            branch_ptr=branch_ptr,
            target=np.array([to for key in keys for to in self.rows[key]], dtype=np.int64),
            probability=reader.rows(branch_ptr, probability, lines, tolerance=self.tolerance),
            rewards={name: [number(paid.get(key, 0)) for key in keys] for name, paid in self.rewards.items()},
            labels=labels,
            start=start,
            actions=[self.action.get(key, "") for key in keys],
            states=states,
            warnings=(*self.idle, *reader.notes),
        )


def _read_labels(reader: Reader, n_states: int) -> dict[str, tuple[int, ...]]:
    # The words of Storm's dialect look like comments.
    reader.comment = "# "
    lines = reader.lines()
    if not (first := next(lines, "")):
        raise reader.corrupt("label", "the file is empty, and the label init says where play starts", None)
    storm = first == "#DECLARATION"
    if storm:
        names: list[str] = []
        for text in lines:
            if text == "#END":
                break
            names += text.split()
        else:
            raise reader.corrupt("label", "#END is missing")
        numbered = {name: name for name in names}
    else:
        numbered = dict(_DECLARED.findall(first))
        if _DECLARED.sub("", first).strip() or len(set(numbered.values())) < len(numbered):
            raise reader.corrupt("label", f'{first[:40]!r} does not declare labels as 0="name" 1="other"')
    found: dict[str, list[int]] = {name: [] for name in numbered.values()}
    for text in lines:
        state, _, rest = text.partition(" " if storm else ":")
        number = reader.natural(state.strip(), "state", n_states)
        for label in rest.split():
            if label not in numbered:
                raise reader.corrupt("label", f"{label[:40]!r} is not declared")
            found[numbered[label]].append(number)
    return {name: tuple(states) for name, states in found.items()}


def _read_states(reader: Reader, n_states: int) -> list[Hashable]:
    lines = reader.lines()
    names = next(lines, "")
    if not re.fullmatch(r"\([^()]*\)", names):
        raise reader.corrupt("variables", f"{names[:40]!r} is not (x,y,...)")
    width = names.count(",") + 1
    found: list[Hashable] = []
    for text in lines:
        number, _, values = text.partition(":")
        if reader.natural(number.strip(), "state", n_states) != len(found):
            raise reader.corrupt("state", f"{number} where {len(found)} is expected")
        if len(parts := values.strip().removeprefix("(").removesuffix(")").split(",")) != width:
            raise reader.corrupt("variables", f"{values[:40]!r} does not have {width} values")
        found.append(tuple(_variable(part.strip()) for part in parts))
    if len(found) != n_states:
        raise reader.corrupt("states", f"{len(found)} states, but {n_states} in the transitions", None)
    if len(set(found)) != len(found):
        raise reader.corrupt("states", "two states have the same values", None)
    return found


def _variable(text: str) -> Hashable:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text
