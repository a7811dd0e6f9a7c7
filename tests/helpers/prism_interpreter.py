"""A small interpreter of the PRISM language, exact and independent of the library's writer.

One module, formulas, bool and int variables, commands, one reward structure on actions, players and labels; anything
else is an error.  Expressions are parsed by the precedences of the language's manual and computed in
Fractions; `=` compares, `/` divides exactly.  Updates out of their range, probabilities that do not sum to 1, and
two commands of one action that are enabled together are errors.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path

from mdpdice import Network

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(<=|>=|!=|[-+*/()<>=!&|?:,]))")
RELATIONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
FUNCTIONS = {
    "min": min,
    "max": max,
    "floor": lambda x: x.numerator // x.denominator,
    "mod": lambda a, b: number(a) - b * (a // b),
}


def number(x):
    assert not isinstance(x, bool), "a condition where a number is wanted"
    return x


def condition(x):
    assert isinstance(x, bool), "a number where a condition is wanted"
    return x


class Parser:
    """Expressions as functions of a valuation."""

    def __init__(self, text, formulas):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            assert match, f"cannot read {text[at:]!r}"
            self.tokens.append(match.group(match.lastindex))
            at = match.end()
        self.tokens.append(None)
        self.at, self.formulas = 0, formulas

    def take(self, *which):
        if self.tokens[self.at] in which:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def need(self, which):
        assert self.take(which), f"{which!r} is missing before {self.tokens[self.at :]}"

    def whole(self):
        found = self.choice()
        assert self.tokens[self.at] is None, self.tokens[self.at :]
        return found

    def choice(self):
        test = self.either()
        if not self.take("?"):
            return test
        then = self.choice()
        self.need(":")
        other = self.choice()
        return lambda v: then(v) if condition(test(v)) else other(v)

    def either(self):
        parts = [self.both()]
        while self.take("|"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda v: any(condition(part(v)) for part in parts)

    def both(self):
        parts = [self.negation()]
        while self.take("&"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else lambda v: all(condition(part(v)) for part in parts)

    def negation(self):
        if self.take("!"):
            inner = self.negation()
            return lambda v: not condition(inner(v))
        return self.relation()

    def relation(self):
        left = self.sum()
        if op := self.take(*RELATIONS):
            right, compare = self.sum(), RELATIONS[op]
            return lambda v: compare(number(left(v)), number(right(v)))
        return left

    def sum(self):
        found = self.product()
        while op := self.take("+", "-"):
            found = self.pair(op, found, self.product())
        return found

    def product(self):
        found = self.sign()
        while op := self.take("*", "/"):
            found = self.pair(op, found, self.sign())
        return found

    @staticmethod
    def pair(op, one, two):
        match op:
            case "+":
                return lambda v: number(one(v)) + number(two(v))
            case "-":
                return lambda v: number(one(v)) - number(two(v))
            case "*":
                return lambda v: number(one(v)) * number(two(v))
        return lambda v: Fraction(number(one(v))) / number(two(v))

    def sign(self):
        if self.take("-"):
            inner = self.sign()
            return lambda v: -number(inner(v))
        return self.atom()

    def atom(self):
        token = self.tokens[self.at]
        self.at += 1
        if token == "(":
            inner = self.choice()
            self.need(")")
            return inner
        if token in ("true", "false"):
            return lambda v: token == "true"
        if token in FUNCTIONS:
            self.need("(")
            args = [self.choice()]
            while self.take(","):
                args.append(self.choice())
            self.need(")")
            apply = FUNCTIONS[token]
            return lambda v: apply(*(number(arg(v)) for arg in args))
        if token[0].isdigit():
            value = Fraction(token)
            value = value.numerator if value.denominator == 1 else value
            return lambda v: value
        if token in self.formulas:
            return self.formulas[token]
        return lambda v: v[token]


class Program:
    """A program of one module, explored from its initial state.

    Attributes
    ----------
    kind : str
    network : Network
        What can be reached; its states are valuations as tuples of (name, value), sorted.
    labels : dict of str to list of states
    """

    def __init__(self, path: Path):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        self.kind = text.split()[0]
        assert self.kind in ("dtmc", "mdp", "smg")
        formulas = {}
        for name, body in re.findall(r"^formula (\w+) = (.*);\s*$", text, re.MULTILINE):
            formulas[name] = Parser(body, formulas).whole()

        @cache
        def expression(body):
            return Parser(body, formulas).whole()

        players = re.findall(r"^player (\w+)\s+(.*?)\s+endplayer", text, re.DOTALL | re.MULTILINE)
        self.owner_of = {
            action: k for k, (_, actions) in enumerate(players) for action in re.findall(r"\[(\w+)\]", actions)
        }
        assert [who for who, _ in players] == (["maximiser", "minimiser"] if self.kind == "smg" else [])
        body = re.search(r"^module \w+\n(.*?)^endmodule", text, re.DOTALL | re.MULTILINE)[1]
        self.start, self.range, self.commands = {}, {}, {}
        for line in filter(str.strip, body.splitlines()):
            if found := re.fullmatch(r"\s*(\w+) : \[(-?\d+)\.\.(-?\d+)\] init (-?\d+);\s*", line):
                low, high, start = map(int, found.groups()[1:])
                self.range[found[1]], self.start[found[1]] = range(low, high + 1), start
            elif found := re.fullmatch(r"\s*(\w+) : bool init (true|false);\s*", line):
                self.range[found[1]], self.start[found[1]] = (False, True), found[2] == "true"
            else:
                action, guard, branches = re.fullmatch(r"\s*\[(\w+)\] (.*?) -> (.*);\s*", line).groups()
                self.commands.setdefault(self.place(guard), []).append(
                    (action, expression(guard), [self.branch(one, expression) for one in self.split(branches)])
                )
        rewards = re.search(r'^rewards "reward"\n(.*?)^endrewards', text, re.DOTALL | re.MULTILINE)[1]
        self.rewards = {}
        found = re.findall(r"^\s*\[(\w+)\] (.*?) : (.*);\s*$", rewards, re.MULTILINE)
        for action, where, paid in found:
            self.rewards.setdefault(self.place(where), []).append((action, expression(where), expression(paid)))
        assert len(found) == len(rewards.splitlines())
        self.network = self.explored()
        self.labels = {
            label: [state for state in self.network.states if test(dict(state))]
            for label, test in (
                (label, expression(test))
                for label, test in re.findall(r'^label "(\w+)" = (.*);\s*$', text, re.MULTILINE)
            )
        }

    @staticmethod
    def place(guard):
        """The value of `s` that a guard asks for, if it begins with that and goes on with `&` only; for speed."""
        found = re.match(r"s=(\d+)(?: & |$)", guard)
        return None if found is None or re.search(r"[|?]", re.sub(r"\(.*\)", "", guard)) else int(found[1])

    @staticmethod
    def split(branches):
        """Branches at the plus signs that are not inside parentheses."""
        parts, depth, last = [], 0, 0
        for at, letter in enumerate(branches):
            depth += (letter == "(") - (letter == ")")
            # Between branches a plus follows an update.
            if letter == "+" and depth == 0 and branches[:at].rstrip().endswith(")") and "'" in branches[last:at]:
                parts.append(branches[last:at])
                last = at + 1
        return [*parts, branches[last:]]

    def branch(self, text, expression):
        chance, _, updates = text.partition(": (s'=")
        found = []
        depth, begin, updates = 0, 0, "(s'=" + updates.strip()
        for at, letter in enumerate(updates):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and letter == ")":
                name, _, value = updates[begin + 1 : at].partition("'=")
                found.append((name, expression(value)))
                begin = at + 2
                assert updates[at + 1 : begin] in ("&", ""), updates
        assert len({name for name, _ in found}) == len(found)
        return expression(chance), found

    def moved(self, state, updates):
        after = dict(state)
        for name, value in updates:
            new = value(state)
            assert type(new) is type(self.start[name]), (name, new)
            assert new in self.range[name], f"{name} would become {new}, outside {self.range[name]}, in {state}"
            after[name] = new
        return after

    @staticmethod
    def at(rows, state):
        return rows.get(None, []) + rows.get(state["s"], [])

    def explored(self):
        key = lambda state: tuple(sorted(state.items()))  # noqa: E731
        order, todo = {key(self.start): 0}, [self.start]
        choices, owner, actions, rewards = [], [], [], []
        for state in todo:  # which grows
            mine = [(action, branches) for action, guard, branches in self.at(self.commands, state) if guard(state)]
            assert mine, f"deadlock in {state}"
            assert len({action for action, _ in mine}) == len(mine), f"two commands at once in {state}"
            assert len(mine) == 1 or self.kind != "dtmc"
            owners = {self.owner_of.get(action) for action, _ in mine}
            assert len(owners) == 1, f"nobody or both decide in {state}"
            owner.append(owners.pop())
            found = []
            for action, branches in mine:
                row = {}
                for chance, updates in branches:
                    p = number(chance(state))
                    if p == 0:
                        continue
                    after = self.moved(state, updates)
                    if key(after) not in order:
                        order[key(after)] = len(todo)
                        todo.append(after)
                    row[order[key(after)]] = row.get(order[key(after)], 0) + p
                assert sum(row.values()) == 1, (state, action, row)
                found.append(row)
                actions.append(action)
                paying = self.at(self.rewards, state)
                paid = (pay(state) for name, where, pay in paying if name == action and where(state))
                rewards.append(sum(map(number, paid), Fraction(0)))
            choices.append(found)
        ptr = [0, *accumulate(map(len, choices))]
        ends = [
            at
            for at, found in enumerate(choices)
            if all(list(row) == [at] for row in found) and not any(rewards[ptr[at] : ptr[at + 1]])
        ]
        rows = [row for found in choices for row in found]
        return Network.from_choices(
            ptr,
            [0, *accumulate(map(len, rows))],
            [to for row in rows for to in row],
            [p for row in rows for p in row.values()],
            rewards,
            terminal=dict.fromkeys(ends, 0),
            owner=None if self.kind != "smg" else owner,
            start=0,
            states=list(order),
            actions=actions,
        )
