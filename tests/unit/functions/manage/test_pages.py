from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from functions.manage.pages import parse_cursor, write_cursor
from shared.errors import InvalidRequest
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
        assert refused.problems[0].pointer == "cursor"
    else:
        assert place is not None
