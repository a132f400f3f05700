"""How values read: figures by hand, and laws."""

import math
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.metadata.grammar import (
    WHITE_SPACE,
    is_blank,
    normalise_text,
    read_boolean,
    read_instant,
    read_number,
    write_number,
)

SECOND = 1_000_000
DAY = 86_400 * SECOND


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("\t\n\v\f\r 7\r\n", 7),
        ("007", 7),
        ("+7", 7),
        ("-7", -7),
        ("7.", 7),
        ("7.0", 7),
        (".5", 0.5),
        ("-.5e1", -5),
        ("1e3", 1000),
        ("1E+003", 1000),
        ("1e-999", 0),
        ("-0", 0),
        ("-0.0", 0),
        (-0.0, 0),
        (5.0, 5),
        (1e23, 10**23),
        ("1e23", 10**23),
        (2**53 + 1, 2**53 + 1),
        ("9007199254740993", 2**53 + 1),
        (10**300, 10**300),
        ("0" * 5000 + "12", 12),
        (0.1, 0.1),
    ],
)
def test_reads_numbers(value: Any, number: float) -> None:
    assert read_number(value) == number
    assert type(read_number(value)) is type(number)


@pytest.mark.parametrize(
    "value",
    [
        "1_000",
        "0x1F",
        "0b1",
        "１２",
        "٣",
        "NaN",
        "nan",
        "inf",
        "Infinity",
        "-Infinity",
        "",
        " ",
        ".",
        "+",
        "e3",
        "1e",
        "1e1000",
        "1e0000",
        "1e999",
        "-1e400",
        "1 2",
        "1,5",
        "--1",
        "+-1",
        "\xa07",
        "7\u3000",
        "\x1c7",
        "\x007",
        "1.2.3",
        "½",
        "1f",
        "1e5.0",
        "9" * 310,
        "1́",
        True,
        False,
        None,
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        -(10**309),
        [7],
        {"x": 7},
        b"7",
    ],
)
def test_refuses_what_is_no_number(value: Any) -> None:
    assert read_number(value) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "7"),
        (-12, "-12"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (1.5e-7, "0.00000015"),
        (10**23, "1" + "0" * 23),
        (1234.5, "1234.5"),
    ],
)
def test_writes_the_shortest_decimal_text(number: float, text: str) -> None:
    assert write_number(number) == text


@given(st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1.7976931348623157e308)
def test_a_number_and_its_text_are_the_same_number(value: float) -> None:
    number = read_number(value)
    assert number is not None
    assert type(value)(number) == value
    text = write_number(number)
    assert read_number(text) == number
    assert "e" not in text.lower()
    assert not ("." in text and text.endswith("0"))
    assert read_number(repr(value)) == number


@given(st.text())
def test_numeric_text_is_what_float_reads_of_plain_ascii(text: str) -> None:
    number = read_number(text)
    if number is not None:
        assert set(text) <= set("0123456789.+-eE \t\n\r\v\f")
        assert Decimal(text.strip()) == number or float(text) == float(number)


@pytest.mark.parametrize(
    ("value", "boolean"),
    [(True, True), (False, False), ("true", True), ("false", False)]
    + [(value, None) for value in ["True", "TRUE", " true", "1", "yes", "", 1, 0, None, [True]]],
)
def test_reads_booleans(value: Any, boolean: bool | None) -> None:
    assert read_boolean(value) is boolean


@pytest.mark.parametrize(
    ("value", "microseconds"),
    [
        (0, 0),
        (-1, -SECOND),
        (1744199565, 1744199565 * SECOND),
        (1744199565.0, 1744199565 * SECOND),
        ("1744199565", 1744199565 * SECOND),
        ("20240101", 20_240_101 * SECOND),
        (" 1744199565.25 ", 1744199565_250_000),
        (1744199565.123456, 1744199565_123_456),
        (1744199565000, 1744199565 * SECOND),
        (99_999_999_999, 99_999_999_999 * SECOND),
        (99_999_999_999.5, 99_999_999_999_500_000),
        (100_000_000_000, 100_000_000_000_000),
        (253_402_300_799_999, 253_402_300_799_999_000),
        (-62_135_596_800, -62_135_596_800 * SECOND),
        (0.000_000_9, 0),
        (-0.000_000_1, -1),
        (5e-324, 0),
        ("1970-01-01", 0),
        ("1970-01-02", DAY),
        ("1969-12-31", -DAY),
        ("2025-04-09T11:52:45Z", 1744199565 * SECOND),
        ("2025-04-09T11:52:45", 1744199565 * SECOND),
        ("2025-04-09 11:52:45", 1744199565 * SECOND),
        ("2025-04-09T13:52:45+02:00", 1744199565 * SECOND),
        ("2025-04-09T06:22:45-05:30", 1744199565 * SECOND),
        ("2025-04-09T11:52", 1744199520 * SECOND),
        ("2025-04-09T11:52Z", 1744199520 * SECOND),
        ("2025-04-09T11:52:45.5Z", 1744199565_500_000),
        ("2025-04-09T11:52:45.123456789Z", 1744199565_123_456),
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("2024-02-29", 19_782 * DAY),
        ("0001-01-01", -719_162 * DAY),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ("0001-01-01T00:00+00:01", -719_162 * DAY - 60 * SECOND),
        ("9999-12-31T23:59-23:59", 253_402_300_740 * SECOND + 86_340 * SECOND),
        ("2038-01-19T03:14:08Z", 2**31 * SECOND),
    ],
)
def test_reads_instants(value: Any, microseconds: int) -> None:
    assert read_instant(value) == microseconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "last Tuesday",
        "2025-4-9",
        "2025-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-01-00",
        "0000-01-01",
        "10000-01-01",
        "-2024-01-01",
        "2024-01-01T",
        "2024-01-01T12",
        "2024-1-01",
        "2024-01-01T24:00",
        "2024-01-01T23:60",
        "2024-01-01T23:59:60Z",
        "2024-01-01T23:59:61",
        "2024-01-01t12:00",
        "2024-01-01T12:00z",
        "2024-01-01  12:00",
        "2024-01-01T12:00 Z",
        "2024-01-01T12:00+2:00",
        "2024-01-01T12:00+0200",
        "2024-01-01T12:00+24:00",
        "2024-01-01T12:00+02:60",
        "2024-01-01T12:00:00.",
        "2024-01-01T12:00:00.1234567890",
        "2024-01-01Z",
        "2024-01-01+02:00",
        " 2024-01-01",
        "2024-01-01 ",
        "2024-01-01\n",
        "２０２４-01-01",
        "2024-01-01T12:00:00,5",
        "2024/01/01",
        "2024-W01-1",
        "2024-01-01T12:00−02:00",
        "2024-01-01\xa012:00",
        "1_744_199_565",
        "NaN",
        -62135596801,
        253402300800000,
        -100000000000,
        1e300,
        10**300,
        math.nan,
        True,
        None,
        [0],
        {"d": 0},
    ],
)
def test_refuses_what_is_no_instant(value: Any) -> None:
    assert read_instant(value) is None


@given(
    st.datetimes(timezones=st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m))))
)
def test_reads_every_written_datetime(moment: datetime) -> None:
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert read_instant(moment.isoformat()) == expected
    assert read_instant(moment.isoformat(" ")) == expected


def test_white_space_is_unicodes_own() -> None:
    others = "\u200b\u200c\u2060\ufeff\u180e\u0000\x1c\x1d\x1e\x1f\u2800\u3164"
    assert len(set(WHITE_SPACE)) == 25
    assert is_blank(WHITE_SPACE)
    assert is_blank("")
    assert not any(is_blank(character) for character in others)


@given(
    st.text(
        st.sampled_from("ae\u0301\u0323\u0344\u0338\u0f71\u0f72\u0f73\u0f81각字\u212b"), min_size=1
    )
)
@example("\u0301\u0323")
@example("\u0f73")
def test_long_text_is_in_nfc_too(text: str) -> None:
    long = text * (2_000 // len(text))
    assert normalise_text(long) == unicodedata.normalize("NFC", long)


MANY = 200_000


@pytest.mark.parametrize(
    ("marks", "ordered"),
    [
        ("\u0301\u0323" * MANY, "\u0323" * MANY + "\u0301" * MANY),
        ("\u0301" * MANY + "\u0323" * MANY, "\u0323" * MANY + "\u0301" * MANY),
        ("\u0f73" * MANY, "\u0f71" * MANY + "\u0f72" * MANY),
    ],
    ids=["in turn", "in blocks", "two in one"],
)
def test_a_run_of_marks_ends_however_long(marks: str, ordered: str) -> None:
    assert normalise_text(f"字{marks}x") == f"字{ordered}x"


def test_text_is_compared_in_nfc() -> None:
    assert normalise_text("e\u0301") == "\xe9"
    assert normalise_text("ｅ") == "ｅ", "no compatibility folding"
    assert normalise_text("\ud800") == "\ud800"
