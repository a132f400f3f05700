import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.manage.pages import fit, parse_cursor, write_cursor
from shared.errors import InvalidRequest
from shared.http.bodies import MOST_ANSWER_BYTES
from tests.unit.shared.postgres.test_documents import HELD


@given(st.uuids(), st.datetimes(timezones=st.just(UTC)))
def test_a_cursor_comes_back_as_its_place(id_: object, created_at: datetime) -> None:
    last = replace(HELD, id=str(id_), created_at=created_at)
    assert parse_cursor(write_cursor(last)) == (created_at, str(id_))


def test_the_start_has_no_cursor() -> None:
    assert parse_cursor(None) is None


@given(st.text())
def test_any_other_text_is_refused(cursor: str) -> None:
    try:
        place = parse_cursor(cursor)
    except InvalidRequest as refused:
        assert refused.problems[0].pointer == "/query/cursor"
    else:
        assert place is not None


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_out_of_the_years_that_there_are_is_refused(when: str) -> None:
    place = json.dumps([when, str(uuid4())]).encode()
    with pytest.raises(InvalidRequest, match="no cursor"):
        parse_cursor(base64.urlsafe_b64encode(place).decode())


@given(st.lists(st.integers(0, MOST_ANSWER_BYTES), max_size=5))
def test_a_page_has_as_much_as_an_answer_and_never_nothing(sizes: list[int]) -> None:
    page = [{"text": "知" * (size // 3), "at": datetime.now(UTC)} for size in sizes]
    kept = fit(page)
    assert kept == page[: len(kept)]
    assert len(kept) == len(page) or kept
    assert len(kept) <= 1 or measure(kept) <= MOST_ANSWER_BYTES
    more = page[: len(kept) + 1]
    assert kept == page or measure(more) > MOST_ANSWER_BYTES


def measure(page: Sequence[Any]) -> int:
    return sum(len(json.dumps(each, default=str, ensure_ascii=False).encode()) for each in page)
