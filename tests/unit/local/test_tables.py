import io
from typing import Any

import pytest
from rich.cells import cell_len

from local.tables import count_dropped, explanation_table, records_table
from local.terminal import clean, open_console, shorten
from tests.unit.local.test_bars import Terminal


def record(title: str = "title", content: str = "content", **more: Any) -> dict[str, Any]:
    return {"score": 0.5, "title": title, "content": content, **more}


def explain(**more: Any) -> dict[str, Any]:
    usual = {
        "channels": {"vector": {"rank": 1, "score": 0.25}},
        "vector_score": 0.25,
        "keyword_score": 0.5,
        "weights": {"vector": 0.7, "keyword": 0.3},
        "rerank_score": None,
        "final_score": 0.325,
        "threshold": None,
    }
    return usual | more


def render(table: object, stream: io.StringIO) -> list[str]:
    open_console(stream).print(table)
    return stream.getvalue().splitlines()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_p09_nothing_is_cut_without_a_terminal() -> None:
    title = " ".join(["word"] * 22) + " thelastword"
    content = "sentence " * 200 + "theend"
    lines = render(records_table([record(title, content)], None), io.StringIO())
    assert any(title in line and line.rstrip().endswith("theend") for line in lines)


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_p09_columns_is_obeyed_and_nothing_is_lost(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    title = " ".join(f"word{n}" for n in range(20))
    lines = render(records_table([record(title, "x" * 300)], None), stream())
    assert all(cell_len(line) <= 60 for line in lines)
    assert all(f"word{n}" in " ".join(lines) for n in range(20))
    assert sum(line.count("x") for line in lines[2:]) == 300


def test_p09_chinese_columns_line_up() -> None:
    records = [
        record("退款政策-2026.md", "年付套餐"),
        record("refund.md", "annual"),
        record("ｱ", "한"),
    ]
    lines = render(records_table(records, None), io.StringIO())
    bars = [[cell_len(line[:n]) for n, char in enumerate(line) if char in "┃│╇"] for line in lines]
    assert bars == [bars[0]] * len(lines)


def test_p08_escape_codes_only_on_a_terminal_that_wants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = records_table([record()], None)
    assert "\x1b" in "".join(render(table, Terminal()))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in "".join(render(table, io.StringIO()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(render(table, Terminal()))


def test_a_document_can_not_steer_the_terminal() -> None:
    steering = "\x1b]0;title\x07 [bold]text[/bold] \x9b2J"
    text = "".join(render(records_table([record(steering, steering)], None), io.StringIO()))
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
    assert "[bold]text[/bold]" in text


def test_an_explanation_shows_every_figure_and_what_fell_out() -> None:
    answer = {
        "records": [record("a.md", explain=explain())],
        "dropped": [
            {
                "chunk_id": "c-2",
                "reason": "threshold",
                "explain": explain(channels={"text": {"rank": 3, "score": 7.5}}, threshold=0.4),
            },
            {"chunk_id": "c-3", "reason": "top_k", "explain": explain()},
        ],
    }
    text = "\n".join(render(explanation_table(answer, 1), io.StringIO()))
    for shown in ("a.md", "1 · 0.2500", "3 · 7.5000", "0.3250", "c-2", "threshold", "0.4000"):
        assert shown in text
    assert "final = 0.70 · V + 0.30 · K" in text
    assert all(hidden not in text for hidden in ("c-3", "keyword: rank", "rerank"))
    assert count_dropped(answer) == "1 by threshold, 1 by top_k"
    assert count_dropped({"records": []}) == ""


def test_weights_of_ranks_are_no_formula_of_v_and_k() -> None:
    answer = {"records": [record(explain=explain(keyword_score=None))], "dropped": []}
    text = "\n".join(render(explanation_table(answer), io.StringIO()))
    assert "weights: 0.70 of the vector channel, 0.30 of the text channel" in text
    assert "final =" not in text


def test_text_is_shortened_to_one_line() -> None:
    assert shorten("a \n b\tc", 10) == "a b c"
    assert shorten("abc def", 5) == "abc…"
    assert clean("a\x00b") == "a\ufffdb"
