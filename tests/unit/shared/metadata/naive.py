"""The rules of the filter once more, naively, over raw metadata and conditions; and what to try.

It shares no code with the product, so that both can't be wrong in the same way.
"""

import operator
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

NEGATIVE = {
    "not contains": "contains",
    "is not": "is",
    "≠": "is",
    "not in": "in",
    "not empty": "empty",
}
SHAPES = re.compile("9999-99-99([T ]99:99(:99([.]9{1,9})?)?(Z|[+-]99:99)?)?")


def matches(tree: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Tells whether metadata matches a condition or a group, both as JSON."""
    if "conditions" in tree:
        answers = [matches(member, metadata) for member in tree["conditions"]]
        match tree["logical_operator"]:
            case "and":
                return False not in answers
            case "or":
                return True in answers
            case _:
                return not answers[0]
    fields = {nfc(name): value for name, value in metadata.items()}
    stored = fields.get(nfc(tree["name"]))
    asked, value = tree["comparison_operator"], tree.get("value")
    if asked in NEGATIVE:
        return not holds(NEGATIVE[asked], stored, value)
    return holds(asked, stored, value)


def holds(asked: str, stored: Any, value: Any) -> bool:
    if asked == "empty":
        return stored in (None, [], {}) or (isinstance(stored, str) and blank(stored))
    elements = stored if isinstance(stored, list) else [stored]
    return any(fits(asked, element, value) for element in elements)


def fits(asked: str, stored: Any, value: Any) -> bool:
    match asked:
        case "contains" | "start with" | "end with":
            part = nfc(value) if isinstance(value, str) else decimal(value)
            text = stored if isinstance(stored, str) else decimal(stored)
            return text is not None and has(asked, nfc(text), part)
        case "is" | "=":
            wanted = value if isinstance(value, list) else [value]
            return any(equal(stored, each) for each in wanted)
        case "in":
            wanted = pieces(value) if isinstance(value, str) else value
            wanted = wanted if isinstance(wanted, list) else [wanted]
            return any(equal(stored, each) for each in wanted)
        case ">" | "<" | "≥" | "≤":
            return compare(asked, number(stored), number(value))
        case "before":
            return compare("<", instant(stored), instant(value))
        case _:
            return compare(">", instant(stored), instant(value))


def has(asked: str, text: str, part: Any) -> bool:
    match asked:
        case "contains":
            return any(text[at:].startswith(part) for at in range(len(text)))
        case "start with":
            return bool(text[: len(part)] == part)
        case _:
            return bool(text[-len(part) :] == part)


def equal(stored: Any, value: Any) -> bool:
    match value:
        case bool():
            return stored is value or stored == str(value).lower()
        case str() if isinstance(stored, str):
            return nfc(stored) == nfc(value)
        case str() if isinstance(stored, bool):
            return value == str(stored).lower()
        case _:
            wanted, found = number(value), number(stored)
            return wanted is not None and wanted == found


def compare(asked: str, stored: Fraction | None, value: Fraction | None) -> bool:
    if stored is None or value is None:
        return False
    return {
        ">": stored > value,
        "<": stored < value,
        "≥": stored >= value,
        "≤": stored <= value,
    }[asked]


def number(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value.strip(" \t\n\v\f\r") if isinstance(value, str) else repr(value)
    if set(text) - set("0123456789+-.eE"):
        return None
    exponent = text.lower().partition("e")[2].lstrip("+-")
    try:
        if len(exponent) > 3 or abs(float(text)) == float("inf"):
            return None
    except ValueError:
        return None
    return Fraction(int(text)) if text.lstrip("+-").isdigit() else Fraction(repr(float(text)))


def instant(value: Any) -> Fraction | None:
    """Microseconds since 1970."""
    seconds = number(value)
    if seconds is not None:
        if seconds >= 10**11:
            seconds /= 1000
        in_range = -62135596800 <= seconds < 253402300800
        return Fraction(seconds * 10**6 // 1) if in_range else None
    if not isinstance(value, str) or not SHAPES.fullmatch(re.sub("[0-9]", "9", value)):
        return None
    sixty = re.search("(:60|[+-]..:[6-9].|[T ]24)", value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if sixty:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Fraction((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))


def decimal(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    text = f"{Decimal(repr(value)):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def pieces(value: str) -> list[str]:
    return [piece for piece in map(trim, value.split(",")) if piece]


def trim(text: str) -> str:
    while text and white(text[0]):
        text = text[1:]
    while text and white(text[-1]):
        text = text[:-1]
    return text


def white(character: str) -> bool:
    control = "\t\n\v\f\r\x85"
    return character in control or unicodedata.category(character) in {"Zs", "Zl", "Zp"}


def blank(text: str) -> bool:
    return all(white(character) for character in text)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


# What is tried. Documents and conditions draw from one family of values at a time, so they meet.

NAMES = [
    "a.b",
    "it's",
    'say "x"',
    "->>",
    "%",
    "%s",
    ":name",
    "$[*] ? (@ > 1)",
    "{a,b}",
    "\\",
    "a\nb",
]
NAMES += [
    "filled",
    "values",
    "numbers",
    "--",
    "; drop table documents",
    "0",
    " ",
    "null",
    "😀",
    "語言",
]
NAMES += ["e\u0301", "\xe9", "لغة", "n" * 255, "uploader?", "#>>'{a}'", "$1", "/*"]

SEVEN: list[Any] = [
    7,
    7.0,
    "7",
    "7.0",
    "007",
    " 7 ",
    "\xa07",
    "+7",
    "7.",
    "７",
    "70e-1",
    "7,8",
    77,
    6.5,
]
BIG: list[Any] = [2**53, 2**53 + 1, float(2**53), "9007199254740993", "9007199254740992.0", 1e23]
BIG += [10**23, "1e23", 1.7e308, 10**308, "1e999", "9" * 310, -(10**308), 99_999_999_999, 10**11]
SMALL: list[Any] = [0, -0.0, "-0", "0", ".0", 0.1, ".1", "0.10", 1e-7, "1e-7", 5e-324, 0.3, -1, 1.5]
SMALL += [0.30000000000000004, "0.3", "1e-999", 1, "1", True, False]
BOOLEANS: list[Any] = [
    True,
    False,
    "true",
    "false",
    "True",
    " true",
    1,
    0,
    "1",
    "",
    ["true", False],
]
LOOKALIKES: list[Any] = [
    "1_000",
    "1000",
    1000,
    "1e3",
    "0x1F",
    "31",
    31,
    "１２",
    "12",
    12,
    "٣",
    "NaN",
]
LOOKALIKES += ["Infinity", "-inf", "null", "{}", "[]", '["en"]', "{{x}}", "1,000"]
BLANKS: list[Any] = [
    "",
    " ",
    "\u3000\t",
    "\u200b",
    "\x1c",
    "\x85",
    None,
    [],
    {},
    [""],
    [None],
    [[]],
    ",",
]
WORDS: list[Any] = [
    "en",
    "EN",
    "english",
    "e\u0301",
    "\xe9",
    "ＥＮ",
    "İ",
    "i̇",
    "ß",
    "ss",
    "en, EN",
    ", ",
]
WORDS += [
    "知识库",
    "知识",
    "识库",
    "😀",
    "😀😀",
    "🇫🇷",
    "한국",
    "ا",
    ["en", "ß"],
]
MARKS: list[Any] = [
    "100%",
    "a_b",
    "aXb",
    "%",
    "_",
    "\\",
    "\\%",
    "'",
    '"',
    "''",
    "$1",
    "%s",
    "a\\_b",
    "Xb",
]
TIMES: list[Any] = ["2025-04-09", "2025-04-09T11:52:45Z", "2025-04-09 11:52:45", "2024-02-30"]
TIMES += ["2025-04-09T13:52:45+02:00", "2025-04-09T11:52:45.123456789Z", "2025-04-09T11:52"]
TIMES += ["1744199565", 1744199565, 1744199565.0, 1744199565.5, "1744199565.5", 1744199565000]
TIMES += [1744199565.123456, "2024-01-01T24:00", "2024-01-01T23:59:60Z", "２０２５-04-09", -1, 0]
TIMES += ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9-23:59", "1969-12-31T23:59:59Z"]
TIMES += [-62135596800, -62135596801, 4102444800, -(10**11), 253402300799999, 253402300800000]
FAMILIES = [SEVEN, BIG, SMALL, BOOLEANS, LOOKALIKES, BLANKS, WORDS, MARKS, TIMES]

_any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
_any_number = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_any_time = st.datetimes().map(datetime.isoformat)
_odd_names = st.sampled_from(NAMES) | _any_text.filter(bool)
_usual_names = st.sampled_from(["lang"] * 5 + ["->>", "e\u0301", "\xe9"])
_names = st.one_of([_usual_names] * 8 + [_odd_names])


def _draw_world(
    family: list[Any],
) -> st.SearchStrategy[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Documents, and trees over them."""
    own = [each for each in family if isinstance(each, str | int | float)]  # bool is an int
    scalars = st.one_of([st.sampled_from(own)] * 6 + [_any_text, _any_number, st.booleans()])
    stored = st.sampled_from(family) | st.recursive(
        scalars | st.none(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_any_text, inner, max_size=2),
        max_leaves=5,
    )
    usual = st.fixed_dictionaries({"lang": stored}, optional={"->>": stored, "e\u0301": stored})
    odd = st.dictionaries(_odd_names, stored, max_size=2)
    documents = st.lists(st.builds(operator.or_, odd, usual), min_size=3, max_size=8)
    trees = st.lists(_draw_trees(own, scalars), min_size=1, max_size=3)
    return st.tuples(documents, trees)


def _draw_trees(own: list[Any], scalars: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(scalars, max_size=5)
    texts = [each for each in own if isinstance(each, str)] + ["e", "0", "7"]
    parts = st.sampled_from([each for each in texts if each]) | _any_text.filter(bool) | _any_number
    bounds = st.sampled_from([each for each in [*own, 0, 7] if number(each) is not None])
    times = st.sampled_from([each for each in [*own, 0, "2025-04-09"] if instant(each) is not None])
    joined = st.lists(st.sampled_from(texts), max_size=4).map(",".join)
    leaves = st.one_of(
        _ask(["contains", "not contains", "start with", "end with"], parts),
        _ask(["is", "=", "is not", "≠"], scalars | listed),
        _ask(["in", "not in"], scalars | listed | joined),
        _ask([">", "<", "≥", "≤"], bounds | bounds | _any_number),
        _ask(["before", "after"], times | times | _any_time),
        _ask(["empty", "not empty"], st.none()),
    )
    return st.recursive(leaves, _join, max_leaves=5)


def _ask(operators: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"name": _names, "comparison_operator": st.sampled_from(operators), "value": values}
    )


def _join(members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(members, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {"logical_operator": st.sampled_from(["and", "or"]), "conditions": several}
    ) | st.fixed_dictionaries(
        {"logical_operator": st.just("not"), "conditions": st.tuples(members).map(list)}
    )


worlds = st.one_of([_draw_world(family) for family in FAMILIES])

NEGATIONS = [("contains", "not contains"), ("is", "is not"), ("=", "≠"), ("in", "not in")]
NEGATIONS += [("empty", "not empty")]
OPERATORS = [*(each for pair in NEGATIONS for each in pair), "start with", "end with"]
OPERATORS += [">", "<", "≥", "≤", "before", "after"]


def ask_everything(family: list[Any]) -> list[dict[str, Any]]:
    """Every operator with every value of a family: conditions, some of which are refused."""
    return [
        {"name": "lang", "comparison_operator": asked, "value": value}
        for asked in OPERATORS
        for value in (family if "empty" not in asked else [None])
    ]
