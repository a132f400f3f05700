"""Answers of the API as tables for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from local.terminal import clean, shorten

Answer = Mapping[str, Any]

CHANNELS = ("vector", "text", "keyword")
FIGURES = {
    "V": "vector_score",
    "K": "keyword_score",
    "rerank": "rerank_score",
    "final": "final_score",
    "threshold": "threshold",
}


def make_table(*headings: str, figures: Sequence[str] = ()) -> Table:
    """Returns an empty table; nothing in it is ever cut, what is too long is folded.

    Args:
        headings: of the columns, in order.
        figures: those that hold numbers, which are set flush right.
    """
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for heading in headings:
        number = heading in figures
        table.add_column(
            heading,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
        )
    return table


def records_table(records: Sequence[Answer], snippet: int | None) -> Table:
    """Returns one row a record: rank, score, title and text.

    Args:
        records: of an answer.
        snippet: most characters of the text; None = all of it.
    """
    table = make_table("#", "score", "title", "text", figures=["#", "score"])
    for rank, record in enumerate(records, 1):
        content = record["content"]
        text = clean(content) if snippet is None else shorten(content, snippet)
        table.add_row(str(rank), f"{record['score']:.4f}", Text(clean(record["title"])), Text(text))
    return table


def explanation_table(answer: Answer, most_dropped: int | None = None) -> Table:
    """Returns one row a record and a dropped candidate: every figure behind its score.

    Args:
        answer: to a query with `explain`.
        most_dropped: most rows of dropped candidates; None = all.
    """
    ranked = [(str(n), r["title"], r["explain"], "") for n, r in enumerate(answer["records"], 1)]
    dropped = [("", d["chunk_id"], d["explain"], d["reason"]) for d in answer["dropped"]]
    rows = [*ranked, *dropped[:most_dropped]]
    seen = {channel for _, _, explain, _ in rows for channel in explain["channels"]}
    channels = [*(c for c in CHANNELS if c in seen), *sorted(seen.difference(CHANNELS))]
    standings = [f"{channel}: rank · score" for channel in channels]
    figures = [name for name in FIGURES if any(e[FIGURES[name]] is not None for _, _, e, _ in rows)]
    table = make_table(
        "#", "title or chunk", *standings, *figures, "fell out by", figures=["#", *figures]
    )
    for rank, title, explain, reason in rows:
        stand = [_standing(explain["channels"].get(channel)) for channel in channels]
        scores = [_figure(explain[FIGURES[name]]) for name in figures]
        table.add_row(rank, Text(clean(title)), *stand, *scores, reason)
    weighed = next((e for _, _, e, _ in rows if e["weights"]), None)
    if weighed:
        table.caption = _tell_weights(weighed)
        table.caption_justify = "left"
    return table


def count_dropped(answer: Answer) -> str:
    """Returns how many candidates fell out, and why; nothing where none did."""
    counts = Counter(each["reason"] for each in answer.get("dropped", []))
    return ", ".join(f"{count} by {reason}" for reason, count in counts.items())


def _tell_weights(explain: Answer) -> str:
    vector, keyword = (f"{explain['weights'][name]:.2f}" for name in ("vector", "keyword"))
    if explain["keyword_score"] is None:  # by ranks
        return f"weights: {vector} of the vector channel, {keyword} of the text channel"
    return f"final = {vector} · V + {keyword} · K"


def _standing(standing: Answer | None) -> str:
    if standing is None:
        return ""
    score = "" if standing["score"] is None else f" · {standing['score']:.4f}"
    return f"{standing['rank']}{score}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
