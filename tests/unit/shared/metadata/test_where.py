"""Filters as text: what they mean, and where a wrong one is wrong."""

from typing import Any

import pytest

from shared.metadata.operators import SPELLINGS, Operator
from shared.metadata.tokens import WhereRefused
from shared.metadata.where import parse_where

Json = dict[str, Any]
WITHOUT_VALUE = {Operator.EMPTY, Operator.NOT_EMPTY}


def leaf(name: str, operator: str, *value: Any) -> Json:
    written = {"name": name, "comparison_operator": operator}
    return written | ({"value": value[0]} if value else {})


def group(word: str, *members: Json) -> Json:
    return {"logical_operator": word, "conditions": list(members)}


A, B, C = (leaf(name, "is", "x") for name in "abc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lang is en and (pages > 5 or tags in [red, blue])",
         group("and", leaf("lang", "is", "en"),
               group("or", leaf("pages", ">", 5), leaf("tags", "in", ["red", "blue"])))),
        ("a is x", group("and", A)),
        ("(((a is x)))", group("and", A)),
        ("a is x and b is x and c is x", group("and", A, B, C)),
        ("a is x or b is x and c is x", group("or", A, group("and", B, C))),
        ("a is x and b is x or c is x", group("or", group("and", A, B), C)),
        ("a is x and (b is x and c is x)", group("and", A, group("and", B, C))),
        ("not (a is x or b is x)", group("not", group("or", A, B))),
        ("not a is x and b is x", group("and", group("not", A), B)),
        ("not not a is x", group("not", group("not", A))),
        ("NOT(a IS x)Or\n\tb Is x", group("or", group("not", A), B)),
        ("a\u3000is\u3000x", group("and", A)),
    ],
)  # fmt: skip
def test_groups(text: str, expected: Json) -> None:
    assert parse_where(text) == expected


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_operator_in_any_case(spelling: str) -> None:
    operator = SPELLINGS[spelling]
    value = [] if operator in WITHOUT_VALUE else [5]
    for written in (spelling, spelling.upper(), spelling.replace(" ", "  ")):
        text = " ".join(["f", written, *map(str, value)])
        [read] = parse_where(text)["conditions"]
        assert SPELLINGS[read["comparison_operator"]] is operator
        assert [read["value"] for _ in value] in ([], [5], ["5"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-2.5", -2.5),
        ("123456789012345678901", 123456789012345678901),
        ("007", "007"),  # what a shorter number would not write stays text
        ("1.10", "1.10"),
        ("1e3", "1e3"),
        ("1_000", "1_000"),
        ("１２", "１２"),
        ("NaN", "NaN"),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ('"5"', "5"),
        ("'true'", "true"),
        ('""', ""),
        ("' New  York '", " New  York "),
        (r'"a \"b\" \\ c"', 'a "b" \\ c'),
        (r"'it\'s'", "it's"),
        ('"it\'s"', "it's"),
        ("`x`", "x"),
        ('"not"', "not"),
        ('"empty"', "empty"),
        ("https://a.example/b?c", "https://a.example/b?c"),
        ("2025-04-09T11:52:45Z", "2025-04-09T11:52:45Z"),
        ("退款!", "退款!"),
        ("[]", []),
        ("[5, true, 'a, b', x]", [5, True, "a, b", "x"]),
        ("['empty']", ["empty"]),
    ],
)
def test_values(text: str, value: Any) -> None:
    [read] = parse_where(f"f is {text}")["conditions"]
    assert read["value"] == value
    assert type(read["value"]) is type(value)


@pytest.mark.parametrize("operator", ["contains", "not contains", "start with", "end with"])
def test_what_is_looked_for_in_text_stays_as_it_is_written(operator: str) -> None:
    assert parse_where(f"f {operator} 1")["conditions"] == [leaf("f", operator, "1")]
    assert parse_where(f"f {operator} true")["conditions"] == [leaf("f", operator, "true")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("`a b` is x", "a b"),
        ('"a.b->>c" is x', "a.b->>c"),
        ("'it''s' is x", None),
        (r"`a\`b` is x", "a`b"),
        ("'and' is x", "and"),
        ("is is x", "is"),
        ("in in x", "in"),
        ("a.b/c%d@é🙂 is x", "a.b/c%d@é🙂"),
        ("a=x", "a"),
    ],
)
def test_names(text: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(WhereRefused):
            parse_where(text)
    else:
        [read] = parse_where(text)["conditions"]
        assert read["name"] == name


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "", "the name of a field"),
        (" \n ", "", "the name of a field"),
        ("a", "", "after the field"),
        ("a is", "", "a value"),
        ("a is x and", "", "the name of a field"),
        ("a is and b is x", "and", "a value"),
        ("or a is x", "or", "the name of a field"),
        ("and a is x", "and", "the name of a field"),
        ("a is x or and is y", "and", "the name of a field"),
        ("a like x", "like", "stands one of: contains, "),
        ('a "is" x', '"is"', "stands one of"),
        ('a not "in" x', "not", "stands one of"),
        ("a is New York", "York", "needs quotes"),
        ("a in [New York]", "York]", "needs quotes"),
        ("a in [x y", "y", "a comma"),
        ("a in [x, ", "", "a value"),
        ("a in [x,]", "]", "a value"),
        ("a in [,x]", ",x", "a value"),
        ("a in [[x]]", "[x]", "a value"),
        ("a in red, blue", ", blue", "needs quotes"),
        ("a is in [x]", "[x]", "needs quotes"),
        ("a is not", "", "a value"),
        ("a is or", "or", "a value"),
        ("a in [x, not]", "not", "a value"),
        ("a is empty", "empty", "write `a empty`"),
        ("a is not NULL", "NULL", "write `a not empty`"),
        ("a in [x, null]", "null", "write `a empty`"),
        ("a not in [null]", "null", "write `a not empty`"),
        ("a is x b is x", "b is", "and, or, or nothing"),
        ("(a is x", "(a", "not closed"),
        ("(a is x b", "b", "and, or, or nothing"),
        ("a is x)", ")", "never opened"),
        ("a is 'x", "'x", "not closed"),
        ("a is “x”", "“x", "straight quotes"),
        (r"a is 'x\n'", r"\n", "a backslash"),
        ("(" * 51 + "a is x", "a is", "too many brackets"),
        ("not " * 51 + "a is x", "a is", "too many brackets"),
        # What the API would refuse is refused at its place.
        ("x is y and pages > many", "many", "needs a finite number"),
        ("a before soon or a is x", "soon", "needs a time"),
        ("x is y and (b is z or a contains '')", "''", "not empty"),
        ("'' is x", "''", "the name of a field"),
        ("a is x and b is '{{c}}'", "'{{", 'no variable "c"'),
        ("a in [x, '{{c}}']", "'{{", 'no variable "c"'),
        ("a is x or " + "not " * 8 + "a is x", "not a is x", "deeper than 8 levels"),
        (" or ".join(["a is x"] * 100) + " or b is x", "b is", "more than 100 conditions"),
        (f"a in [{', '.join(['x'] * 10_001)}]", "[x", "more than 10,000"),
    ],
)
def test_an_error_tells_its_column(text: str, place: str, says: str) -> None:
    with pytest.raises(WhereRefused) as refused:
        parse_where(text)
    assert says in refused.value.detail
    start = text.index(place) if place else len(text)
    assert refused.value.column == start + 1


def test_brackets_are_no_levels() -> None:
    assert parse_where("(" * 50 + "a is x" + ")" * 50) == group("and", A)


def test_a_caret_stands_below_what_is_wrong() -> None:
    with pytest.raises(WhereRefused) as refused:
        parse_where("标题 is 退款\nand e\u0301 > x")
    said, line, caret = str(refused.value).split("\n")
    assert said == 'Column 19: field "é": > needs a finite number'
    assert line == "  标题 is 退款 and e\u0301 > x"
    assert caret == "  " + " " * 21 + "^"  # four wide characters, one without width
