"""How a piece of metadata, or of a condition, reads as text, number, boolean, instant or nothing.

The only place where text is parsed: stored values pass through here once, when they are written,
and the values of conditions once, when they are read. Patterns are ASCII and match whole texts, so
`1_000`, `１２`, `0x1F` and `NaN` are no numbers.
"""

import itertools
import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

type Number = int | float
"""An int wherever the value is a whole number, else a finite float. Never a bool."""

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's White_Space property (`str.isspace` counts four controls more)."""

_NUMERIC_TEXT = re.compile(
    r"[\t\n\v\f\r ]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)[\t\n\v\f\r ]*", re.ASCII
)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
    r"(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))?)?",
    re.ASCII,
)
_LONG = 1_000
_MARKS_OF_TWO = {ord(c): unicodedata.normalize("NFD", c) for c in "\u0f73\u0f75\u0f81"}
"""Each counts as no mark, but is written as two."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_SECOND = -62_135_596_800  # 0001-01-01T00:00:00Z
_FIRST_READ_AS_MILLISECONDS = 100_000_000_000
_END_OF_MILLISECONDS = 253_402_300_800_000  # 10000-01-01T00:00:00Z


def normalise_text(text: str) -> str:
    """Returns the text in NFC, the form in which all texts and names are compared."""
    is_long = len(text) > _LONG and not text.isascii()
    return unicodedata.normalize("NFC", _order_marks(text) if is_long else text)


def _order_marks(text: str) -> str:
    """Brings each run of marks into their canonical order.

    `unicodedata` does so too, but takes the square of a run's length, so that one long text could
    keep it busy for hours.
    """
    runs = itertools.groupby(text.translate(_MARKS_OF_TWO), lambda c: unicodedata.combining(c) > 0)
    return "".join(
        "".join(sorted(run, key=unicodedata.combining) if are_marks else run)
        for are_marks, run in runs
    )


def is_blank(text: str) -> bool:
    """Tells whether the text is empty or only white space."""
    return not text.strip(WHITE_SPACE)


def read_number(value: Any) -> Number | None:
    """Returns the number that a JSON number or numeric text is, or None.

    Whole numbers written without point and exponent are exact, however large; all others are
    float64. So two identifiers that differ in their last digit stay two numbers, in JSON and in
    text alike.
    """
    match value:
        case bool():
            return None
        case int():
            return value if _is_finite(value) else None
        case float():
            return _make_exact(value) if math.isfinite(value) else None
        case str():
            return _read_numeric_text(value)
        case _:
            return None


def _read_numeric_text(text: str) -> Number | None:
    found = _NUMERIC_TEXT.fullmatch(text)
    if not found or math.isinf(float(found[1])):
        return None
    # By way of Decimal: int() refuses more than 4,300 digits, and zeros in front may be as many.
    return int(Decimal(found[1])) if _INTEGER.fullmatch(found[1]) else _make_exact(float(found[1]))


def _is_finite(value: int) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _make_exact(value: float) -> Number:
    """Turns a whole float into the int that its shortest decimal text writes: 1e23 is 10**23."""
    return int(Decimal(repr(value))) if value.is_integer() else value


def write_number(number: Number) -> str:
    """Returns the shortest decimal text of a number: plain, no exponent, no trailing zeros."""
    return format(Decimal(repr(number)), "f")


def read_boolean(value: Any) -> bool | None:
    """Returns the boolean that a JSON boolean or the text `true` or `false` is, or None."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def read_instant(value: Any) -> int | None:
    """Returns the instant that a number or a text writes, in UTC microseconds since 1970, or None.

    Numbers are epoch seconds, or milliseconds from 100,000,000,000 up. What is finer than a
    microsecond is cut off, towards the past.
    """
    number = read_number(value)
    if number is not None:
        return _read_epoch(number)
    return _read_written_instant(value) if isinstance(value, str) else None


def _read_epoch(number: Number) -> int | None:
    if not _FIRST_SECOND <= number < _END_OF_MILLISECONDS:
        return None
    digits = 6 if number < _FIRST_READ_AS_MILLISECONDS else 3
    return math.floor(Decimal(repr(number)).scaleb(digits))


def _read_written_instant(text: str) -> int | None:
    found = _INSTANT.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = found.groups()[6:]
    microsecond = int((fraction or "").ljust(6, "0")[:6])
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
    except ValueError:  # no such day, hour, minute or second
        return None
    offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    return (local - _EPOCH + (offset if sign == "-" else -offset)) // _MICROSECOND
