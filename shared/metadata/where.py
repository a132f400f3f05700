"""A filter as people write it into conditions: `lang is en and (pages > 5 or tags in [red, blue])`.

    filter    = all {"or" all}
    all       = one {"and" one}
    one       = "not" one | "(" filter ")" | condition
    condition = name operator [value]
    value     = word | quoted | "[" [element {"," element}] "]"

Operators are those of the API, in any case where they are words. A name, and a value or element
that is text, stands in quotes unless it is one word; `5` is a number, `"5"` is text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import InvalidRequest
from shared.metadata.operators import SPELLINGS, Operator
from shared.metadata.parse import parse_filter
from shared.metadata.tokens import Kind, Token, WhereRefused, read_word, tokenize
from shared.model import JsonObject

_MOST_DEPTH = 50
_NEEDS_TEXT = {
    Operator.CONTAINS, Operator.NOT_CONTAINS, Operator.START_WITH, Operator.END_WITH,
}  # fmt: skip
_WITHOUT_VALUE = {Operator.EMPTY, Operator.NOT_EMPTY}


@dataclass(frozen=True, slots=True)
class _Member:
    """A condition or group, and where in the text each part of it stands, by JSON pointer."""

    json: JsonObject
    places: Mapping[str, int]


def parse_where(text: str) -> JsonObject:
    """Returns the `logical_operator` and `conditions` that a text writes, checked as queries are.

    Raises:
        WhereRefused: at the first thing that is wrong, be it how the text is built or what a
            condition asks.
    """
    reader = _Reader(text)
    member = reader.read_filter(depth=0)
    reader.expect_end()
    if "conditions" not in member.json:
        member = _group("and", [member])
    try:
        parse_filter(
            member.json["logical_operator"], member.json["conditions"], pointer="", inputs={}
        )
    except InvalidRequest as refusal:
        problem = refusal.problems[0]
        raise WhereRefused(problem.detail, text, _locate(problem.pointer, member)) from refusal
    return member.json


def _group(word: str, members: list[_Member]) -> _Member:
    places = {"": members[0].places[""]}
    for position, member in enumerate(members):
        places |= {f"/conditions/{position}{p}": start for p, start in member.places.items()}
    conditions = [member.json for member in members]
    return _Member({"logical_operator": word, "conditions": conditions}, places)


def _locate(pointer: str, member: _Member) -> int:
    while pointer not in member.places:
        pointer = pointer.rpartition("/")[0]
    return member.places[pointer]


class _Reader:
    """Reads from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0

    def read_filter(self, depth: int) -> _Member:
        return self._join("or", lambda: self._join("and", lambda: self._read_one(depth)))

    def expect_end(self) -> None:
        token = self._next
        if token.kind is Kind.END:
            return
        if token.says(")"):
            raise self._refuse("this bracket was never opened")
        raise self._refuse("here stands and, or, or nothing; text of several words needs quotes")

    def _join(self, word: str, read: Callable[[], _Member]) -> _Member:
        members = [read()]
        while self._next.says(word):
            self._take()
            members.append(read())
        return members[0] if len(members) == 1 else _group(word, members)

    def _read_one(self, depth: int) -> _Member:
        if depth > _MOST_DEPTH:
            raise self._refuse("there are too many brackets inside each other")
        if self._next.says("not"):
            start = self._take().start
            member = _group("not", [self._read_one(depth + 1)])
            return _Member(member.json, {**member.places, "": start})
        if not self._next.says("("):
            return self._read_condition()
        opened = self._take()
        member = self.read_filter(depth + 1)
        if not self._next.says(")"):
            self.expect_end()
            raise self._refuse("this bracket is not closed", opened)
        self._take()
        return member

    def _read_condition(self) -> _Member:
        name = self._next
        if name.kind in {Kind.SIGN, Kind.END} or name.says("and", "or"):
            raise self._refuse("here stands the name of a field, in quotes if it is no plain word")
        self._take()
        spelling = self._read_operator(name)
        json: dict[str, Any] = {"name": name.text, "comparison_operator": spelling}
        places = {"": name.start}
        operator = SPELLINGS[spelling]
        if operator not in _WITHOUT_VALUE:
            json["value"], found = self._read_value(name, operator)
            places |= found
        return _Member(json, places)

    def _read_operator(self, name: Token) -> str:
        ahead = self._tokens[self._at : self._at + 2]
        for tokens in (ahead, ahead[:1]):  # the longer one first: `is not` is no `is`
            spelling = " ".join(token.text for token in tokens).lower()
            if spelling in SPELLINGS and all(each.kind is not Kind.QUOTED for each in tokens):
                self._at += len(tokens)
                return spelling
        known = ", ".join(SPELLINGS)
        raise self._refuse(f'after the field "{name.text[:80]}" stands one of: {known}')

    def _read_value(self, name: Token, operator: Operator) -> tuple[Any, dict[str, int]]:
        if not self._next.says("["):
            token = self._next
            return self._read_scalar(name, operator), {"/value": token.start}
        values: list[Any] = []
        places = {"/value": self._take().start}
        while not self._next.says("]"):
            if values:
                self._expect(",", "here stands a comma or ]; text of several words needs quotes")
            places[f"/value/{len(values)}"] = self._next.start
            values.append(self._read_scalar(name, operator))
        self._take()
        return values, places

    def _read_scalar(self, name: Token, operator: Operator) -> Any:
        token = self._next
        if token.kind is Kind.QUOTED:
            return self._take().text
        if token.kind is not Kind.WORD or token.says("and", "or", "not"):
            raise self._refuse("here stands a value, in quotes if it is no plain word")
        if token.says("empty", "null"):
            wanted = "not empty" if operator in {Operator.IS_NOT, Operator.NOT_IN} else "empty"
            field = name.text[:80]
            raise self._refuse(f'write `{field} {wanted}`, or "{token.text}" if it is that text')
        self._take()
        return token.text if operator in _NEEDS_TEXT else read_word(token.text)

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str, detail: str) -> None:
        if not self._next.says(sign):
            raise self._refuse(detail)
        self._take()

    def _refuse(self, detail: str, token: Token | None = None) -> WhereRefused:
        return WhereRefused(detail, self._text, (token or self._next).start)
