"""Every event of events/ through the built functions, on real engines."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.world import EVENTS, World, list_scenarios, read_expected

ANYTHING = "..."


@pytest.mark.parametrize("scenario", list_scenarios())
def test_an_event_gets_its_answer(world: World, scenario: str) -> None:
    expected = read_expected(scenario)
    answer = _open_body(world.run(scenario))
    _compare(answer, expected["answer"], "answer", answer)
    states = {id_: world.find_state(id_) for id_ in expected.get("documents", {})}
    assert states == expected.get("documents", {})


def test_every_event_has_an_expected_answer_and_every_answer_an_event() -> None:
    folder: Path = EVENTS / "expected"
    expected = {str(p.relative_to(folder).with_suffix("")) for p in folder.glob("*/*.json")}
    assert expected == set(list_scenarios())


def _open_body(answer: Any) -> Any:
    """Returns API Gateway's answer with its body read; any other as it is."""
    if not isinstance(answer, dict) or "body" not in answer:
        return answer
    body = answer["body"]
    text = base64.b64decode(body).decode() if answer["isBase64Encoded"] else body
    return answer | {"body": json.loads(text)}


def _compare(got: Any, expected: Any, place: str, answer: Any) -> None:
    """Objects may have more members than expected; all else is as it is expected."""
    if expected == ANYTHING:
        assert got not in (None, ""), f"{place} of {answer}"
    elif isinstance(expected, dict):
        assert isinstance(got, dict), f"{place} of {answer}"
        for name, value in expected.items():
            assert name in got, f"{place}/{name} of {answer}"
            _compare(got[name], value, f"{place}/{name}", answer)
    elif isinstance(expected, list):
        assert isinstance(got, list), f"{place} of {answer}"
        assert len(got) == len(expected), f"{place} of {answer}"
        for n, (one, value) in enumerate(zip(got, expected, strict=True)):
            _compare(one, value, f"{place}/{n}", answer)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, abs=1e-6), f"{place} of {answer}"
    else:
        assert got == expected, f"{place} of {answer}"
