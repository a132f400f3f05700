import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.retrieve.contracts import fit
from functions.retrieve.contracts.fit import keep_fitting, write_json
from shared.http.bodies import MOST_ANSWER_BYTES

REST = {"records": [], "truncated": False}


@settings(deadline=None)
@given(st.lists(st.text(alphabet='a退"\\\n🎉', max_size=20)), st.integers(0, 300))
def test_as_many_are_kept_as_there_is_room_for(texts: list[str], most: int) -> None:
    records = [{"content": text} for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MOST_ANSWER_BYTES", most)
        kept = keep_fitting(records, REST)
    assert kept == records[: len(kept)]
    if kept:
        assert len(write_json({**REST, "records": kept})) <= most
    if len(kept) < len(records):
        one_more = write_json({**REST, "records": records[: len(kept) + 1]})
        assert len(one_more) > most - len(",")


def test_what_comes_behind_a_full_answer_is_not_asked_for() -> None:
    def write_records() -> Iterator[dict[str, Any]]:
        for _ in range(3):
            yield {"content": "退" * (MOST_ANSWER_BYTES // 7)}
        raise AssertionError("nobody has room for it")

    assert len(keep_fitting(write_records(), REST)) == 2


def test_one_record_that_is_too_large_leaves_none() -> None:
    assert keep_fitting([{"content": "x" * MOST_ANSWER_BYTES}, {"content": "y"}], REST) == []


def test_json_is_as_short_as_it_can_be_and_has_no_nan() -> None:
    assert write_json({"a": ["退款", 0.5, None]}) == '{"a":["退款",0.5,null]}'.encode()
    assert json.loads(write_json({"a": "\u2028"})) == {"a": "\u2028"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json({"score": float("nan")})
