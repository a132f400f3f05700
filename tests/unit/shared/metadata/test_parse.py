"""From JSON to the tree, and every refusal with its pointer."""

import math
from typing import Any

import pytest

from shared.errors import InvalidRequest
from shared.metadata.conditions import (
    Compares,
    EqualsAny,
    Group,
    HasText,
    IsFilled,
    Joiner,
    Not,
    Place,
    Reading,
    Relation,
    Tree,
)
from shared.metadata.operators import SPELLINGS, Operator
from shared.metadata.parse import parse_filter

MISSING = object()


def condition(operator: Any, value: Any = MISSING, name: Any = "f") -> dict[str, Any]:
    found = {"name": name, "comparison_operator": operator, "value": value}
    return {key: each for key, each in found.items() if each is not MISSING}


def group(word: Any, *members: Any) -> dict[str, Any]:
    return {"logical_operator": word, "conditions": list(members)}


def parse(*conditions: Any, word: Any = None, inputs: dict[str, Any] | None = None) -> Tree | None:
    return parse_filter(word, list(conditions), pointer="/filter", inputs=inputs)


def leaf(operator: str, value: Any = MISSING, name: str = "f") -> Tree:
    tree = parse(condition(operator, value, name))
    assert isinstance(tree, Group)
    (member,) = tree.members
    return member


def find_pointers(*conditions: Any, **options: Any) -> list[str]:
    with pytest.raises(InvalidRequest) as refusal:
        parse(*conditions, **options)
    return list_pointers(refusal.value)


def list_pointers(refusal: InvalidRequest) -> list[str]:
    """Returns where the problems are; each says something."""
    assert all(isinstance(p.detail, str) and p.detail for p in refusal.problems)
    return [p.pointer for p in refusal.problems]


@pytest.mark.parametrize(
    ("operator", "value", "tree"),
    [
        ("contains", "a%", HasText("f", Place.ANYWHERE, "a%")),
        ("contains", 0.5, HasText("f", Place.ANYWHERE, "0.5")),
        ("contains", " ", HasText("f", Place.ANYWHERE, " ")),
        ("not contains", "a", Not(HasText("f", Place.ANYWHERE, "a"))),
        ("start with", "e\u0301", HasText("f", Place.START, "\xe9")),
        ("end with", "a", HasText("f", Place.END, "a")),
        ("is", "a, b", EqualsAny("f", values=("a, b",))),
        ("is", "", EqualsAny("f", values=("",))),
        ("is", " 7.0 ", EqualsAny("f", values=(" 7.0 ", 7))),
        ("is", "true", EqualsAny("f", values=("true",), booleans=(True,))),
        ("is", "True", EqualsAny("f", values=("True",))),
        ("is", 7.0, EqualsAny("f", numbers=(7,))),
        ("is", False, EqualsAny("f", values=("false",), booleans=(False,))),
        ("is", True, EqualsAny("f", values=("true",), booleans=(True,))),
        ("is", ["a", 1, "a"], EqualsAny("f", values=("a",), numbers=(1,))),
        ("is", ("a", "b"), EqualsAny("f", values=("a", "b"))),
        ("is", ["true", "b"], EqualsAny("f", values=("true", "b"), booleans=(True,))),
        ("is", [], EqualsAny("f")),
        ("is not", "a", Not(EqualsAny("f", values=("a",)))),
        ("in", "a, b ,,\u3000c\xa0, ", EqualsAny("f", values=("a", "b", "c"))),
        ("in", "a,\x1fb\x85,\u200b", EqualsAny("f", values=("a", "\x1fb", "\u200b"))),
        ("in", ["a, b", ""], EqualsAny("f", values=("a, b", ""))),
        ("in", " , ", EqualsAny("f")),
        ("in", [], EqualsAny("f")),
        ("in", 7, EqualsAny("f", numbers=(7,))),
        ("not in", "a", Not(EqualsAny("f", values=("a",)))),
        ("not in", [], Not(EqualsAny("f"))),
        ("empty", MISSING, Not(IsFilled("f"))),
        ("empty", None, Not(IsFilled("f"))),
        ("empty", "{{left over}}", Not(IsFilled("f"))),
        ("empty", ["left over"], Not(IsFilled("f"))),
        ("not empty", MISSING, IsFilled("f")),
        (">", 5.0, Compares("f", Reading.NUMBERS, Relation.GREATER, 5)),
        ("<", " 5 ", Compares("f", Reading.NUMBERS, Relation.LESS, 5)),
        ("≥", "1e3", Compares("f", Reading.NUMBERS, Relation.AT_LEAST, 1000)),
        ("≤", -0.5, Compares("f", Reading.NUMBERS, Relation.AT_MOST, -0.5)),
        ("before", 1, Compares("f", Reading.INSTANTS, Relation.LESS, 1_000_000)),
        ("after", "1970-01-01", Compares("f", Reading.INSTANTS, Relation.GREATER, 0)),
    ],
)
def test_reads_every_operator(operator: str, value: Any, tree: Tree) -> None:
    assert leaf(operator, value) == tree


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [("=", "is"), ("==", "is"), ("≠", "is not"), ("!=", "is not"), (">=", "≥"), ("<=", "≤")],
)
def test_a04_ascii_spellings_are_the_same_operators(spelling: str, canonical: str) -> None:
    assert leaf(spelling, 5) == leaf(canonical, 5)


def test_names_are_compared_in_nfc() -> None:
    assert leaf("not empty", name="e\u0301") == IsFilled("\xe9")


@pytest.mark.parametrize("word", [None, "and", "AND", "And"])
@pytest.mark.parametrize("conditions", [None, [], {}])
def test_a18_no_conditions_is_no_filter(word: Any, conditions: Any) -> None:
    assert parse_filter(word, conditions, pointer="") is None


def test_groups_nest_and_are_never_flattened() -> None:
    tree = parse(
        group("Or", condition("is", "en"), condition("is", "EN")),
        group("NOT", group(None, condition("not empty"), condition(">", 6))),
        word="AND",
    )
    en, other = EqualsAny("f", values=("en",)), EqualsAny("f", values=("EN",))
    six = Compares("f", Reading.NUMBERS, Relation.GREATER, 6)
    assert tree == Group(
        Joiner.AND,
        (
            Group(Joiner.OR, (en, other)),
            Not(Group(Joiner.AND, (IsFilled("f"), six))),
        ),
    )


def test_the_default_joiner_holds_at_the_top_alone() -> None:
    members = [condition("not empty"), group(None, condition("not empty"))]
    tree = parse_filter(None, members, pointer="", default=Joiner.OR)
    filled = IsFilled("f")
    assert tree == Group(Joiner.OR, (filled, Group(Joiner.AND, (filled,))))


def test_not_may_stand_at_the_top() -> None:
    assert parse(condition("not empty"), word="not") == Not(IsFilled("f"))


def test_without_inputs_braces_are_plain_text() -> None:
    assert leaf("is", "{{uid}}") == EqualsAny("f", values=("{{uid}}",))


def test_d12_variables_are_filled_and_unknown_ones_refused() -> None:
    wanted = condition("is", "{{uid}}", name="owner")
    assert parse(wanted, inputs={"uid": "{{uid}}"}) == parse(wanted)
    assert parse(wanted, inputs={"uid": 7}) == parse(condition("is", 7, name="owner"))
    for takes_none in ("empty", "not empty"):
        assert parse(condition(takes_none, "{{uid}}"), inputs={}) == parse(condition(takes_none))
    assert find_pointers(wanted, inputs={}) == ["/filter/conditions/0/value"]


def test_a17_a_list_variable_is_a_real_list() -> None:
    inputs = {"langs": ["en, fr"]}
    expected = Group(Joiner.AND, (EqualsAny("f", values=("en, fr",)),))
    assert parse(condition("in", "{{langs}}"), inputs=inputs) == expected
    assert parse(condition("is", "{{langs}}"), inputs=inputs) == expected


WRONG_VALUES = [
    *((operator, MISSING) for operator in SPELLINGS if "empty" not in operator),
    *((operator, None) for operator in SPELLINGS if "empty" not in operator),
    *((operator, {"a": 1}) for operator in SPELLINGS if "empty" not in operator),
    *((operator, math.nan) for operator in SPELLINGS if "empty" not in operator),
    *((operator, math.inf) for operator in SPELLINGS if "empty" not in operator),
    *((operator, 10**400) for operator in SPELLINGS if "empty" not in operator),
    *(
        (operator, value)
        for operator in ["contains", "not contains", "start with", "end with"]
        for value in ["", True, ["a"], []]
    ),
    *(
        (operator, value)
        for operator in [">", "<", "≥", "≤", ">=", "<="]
        for value in ["seven", "", "1_000", "NaN", "1e999", True, [5], "2024-03-01"]
    ),
    *(
        (operator, value)
        for operator in ["before", "after"]
        for value in ["last Tuesday", "", "2024-02-30", True, ["2024-01-01"], 1e300]
    ),
]


@pytest.mark.parametrize(("operator", "value"), WRONG_VALUES)
def test_refuses_a_value_that_does_not_fit_naming_the_field(operator: str, value: Any) -> None:
    named = f'field "pages": {SPELLINGS[operator]} '
    with pytest.raises(InvalidRequest, match=named) as refusal:
        parse(condition("not empty"), condition(operator, value, name="pages"))
    assert list_pointers(refusal.value) == ["/filter/conditions/1/value"]


@pytest.mark.parametrize("operator", ["is", "is not", "in", "not in"])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, 10**400, ["nested"], {}])
def test_refuses_a_listed_value_that_does_not_fit(operator: str, value: Any) -> None:
    pointers = find_pointers(condition(operator, ["a", value, "b", value]))
    assert pointers == ["/filter/conditions/0/value/1", "/filter/conditions/0/value/3"]


@pytest.mark.parametrize(
    "operator",
    [MISSING, None, "", "IS", " is", "like", "=~", "null", "<>", 5, ["is"], "contains "],
)
def test_refuses_an_unknown_operator(operator: Any) -> None:
    pointers = find_pointers(condition(operator, "a"))
    assert pointers == ["/filter/conditions/0/comparison_operator"]


def test_an_unknown_operator_is_told_all_that_there_are() -> None:
    with pytest.raises(InvalidRequest, match=r"contains, not contains, start with, .*, ≠, !=, >="):
        parse(condition("like", "a"))


@pytest.mark.parametrize("name", [MISSING, None, "", 5, ["a", "b"], {}])
def test_refuses_a_name_that_is_none(name: Any) -> None:
    assert find_pointers(condition("is", "a", name=name)) == ["/filter/conditions/0/name"]


@pytest.mark.parametrize("word", ["xor", "", "and ", "&&", 1, True, ["and"], "ａｎｄ"])
@pytest.mark.parametrize("conditions", [None, [condition("not empty")]])
def test_refuses_any_other_word(word: Any, conditions: Any) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_filter(word, conditions, pointer="/filter")
    assert list_pointers(refusal.value) == ["/filter/logical_operator"]


@pytest.mark.parametrize("word", ["xor", ""])
def test_refuses_any_other_word_in_a_group(word: str) -> None:
    pointers = find_pointers(group(word, condition("not empty")))
    assert pointers == ["/filter/conditions/0/logical_operator"]


@pytest.mark.parametrize("conditions", ["x", 5, True, {"name": "a"}, 0, ""])
def test_refuses_conditions_that_are_no_list(conditions: Any) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_filter(None, conditions, pointer="/filter")
    assert list_pointers(refusal.value) == ["/filter/conditions"]


@pytest.mark.parametrize(
    "member",
    [
        group("and"),
        group("or"),
        group("not"),
        {"logical_operator": "and"},
        {"conditions": None},
        {"conditions": {}},
        group("not", condition("not empty"), condition("not empty")),
    ],
)
def test_refuses_an_empty_group_and_a_not_of_several(member: Any) -> None:
    assert find_pointers(member) == ["/filter/conditions/0/conditions"]


@pytest.mark.parametrize("conditions", [None, [], {}, [condition("empty"), condition("empty")]])
def test_refuses_a_not_at_the_top_of_anything_but_one(conditions: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_filter("not", conditions, pointer="/filter")


@pytest.mark.parametrize("member", [None, "lang is en", 5, [condition("not empty")], True])
def test_refuses_a_member_that_is_no_object(member: Any) -> None:
    assert find_pointers(member) == ["/filter/conditions/0"]


def test_refuses_unknown_keys() -> None:
    pointers = find_pointers(
        condition("not empty") | {"a/b": 1},
        group("and", condition("not empty")) | {"name": "f"},
        {},
    )
    assert pointers == [
        "/filter/conditions/0/a~1b",
        "/filter/conditions/1/name",
        "/filter/conditions/2/name",
        "/filter/conditions/2/comparison_operator",
    ]


def test_refuses_a_not_of_a_wrong_condition() -> None:
    pointers = find_pointers(group("not", condition(">", "seven")))
    assert pointers == ["/filter/conditions/0/conditions/0/value"]


def test_a_missing_value_is_told_of_empty() -> None:
    with pytest.raises(InvalidRequest, match="there is empty"):
        parse(condition("is", None))


@pytest.mark.parametrize(
    ("operator", "value"),
    [("is not", None), ("not in", None), ("not contains", None), ("not contains", ""),
     ("is not", [{}]), ("not in", [[]])],
)  # fmt: skip
def test_a_negative_operator_is_told_by_its_own_name(operator: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=f'field "f": {operator} [nc]'):
        leaf(operator, value)


def test_names_every_problem_at_once() -> None:
    pointers = find_pointers(
        condition("like", "x", name=None),
        group("nor", condition(">", "seven"), condition("is", None)),
        word="xor",
    )
    assert pointers == [
        "/filter/logical_operator",
        "/filter/conditions/0/name",
        "/filter/conditions/0/comparison_operator",
        "/filter/conditions/1/logical_operator",
        "/filter/conditions/1/conditions/0/value",
        "/filter/conditions/1/conditions/1/value",
    ]


def test_takes_a_hundred_conditions_in_all() -> None:
    fifty = [condition("not empty")] * 50
    assert parse(group("or", *fifty), *fifty)
    pointers = find_pointers(group("or", *fifty), *fifty, condition("not empty"))
    assert pointers == ["/filter/conditions/51"]
    assert len(find_pointers(*[condition("not empty")] * 150)) == 1


def nest(levels: int) -> dict[str, Any]:
    member = condition("not empty")
    for _ in range(levels - 1):
        member = group("and", member)
    return member


def test_takes_eight_levels() -> None:
    assert parse(nest(8))
    assert find_pointers(nest(9)) == ["/filter" + "/conditions/0" * 8 + "/conditions"]


def test_deep_nesting_ends_at_the_limit() -> None:
    assert len(find_pointers(nest(50_000))) == 1


@pytest.mark.parametrize("operator", ["is", "is not", "in", "not in"])
def test_takes_ten_thousand_listed_values_in_all(operator: str) -> None:
    half = condition(operator, [f"v{number}" for number in range(5_000)])
    assert parse(half, half, condition("is", "x"))
    pointers = find_pointers(half, half, condition(operator, ["one more"]), half)
    assert pointers == ["/filter/conditions/2/value"]


@pytest.mark.parametrize("operator", ["in", "not in"])
def test_text_split_at_commas_counts_its_pieces(operator: str) -> None:
    assert parse(condition(operator, "v," * 10_000))
    assert find_pointers(condition(operator, "v," * 10_001)) == ["/filter/conditions/0/value"]


def test_a_list_filled_in_counts_too() -> None:
    inputs = {"many": ["v"] * 10_001}
    assert find_pointers(condition("in", "{{many}}"), inputs=inputs)


def test_names_at_most_a_hundred_problems() -> None:
    assert len(find_pointers(*[group("and")] * 10_000)) == 100
    assert len(find_pointers(condition("in", [None] * 10_000))) == 100


def test_every_operator_has_a_spelling() -> None:
    assert set(SPELLINGS.values()) == set(Operator)
    assert all(SPELLINGS[operator] is operator for operator in Operator)
