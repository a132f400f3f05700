"""Metadata conditions through the API: the right documents, by every way to search."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import event

from shared.metadata.grammar import normalise_text, read_boolean
from tests.integration import hostile
from tests.integration.app import App, Json, group, near, where

M: list[Json | None] = [
    {"lang": "en", "pages": 5, "tags": ["red", "blue"], "city": "Lyon, France", "ok": True,
     "when": 1744199565.0},
    {"lang": "", "pages": "5", "tags": [], "city": "lyon", "ok": False, "when": 1744199566},
    {"lang": None, "pages": 5.0, "city": "Saint_Malo", "when": "2025-04-09T11:52:45Z"},
    {"pages": "N/A", "city": "SaintXMalo", "code": "007", "when": ""},
    {"lang": "EN", "pages": 12, "city": "100% Paris", "code": "7", "tags": ["blue"], "when": None},
    None,
]  # fmt: skip
EVERYTHING = "m1 m2 m3 m4 m5 m6"


@pytest.fixture(scope="module")
def corpus(app: App) -> str:
    """The documents m1 to m6."""
    dataset = app.dataset()
    app.put_all(
        dataset,
        [
            {"name": f"m{n}", "metadata": metadata, "chunks": [near("alpha handbook", 0.5)]}
            for n, metadata in enumerate(M, start=1)
        ],
    )
    return dataset


@pytest.fixture
def matching(app: App, corpus: str) -> Any:
    """Returns the titles that pass these conditions, sorted."""

    def match(*conditions: Any, joiner: str | None = None, inputs: Json | None = None) -> str:
        filtering = where(*conditions, joiner=joiner, inputs=inputs)
        found = app.retrieve(corpus, "handbook", metadata_filtering=filtering, top_k=100)
        titles = sorted(record["title"] for record in found["records"])
        assert found["applied_filter"]["matched_documents"] == len(titles)
        return " ".join(titles)

    return match


@pytest.fixture(scope="module")
def finds(app: App) -> Any:
    """Makes a dataset of documents a, b, c … with this metadata, and returns a way to filter it."""

    def make(*metadata: Json | None) -> Any:
        dataset = app.dataset()
        app.put_all(
            dataset,
            [
                {"name": name, "metadata": each, "chunks": [near("alpha handbook", 0.5)]}
                for name, each in zip("abcdefgh", metadata, strict=False)
            ],
        )

        def match(*conditions: Any, joiner: str | None = None) -> str:
            filtering = where(*conditions, joiner=joiner)
            found = app.titles(dataset, "handbook", metadata_filtering=filtering, top_k=100)
            return " ".join(sorted(found))

        return match

    return make


def test_a01_blank_null_and_missing_are_empty_and_the_two_operators_partition(
    matching: Any,
) -> None:
    assert matching(("lang", "empty")) == "m2 m3 m4 m6"
    assert matching(("lang", "not empty")) == "m1 m5"


def test_a03_rows_that_are_no_number_do_not_match_and_do_not_fail(matching: Any) -> None:
    assert matching(("pages", ">", 4)) == "m1 m2 m3 m5"
    assert matching(("pages", "<", 100)) == "m1 m2 m3 m5"


def test_a04_ascii_spellings_are_the_same_operators(matching: Any) -> None:
    assert matching(("pages", ">=", 5)) == matching(("pages", "≥", 5)) == "m1 m2 m3 m5"
    assert matching(("pages", "<=", 5)) == matching(("pages", "≤", 5)) == "m1 m2 m3"
    assert matching(("pages", "==", 5)) == matching(("pages", "=", 5)) == "m1 m2 m3"
    assert matching(("pages", "!=", 5)) == matching(("pages", "≠", 5)) == "m4 m5 m6"


def test_a05_each_comparison_is_its_own(finds: Any) -> None:
    match = finds({"n": 1}, {"n": 2}, {"n": 3})
    expected = {"≥": "b c", "≤": "a b", ">": "c", "<": "a", "≠": "a c", "=": "b"}
    assert {operator: match(("n", operator, 2)) for operator in expected} == expected


def test_a06_in_takes_a_list_and_compares_its_elements_whole(matching: Any) -> None:
    assert matching(("city", "in", ["Lyon, France", "lyon"])) == "m1 m2"
    assert matching(("pages", "in", [5, 12])) == "m1 m2 m3 m5"


@pytest.mark.parametrize("value", ["en", "EN", "xx"])
def test_a08_in_and_not_in_partition(matching: Any, value: str) -> None:
    found = matching(("lang", "in", [value])).split()
    others = matching(("lang", "not in", [value])).split()
    assert sorted(found + others) == EVERYTHING.split()


def test_a09_the_field_contains_the_value_not_the_reverse(finds: Any) -> None:
    match = finds({"t": "annual report 2025"}, {"t": "report"})
    assert match(("t", "contains", "report")) == "a b"
    assert match(("t", "contains", "annual report")) == "a"


def test_a10_wildcards_of_sql_are_plain_characters(matching: Any) -> None:
    assert matching(("city", "contains", "_")) == "m3"
    assert matching(("city", "start with", "Saint_")) == "m3"
    assert matching(("city", "contains", "%")) == "m5"
    assert matching(("city", "contains", "\\")) == ""
    assert matching(("city", "not contains", "_")) == "m1 m2 m4 m5 m6"


def test_a12_text_that_looks_like_a_number_is_compared_as_text(matching: Any, finds: Any) -> None:
    assert matching(("code", "is", "007")) == "m4"
    assert matching(("code", "is", "7")) == "m5"
    match = finds({"ref": "2024_123"}, {"ref": "1000"})
    assert match(("ref", "is", "2024123")) == ""
    assert match(("ref", "is", "2024_123")) == "a"
    assert match(("ref", "is", "1e3")) == ""


def test_a13_a_list_matches_by_its_elements(matching: Any) -> None:
    assert matching(("tags", "is", "blue")) == "m1 m5"
    assert matching(("tags", "in", ["red"])) == "m1"
    assert matching(("tags", "contains", ", ")) == ""


def test_a14_absent_fields_can_be_asked_for(matching: Any) -> None:
    assert matching(("code", "empty")) == "m1 m2 m3 m6"
    assert matching(("tags", "empty")) == "m2 m3 m4 m6"


def test_a15_numeric_text_is_a_number_where_one_is_asked_for(app: App, finds: Any) -> None:
    match = finds({"n": 7})
    assert match(("n", "=", "7")) == "a"
    assert match(("n", "≥", " 7 ")) == "a"
    filtering = where(("n", ">", "seven"))
    refused = app.ask(app.dataset(), "x", query_vector=[1, 0], metadata_filtering=filtering)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["pointer"] == "/metadata_filtering/conditions/0/value"


def test_a17_metadata_comes_back_with_its_types_and_variables_keep_theirs(
    app: App, matching: Any
) -> None:
    dataset = app.dataset()
    sent = {"i": 1, "f": 1.5, "b": True, "s": "x", "n": None, "l": ["a"]}
    app.put(dataset, "typed", near("alpha handbook", 0.5), metadata=sent)

    def titles(*conditions: Any) -> list[str]:
        return app.titles(dataset, "handbook", metadata_filtering=where(*conditions))

    [record] = app.retrieve(dataset, "handbook")["records"]
    assert record["metadata"] == sent
    assert {name: type(value) for name, value in record["metadata"].items()} == {
        name: type(value) for name, value in sent.items()
    }
    assert titles(("b", "is", True)) == titles(("b", "is", "true")) == ["typed"]
    assert titles(("b", "is", False)) == []
    languages = {"languages": ["en"]}
    assert matching(("lang", "in", "{{languages}}"), inputs=languages) == "m1"
    assert matching(("lang", "is", "{{languages}}"), inputs=languages) == "m1"


def test_n04_a_boolean_is_itself_and_its_text_and_no_number(finds: Any) -> None:
    match = finds({"on": True}, {"on": "true"}, {"on": 1}, {"on": False}, None)
    assert match(("on", "is", True)) == "a b"
    assert match(("on", "is", 1)) == "c"
    assert match(("on", "is not", True)) == "c d e"


@pytest.mark.parametrize("conditions", [[], {}, None])
def test_a18_no_conditions_are_no_filter(app: App, corpus: str, conditions: Any) -> None:
    filtering = {"mode": "manual", "logical_operator": "and", "conditions": conditions}
    found = app.titles(corpus, "handbook", metadata_filtering=filtering, top_k=100)
    assert sorted(found) == EVERYTHING.split()


@pytest.mark.parametrize(
    "method", ["semantic_search", "full_text_search", "keyword_search", "hybrid_search"]
)
def test_a20_nothing_outside_the_filter_appears_in_any_mode(
    app: App, corpus: str, method: str
) -> None:
    twin = app.dataset()
    app.put(twin, "m1", near("alpha handbook", 0.5), metadata=M[0])
    app.put(twin, "m5", near("alpha handbook", 0.9), metadata=M[4])
    filtering = where(("lang", "is", "en"))
    chance = random.Random(method)  # noqa: S311
    for _ in range(50):
        found = app.retrieve(
            [corpus, twin],
            " ".join([*chance.choices(["handbook", "alpha", "zebra", "m5"], k=4), "alpha"]),
            query_vector=[chance.gauss(0, 1), chance.gauss(0, 1)],
            metadata_filtering=filtering,
            search_method=method,
            top_k=chance.randint(2, 100),
        )
        assert [r["title"] for r in found["records"]] == ["m1", "m1"]
        assert {r["dataset_id"] for r in found["records"]} == {corpus, twin}


def test_a21_conditions_on_one_field_do_not_overwrite_each_other(finds: Any) -> None:
    match = finds({"n": 1}, {"n": 2}, {"n": 3})
    assert match(("n", ">", 1), ("n", "<", 3)) == "b"
    assert match(("n", "=", 1), ("n", "=", 3), joiner="or") == "a c"
    assert match(("n", ">", 0), ("n", "<", 4), ("n", "≠", 2)) == "a c"


def test_a22_groups_nest_and_are_never_flattened(matching: Any) -> None:
    english = group("or", ("lang", "is", "en"), ("lang", "is", "EN"))
    assert matching(english, ("pages", ">", 6)) == "m5"
    assert matching(group("not", english)) == "m2 m3 m4 m6"


def test_a24_numbers_among_other_types(finds: Any) -> None:
    match = finds({"n": 3}, {"n": "3"}, {"n": [3]}, {"n": {"x": 3}}, {"n": True}, {"n": None})
    assert match(("n", "≥", 3)) == "a b c"
    assert match(("n", "≥", 1)) == "a b c"


def test_b01_an_instant_is_the_same_in_every_form(matching: Any) -> None:
    assert matching(("when", "before", 1744199566)) == "m1 m3"


def test_b04_dates_compare_strictly_and_only_by_before_and_after(app: App, finds: Any) -> None:
    match = finds({"d": "2024-02-29"}, {"d": "2024-03-01"})
    assert match(("d", "before", "2024-03-01")) == "a"
    assert match(("d", "after", "2024-02-29")) == "b"
    filtering = where(("d", "≥", "2024-03-01"))
    answer = app.ask(app.dataset(), "x", query_vector=[1, 0], metadata_filtering=filtering)
    assert answer.status_code == 400


def test_b05_epoch_seconds_and_milliseconds_as_numbers_and_text(finds: Any) -> None:
    match = finds(
        {"when": 1744199565}, {"when": 1744199565.0}, {"when": 1744199565000},
        {"when": "1744199565"},
    )  # fmt: skip
    assert match(("when", "after", 1744199564)) == "a b c d"


def test_b06_times_before_1970_and_after_2038(finds: Any) -> None:
    match = finds({"d": -1}, {"d": 4102444800}, {"d": "1969-12-31T23:59:59Z"})
    assert match(("d", "before", 0)) == "a c"


def test_d12_a_variable_is_filled_in_and_a_missing_one_is_refused(app: App) -> None:
    dataset = app.dataset()
    for name, owner in {"hers": "u-7", "his": "u-8", "odd": "{{uid}}"}.items():
        app.put(dataset, name, near("alpha handbook", 0.5), metadata={"owner": owner})
    filtering = where(("owner", "is", "{{uid}}"), inputs={"uid": "u-7"})
    assert app.titles(dataset, "handbook", metadata_filtering=filtering) == ["hers"]
    once = where(("owner", "is", "{{uid}}"), inputs={"uid": "{{uid}}"})
    assert app.titles(dataset, "handbook", metadata_filtering=once) == ["odd"]
    missing = where(("owner", "is", "{{uid}}"), inputs={"other": "u-7"})
    refused = app.ask(dataset, "handbook", query_vector=[1, 0], metadata_filtering=missing)
    assert refused.status_code == 400
    assert "uid" in refused.json()["errors"][0]["detail"]


def test_builtin_fields_filter_like_any_other(app: App) -> None:
    dataset = app.dataset()
    app.put(dataset, "guide.md", near("alpha handbook", 0.5), source="https://example.org/guide")
    app.put(dataset, "notes.md", near("alpha handbook", 0.5))

    def titles(*conditions: Any) -> list[str]:
        return app.titles(dataset, "handbook", metadata_filtering=where(*conditions))

    assert titles(("document_name", "is", "guide.md")) == ["guide.md"]
    assert titles(("source", "start with", "https://")) == ["guide.md"]
    assert titles(("source", "empty")) == ["notes.md"]
    assert len(titles(("uploader", "is", "bootstrap"), ("upload_date", "after", "2020-01-01"))) == 2
    assert titles(("last_update_date", "before", "2020-01-01")) == []


def test_o01_documents_of_one_microsecond_come_together(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, instant = app.dataset(), datetime(2026, 5, 4, 3, 2, 1, 123456, UTC)

    class Standing(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return instant.astimezone(tz)

    with monkeypatch.context() as patch:
        patch.setattr("shared.postgres.documents.datetime", Standing)
        for name in "abc":
            app.put(dataset, name, near("alpha handbook", 0.5))
    app.put(dataset, "later", near("alpha handbook", 0.5))

    def titles(operator: str, microseconds: int) -> str:
        value = (instant + timedelta(microseconds=microseconds)).isoformat()
        filtering = where(("last_update_date", operator, value))
        return " ".join(sorted(app.titles(dataset, "handbook", metadata_filtering=filtering)))

    assert (titles("before", 0), titles("before", 1)) == ("", "a b c")
    assert (titles("after", -1), titles("after", 0)) == ("a b c later", "later")


def test_changed_metadata_holds_for_the_next_query(app: App) -> None:
    dataset = app.dataset()
    document = app.put(dataset, "a", near("alpha handbook", 0.5), metadata={"lang": "en"})
    app.change(document["id"], metadata={"lang": "zh"})
    assert app.titles(dataset, "handbook", metadata_filtering=where(("lang", "is", "en"))) == []
    assert app.titles(dataset, "handbook", metadata_filtering=where(("lang", "is", "zh"))) == ["a"]


@pytest.fixture
def statements(app: App) -> Iterator[list[str]]:
    """What the driver is given, in order."""
    given: list[str] = []

    def note(*args: Any) -> None:
        given.append(args[2])

    event.listen(app.engine, "before_cursor_execute", note)
    yield given
    event.remove(app.engine, "before_cursor_execute", note)


def test_hostile_names_and_values_come_back_as_sent_and_find_their_document_alone(
    app: App, statements: list[str]
) -> None:
    dataset = app.dataset()
    documents = [dict(zip(names, names, strict=True)) for names in hostile.overlap(hostile.NAMES)]
    app.put_all(
        dataset,
        [
            {"name": str(number), "metadata": metadata, "chunks": [near("alpha", 0.5)]}
            for number, metadata in enumerate(documents)
        ],
    )

    def find(operator: str, pairs: Sequence[tuple[str, str]], joiner: str) -> list[Any]:
        inputs = {f"v{number}": value for number, (_, value) in enumerate(pairs)}
        conditions = [(name, operator, [f"{{{{v{n}}}}}", "x"]) for n, (name, _) in enumerate(pairs)]
        filtering = where(*conditions, joiner=joiner, inputs=inputs)
        found = app.retrieve(dataset, "alpha", metadata_filtering=filtering, top_k=100)
        return [(record["title"], record["metadata"]) for record in found["records"]]

    # A text that writes a boolean asks for that too; nothing else of it is in a statement.
    sent: dict[tuple[bool, ...], set[tuple[str, ...]]] = defaultdict(set)
    for number, metadata in enumerate(documents):
        own = list(metadata.items())
        swapped = [(name, other) for (name, _), (other, _) in pairwise(own)]
        statements.clear()
        assert find("in", own, "and") == [(str(number), metadata)]
        shape = tuple(read_boolean(value) is not None for value in metadata.values())
        sent[shape].add(tuple(statements))
        assert find("is", swapped, "or") == []
    assert {len(each) for each in sent.values()} == {1}


def test_hostile_names_are_listed_as_fields(app: App) -> None:
    dataset = app.dataset()
    names = {normalise_text(name) for name in hostile.NAMES}
    batches = hostile.overlap(sorted(names))
    app.put_all(
        dataset,
        [
            {"name": str(number), "metadata": dict.fromkeys(batch, 1), "chunks": [near("a", 0.5)]}
            for number, batch in enumerate(batches)
        ],
    )
    listed: list[str] = []
    after: str | None = ""
    while after is not None:
        answer = app.client.get(
            f"/v1/datasets/{dataset}/metadata-fields", params={"limit": 50, "after": after}
        ).json()
        listed += [field["name"] for field in answer["fields"]]
        after = answer["next_after"]
    assert len(listed) == len(names)
    assert set(listed) == names
