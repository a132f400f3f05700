"""The filter on a real PostgreSQL: the same documents as the definition and as the naive rules."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    TableValuedAlias,
    column,
    create_engine,
    event,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.errors import InvalidRequest
from shared.metadata.conditions import Tree
from shared.metadata.evaluate import matches
from shared.metadata.filter_values import FilterValues, read_fields
from shared.metadata.grammar import normalise_text
from shared.metadata.parse import parse_filter
from shared.postgres.conditions import to_sql
from shared.postgres.tables import pick_kind
from tests.integration import hostile
from tests.unit.shared.metadata import naive

type Fields = dict[str, Any]


@pytest.fixture(scope="module")
def connection(database_url: str) -> Iterator[Connection]:
    engine = create_engine(database_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def parse(condition: Fields, inputs: Fields | None = None) -> Tree:
    tree = parse_filter(None, [condition], pointer="", inputs=inputs)
    assert tree is not None
    return tree


def unnest(documents: Sequence[FilterValues]) -> TableValuedAlias:
    """The documents as rows of `document` and `position`, from 1."""
    elements = func.jsonb_array_elements(literal(list(documents), JSONB))
    row = elements.table_valued(column("document", JSONB), with_ordinality="position")
    return row.render_derived()


def evaluate(
    connection: Connection, trees: Sequence[Tree], documents: Sequence[FilterValues]
) -> list[list[bool]]:
    """Asks PostgreSQL: for each document, its answer to each tree."""
    row = unnest(documents)
    answers = [to_sql(tree, row.c.document) for tree in trees]
    found = connection.execute(select(*answers).select_from(row).order_by(row.c.position))
    return [list(answer) for answer in found]


def agree(
    connection: Connection, conditions: Sequence[Fields], documents: Sequence[Fields]
) -> list[list[bool]]:
    """Demands the same answers of SQL, of the readable definition and of the naive rules."""
    trees = [parse(condition) for condition in conditions]
    values = [read_fields(document) for document in documents]
    answers = evaluate(connection, trees, values)
    for document, value, row in zip(documents, values, answers, strict=True):
        assert row == [matches(tree, value) for tree in trees]
        assert row == [naive.matches(condition, document) for condition in conditions]
    return answers


def find(
    connection: Connection,
    documents: dict[str, Fields | None],
    *conditions: tuple[Any, ...] | Fields,
    joiner: str = "and",
    inputs: Fields | None = None,
) -> set[str]:
    """Returns the ids that match, by SQL and by Python alike."""
    members = [
        each
        if isinstance(each, dict)
        else dict(zip(("name", "comparison_operator", "value"), each, strict=False))
        for each in conditions
    ]
    tree = parse({"logical_operator": joiner, "conditions": members}, inputs)
    values = {name: read_fields(document or {}) for name, document in documents.items()}
    answers = evaluate(connection, [tree], list(values.values()))
    found = {name for name, (answer,) in zip(values, answers, strict=True) if answer}
    assert found == {name for name, value in values.items() if matches(tree, value)}
    return found


# The truth table


def is_accepted(condition: Fields) -> bool:
    try:
        parse(condition)
    except InvalidRequest:
        return False
    return True


@pytest.mark.parametrize("family", naive.FAMILIES, ids=lambda family: repr(family[0]))
def test_every_operator_with_every_pair_of_values(
    connection: Connection, family: list[Any]
) -> None:
    documents = [
        {},
        *({"lang": value} for value in family),
        *({"lang": [first, second]} for first, second in itertools.pairwise(family)),
        {"lang": [family]},
        {"lang": {"x": family[0]}},
    ]
    conditions = list(filter(is_accepted, naive.ask_everything([*family, family])))
    answers: dict[str, list[list[bool]]] = {}
    for batch in itertools.batched(conditions, 100, strict=False):
        columns = zip(*agree(connection, batch, documents), strict=True)
        for condition, column_ in zip(batch, columns, strict=True):
            answers.setdefault(condition["comparison_operator"], []).append(list(column_))
    for positive, negative in naive.NEGATIONS:
        assert answers[negative] == [[not each for each in row] for row in answers[positive]]


@settings(max_examples=150, deadline=None)
@given(world=naive.worlds)
def test_sql_and_python_find_the_same_documents(
    connection: Connection, world: tuple[list[Fields], list[Fields]]
) -> None:
    documents, trees = world
    agree(connection, trees, documents)


@pytest.mark.parametrize("operator", ["is", "is not", "in", "not in"])
@pytest.mark.parametrize("length", [21, 32, 33, 10_000])
def test_long_lists_are_no_other_question(
    connection: Connection, operator: str, length: int
) -> None:
    wanted: list[Any] = [*naive.SEVEN[:13], *naive.BOOLEANS[:3], *naive.WORDS[:5]]
    wanted += [f"v{number}" for number in range(length - len(wanted))]
    condition = {"name": "lang", "comparison_operator": operator, "value": wanted}
    stored = [*naive.SEVEN, *naive.BOOLEANS, *naive.WORDS, "v0", "v5", "v99999", None, ["x", "v1"]]
    answers = agree(connection, [condition], [{"lang": value} for value in stored])
    assert {True, False} == {answer for (answer,) in answers}


# Field cases

M: dict[str, Fields | None] = {
    "m1": {
        "lang": "en",
        "pages": 5,
        "tags": ["red", "blue"],
        "city": "Lyon, France",
        "ok": True,
        "when": 1744199565.0,
    },
    "m2": {"lang": "", "pages": "5", "tags": [], "city": "lyon", "ok": False, "when": 1744199566},
    "m3": {"lang": None, "pages": 5.0, "city": "Saint_Malo", "when": "2025-04-09T11:52:45Z"},
    "m4": {"pages": "N/A", "city": "SaintXMalo", "code": "007", "when": ""},
    "m5": {
        "lang": "EN",
        "pages": 12,
        "city": "100% Paris",
        "code": "7",
        "tags": ["blue"],
        "when": None,
    },
    "m6": None,
}


def test_a01_empty_and_not_empty_part_the_documents(connection: Connection) -> None:
    assert find(connection, M, ("lang", "empty")) == {"m2", "m3", "m4", "m6"}
    assert find(connection, M, ("lang", "not empty")) == {"m1", "m5"}


def test_a03_one_value_that_is_no_number_fails_nothing(connection: Connection) -> None:
    assert find(connection, M, ("pages", ">", 4)) == {"m1", "m2", "m3", "m5"}
    assert find(connection, M, ("pages", "<", 100)) == {"m1", "m2", "m3", "m5"}


def test_a04_ascii_operators(connection: Connection) -> None:
    for ascii_, sign in [(">=", "≥"), ("<=", "≤"), ("!=", "≠"), ("==", "=")]:
        found = find(connection, M, ("pages", ascii_, 5))
        assert found == find(connection, M, ("pages", sign, 5))
    assert find(connection, M, ("pages", ">=", 5)) == {"m1", "m2", "m3", "m5"}
    assert find(connection, M, ("pages", "<=", 5)) == {"m1", "m2", "m3"}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("≥", {"p2", "p3"}),
        ("≤", {"p1", "p2"}),
        (">", {"p3"}),
        ("<", {"p1"}),
        ("≠", {"p1", "p3"}),
        ("=", {"p2"}),
    ],
)
def test_a05_each_comparison_is_itself(
    connection: Connection, operator: str, expected: set[str]
) -> None:
    documents: dict[str, Fields | None] = {"p1": {"n": 1}, "p2": {"n": 2}, "p3": {"n": 3}}
    assert find(connection, documents, ("n", operator, 2)) == expected


def test_a06_in_takes_a_real_list(connection: Connection) -> None:
    assert find(connection, M, ("city", "in", ["Lyon, France", "lyon"])) == {"m1", "m2"}
    assert find(connection, M, ("pages", "in", [5, 12])) == {"m1", "m2", "m3", "m5"}


@pytest.mark.parametrize("value", [["en"], ["EN"], ["xx"]])
def test_a08_in_and_not_in_part_the_documents(connection: Connection, value: list[str]) -> None:
    wanted = find(connection, M, ("lang", "in", value))
    others = find(connection, M, ("lang", "not in", value))
    assert wanted | others == set(M)
    assert not wanted & others


def test_a09_contains_has_its_operands_the_right_way_round(connection: Connection) -> None:
    documents: dict[str, Fields | None] = {"a": {"t": "annual report 2025"}, "b": {"t": "report"}}
    assert find(connection, documents, ("t", "contains", "report")) == {"a", "b"}
    assert find(connection, documents, ("t", "contains", "annual report")) == {"a"}


def test_a10_wildcards_are_plain_characters(connection: Connection) -> None:
    assert find(connection, M, ("city", "contains", "_")) == {"m3"}
    assert find(connection, M, ("city", "start with", "Saint_")) == {"m3"}
    assert find(connection, M, ("city", "contains", "%")) == {"m5"}
    assert find(connection, M, ("city", "contains", "\\")) == set()
    assert find(connection, M, ("city", "not contains", "_")) == {"m1", "m2", "m4", "m5", "m6"}


def test_a12_text_that_looks_numeric_stays_text(connection: Connection) -> None:
    assert find(connection, M, ("code", "is", "007")) == {"m4"}
    assert find(connection, M, ("code", "is", "7")) == {"m5"}
    documents: dict[str, Fields | None] = {"r": {"ref": "2024_123"}, "s": {"ref": "1000"}}
    assert find(connection, documents, ("ref", "is", "2024123")) == set()
    assert find(connection, documents, ("ref", "is", "2024_123")) == {"r"}
    assert find(connection, documents, ("ref", "is", "1e3")) == set()


def test_a13_equality_looks_at_the_elements_of_a_list(connection: Connection) -> None:
    assert find(connection, M, ("tags", "is", "blue")) == {"m1", "m5"}
    assert find(connection, M, ("tags", "in", ["red"])) == {"m1"}
    assert find(connection, M, ("tags", "contains", ", ")) == set()


def test_a14_an_absent_field_and_an_empty_list_are_empty(connection: Connection) -> None:
    assert find(connection, M, ("code", "empty")) == {"m1", "m2", "m3", "m6"}
    assert find(connection, M, ("tags", "empty")) == {"m2", "m3", "m4", "m6"}


def test_a15_a_number_may_come_as_text(connection: Connection) -> None:
    documents: dict[str, Fields | None] = {"d": {"n": 7}}
    assert find(connection, documents, ("n", "=", "7")) == {"d"}
    assert find(connection, documents, ("n", "≥", " 7 ")) == {"d"}
    with pytest.raises(InvalidRequest, match='field "n"'):
        find(connection, documents, ("n", ">", "seven"))


def test_a17_values_of_every_type(connection: Connection) -> None:
    fields = {"i": 1, "f": 1.5, "b": True, "s": "x", "n": None, "l": ["a"]}
    documents: dict[str, Fields | None] = {"d": fields}
    assert find(connection, documents, ("b", "is", True)) == {"d"}
    assert find(connection, documents, ("b", "is", "true")) == {"d"}
    assert find(connection, documents, ("b", "is", False)) == set()
    inputs = {"v": ["en"]}
    assert find(connection, M, ("lang", "in", "{{v}}"), inputs=inputs) == {"m1"}
    assert find(connection, M, ("lang", "is", "{{v}}"), inputs=inputs) == {"m1"}


def test_a21_conditions_on_one_field_do_not_overwrite_each_other(connection: Connection) -> None:
    documents: dict[str, Fields | None] = {"p1": {"n": 1}, "p2": {"n": 2}, "p3": {"n": 3}}
    assert find(connection, documents, ("n", ">", 1), ("n", "<", 3)) == {"p2"}
    assert find(connection, documents, ("n", "=", 1), ("n", "=", 3), joiner="or") == {"p1", "p3"}
    three = [("n", "≥", 1), ("n", "≤", 3), ("n", "≠", 2)]
    assert find(connection, documents, *three) == {"p1", "p3"}


def test_a22_groups_nest(connection: Connection) -> None:
    english = {
        "logical_operator": "or",
        "conditions": [
            {"name": "lang", "comparison_operator": "is", "value": "en"},
            {"name": "lang", "comparison_operator": "is", "value": "EN"},
        ],
    }
    assert find(connection, M, english, ("pages", ">", 6)) == {"m5"}


def test_a24_mixed_types_compare_where_they_can(connection: Connection) -> None:
    values: list[Any] = [3, "3", [3], {"x": 3}, True, None]
    documents: dict[str, Fields | None] = {str(at): {"n": value} for at, value in enumerate(values)}
    assert find(connection, documents, ("n", "≥", 3)) == {"0", "1", "2"}
    assert find(connection, documents, ("n", "≥", 1)) == {"0", "1", "2"}


def test_b01_one_instant_in_several_forms(connection: Connection) -> None:
    assert find(connection, M, ("when", "before", 1744199566)) == {"m1", "m3"}


def test_b03_dates_and_times_as_text_and_as_numbers(connection: Connection) -> None:
    written: list[Any] = ["2025-04-09T11:52:45Z", 1744199565, "2025-04-09", "2025-03-31"]
    documents: dict[str, Fields | None] = {f"d{n}": {"d": day} for n, day in enumerate(written, 1)}
    assert find(connection, documents, ("d", "after", "2025-04-01")) == {"d1", "d2", "d3"}
    with pytest.raises(InvalidRequest, match="needs a time"):
        find(connection, documents, ("d", "after", "last Tuesday"))


def test_b04_dates_are_compared_strictly_and_never_as_numbers(connection: Connection) -> None:
    documents: dict[str, Fields | None] = {"x1": {"d": "2024-02-29"}, "x2": {"d": "2024-03-01"}}
    assert find(connection, documents, ("d", "before", "2024-03-01")) == {"x1"}
    assert find(connection, documents, ("d", "after", "2024-02-29")) == {"x2"}
    with pytest.raises(InvalidRequest, match="needs a finite number"):
        find(connection, documents, ("d", "≥", "2024-03-01"))


def test_b05_timestamps_of_every_kind(connection: Connection) -> None:
    written: list[Any] = [1744199565, 1744199565.0, 1744199565000, "1744199565"]
    documents: dict[str, Fields | None] = {str(n): {"when": each} for n, each in enumerate(written)}
    assert find(connection, documents, ("when", "after", 1744199564)) == {"0", "1", "2", "3"}
    assert find(connection, documents, ("when", "before", 1744199566)) == {"0", "1", "2", "3"}


def test_b06_before_1970_and_after_2038(connection: Connection) -> None:
    written: list[Any] = [-1, 4102444800, "1969-12-31T23:59:59Z"]
    documents: dict[str, Fields | None] = {str(n): {"d": each} for n, each in enumerate(written)}
    assert find(connection, documents, ("d", "before", 0)) == {"0", "2"}
    assert find(connection, documents, ("d", "before", "1970-01-01")) == {"0", "2"}


def test_d12_variables(connection: Connection) -> None:
    documents: dict[str, Fields | None] = {
        "mine": {"owner": "u-7"},
        "other": {"owner": "u-8"},
        "sly": {"owner": "{{uid}}"},
    }
    wanted = ("owner", "is", "{{uid}}")
    assert find(connection, documents, wanted, inputs={"uid": "u-7"}) == {"mine"}
    assert find(connection, documents, wanted, inputs={"uid": "{{uid}}"}) == {"sly"}
    with pytest.raises(InvalidRequest, match='"uid"'):
        find(connection, documents, wanted, inputs={})


# Hostile names and values

STORED: list[Any] = ["word", 7]
ASKED_OF_A_NAME: dict[str, Any] = {
    "is": "word", "in": [7, "x"], "not empty": None,
    "contains": "or", "start with": "wo", "end with": "rd",
    ">": 6, "<": 8, "≥": 7, "≤": 7, "before": 8, "after": 6,
}  # fmt: skip
RULED_OUT: dict[str, Any] = {
    "is not": "word", "not in": [7, "x"], "not contains": "or", "empty": None,
}  # fmt: skip


def ask(name: str, operator: str, value: Any) -> Fields:
    return {"name": name, "comparison_operator": operator, "value": value}


def ask_of_text(operator: str, value: str) -> Fields:
    return ask("text", operator, [value, "in no document"] if operator.endswith("in") else value)


@pytest.fixture
def statements(connection: Connection) -> Iterator[set[str]]:
    """What the driver is given, each text once."""
    given: set[str] = set()

    def note(*args: Any) -> None:
        given.add(args[2])

    event.listen(connection, "before_cursor_execute", note)
    yield given
    event.remove(connection, "before_cursor_execute", note)


def ask_each(
    connection: Connection, conditions: Sequence[Fields], documents: Sequence[Fields]
) -> list[list[bool]]:
    """Returns for each document, by SQL alone, which of the conditions it matches."""
    trees = [parse(condition) for condition in conditions]
    return evaluate(connection, trees, [read_fields(document) for document in documents])


def test_there_are_five_hundred_of_both() -> None:
    assert len({normalise_text(name) for name in hostile.NAMES}) >= 500
    assert len({normalise_text(value) for value in hostile.VALUES}) >= 500


@pytest.mark.parametrize(("operator", "value"), (ASKED_OF_A_NAME | RULED_OUT).items())
def test_a_hostile_name_is_its_own_field_and_no_other(
    connection: Connection, statements: set[str], operator: str, value: Any
) -> None:
    is_asked = operator in ASKED_OF_A_NAME
    for names in hostile.overlap(hostile.NAMES):
        found = ask_each(
            connection,
            conditions=[ask(name, operator, value) for name in names],
            documents=[{name: STORED} for name in names],
        )
        assert found == [[(name is each) is is_asked for each in names] for name in names]
    assert len(statements) == 1


@pytest.mark.parametrize(
    ("operator", "finds"),
    [
        ("is", lambda stored, value: stored == value),
        ("in", lambda stored, value: stored == value),
        ("contains", lambda stored, value: value in stored),
        ("start with", lambda stored, value: stored[: len(value)] == value),
        ("end with", lambda stored, value: stored[-len(value) :] == value),
        ("is not", lambda stored, value: stored != value),
        ("not in", lambda stored, value: stored != value),
        ("not contains", lambda stored, value: value not in stored),
    ],
)
def test_a_hostile_value_is_that_text_and_no_other(
    connection: Connection, operator: str, finds: Callable[[str, str], bool]
) -> None:
    for values in hostile.overlap(hostile.VALUES):
        found = ask_each(
            connection,
            conditions=[ask_of_text(operator, value) for value in values],
            documents=[{"text": value, "other": "x"} for value in values],
        )
        texts = [normalise_text(value) for value in values]
        assert found == [[finds(stored, value) for value in texts] for stored in texts]


@pytest.mark.parametrize(
    ("operator", "statements"),
    [
        ("is", 2),  # a text that writes a boolean asks for that too
        ("is not", 2),
        ("in", 2),
        ("not in", 2),
        ("contains", 1),
        ("not contains", 1),
        ("start with", 1),
        ("end with", 1),
    ],
)
def test_a_hostile_value_is_in_no_statement(
    connection: Connection, operator: str, statements: int
) -> None:
    conditions = [ask_of_text(operator, value) for value in hostile.VALUES]
    expressions = (to_sql(parse(condition), column("c", JSONB)) for condition in conditions)
    assert len({str(each.compile(connection)) for each in expressions}) == statements


@pytest.mark.parametrize("operator", [">", "<", "≥", "≤", "before", "after"])
def test_a_hostile_bound_is_a_number_or_a_time_or_refused(operator: str) -> None:
    read = naive.number if operator in ">≥<≤" else naive.instant
    for value in hostile.VALUES:
        assert is_accepted(ask("text", operator, value)) == (read(value) is not None)


@pytest.mark.parametrize("operator", ["in", "not in"])
@pytest.mark.parametrize(("length", "expected"), [(32, "@?"), (33, "EXISTS")])
def test_a_scan_never_tries_many_look_ups_on_every_row(
    connection: Connection, operator: str, length: int, expected: str
) -> None:
    wanted = [f"v{number}" for number in range(length)]
    tree = parse({"name": "lang", "comparison_operator": operator, "value": wanted})
    assert expected in str(to_sql(tree, column("c", JSONB)).compile(connection))


# The index

table = Table(
    "filtered",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("filter_values", JSONB, nullable=False),
)
for kind in ("values", "numbers", "booleans", "filled"):
    Index(
        f"filtered_{kind}",
        pick_kind(table.c.filter_values, kind).label(kind),
        postgresql_using="gin",
        postgresql_ops={kind: "jsonb_path_ops"},
    )


@pytest.fixture(scope="module")
def indexed(connection: Connection) -> list[FilterValues]:
    """5,000 documents in a table with the index."""
    documents = [
        read_fields(
            {
                "owner": f"u-{number}",
                "code": str(number) if number % 2 else number,
                "tags": [f"t{number}", "common"],
                "day": f"{2000 + number % 50}-01-01",
                "lang": "en" if number % 2 else "zh",
                "final": number % 500 == 7,
                **({"rare": "x"} if number % 500 == 0 else {}),
            }
        )
        for number in range(5_000)
    ]
    row = unnest(documents)
    table.create(connection)
    connection.execute(
        table.insert().from_select(list(table.c), select(row.c.position - 1, row.c.document))
    )
    connection.execute(text("VACUUM ANALYZE filtered"))
    return documents


@pytest.mark.parametrize(
    ("name", "operator", "value", "count", "index"),
    [
        ("owner", "is", "u-7", 1, "values"),
        ("code", "is", 7, 1, "numbers"),
        ("code", "is", "8", 1, "values"),
        ("code", "=", 8.0, 1, "numbers"),
        ("tags", "is", "t9", 1, "values"),
        ("day", "is", "2000-01-01", 100, "values"),
        ("final", "is", True, 10, "booleans"),
        ("owner", "in", ["u-1", "u-2", "nobody"], 2, "values"),
        ("owner", "in", [f"u-{number}" for number in range(32)], 32, "values"),
        ("code", "in", [7, "8", "true"], 2, "numbers"),
        ("rare", "not empty", None, 10, "filled"),
    ],
)
def test_equality_and_not_empty_are_index_look_ups(
    connection: Connection,
    indexed: list[FilterValues],
    name: str,
    operator: str,
    value: Any,
    count: int,
    index: str,
) -> None:
    tree = parse({"name": name, "comparison_operator": operator, "value": value})
    statement = select(table.c.id).where(to_sql(tree, table.c.filter_values))
    found = set(connection.scalars(statement))
    assert found == {number for number, each in enumerate(indexed) if matches(tree, each)}
    assert len(found) == count
    assert f"Bitmap Index Scan on filtered_{index}" in explain(connection, statement)


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize(
    ("name", "operator", "value"),
    [
        ("lang", "is", "en"),
        ("lang", "in", ["en", "fr", "de"]),
        ("final", "is", False),
        ("lang", "not empty", None),
        ("lang", "is not", "en"),
    ],
)
def test_the_planner_knows_that_half_of_the_documents_match(
    connection: Connection, name: str, operator: str, value: Any
) -> None:
    tree = parse({"name": name, "comparison_operator": operator, "value": value})
    statement = select(table.c.id).where(to_sql(tree, table.c.filter_values))
    expected = re.search(r"rows=(\d+)", explain(connection, statement))
    assert expected is not None
    found = len(connection.scalars(statement).all())
    assert found / 2 < int(expected[1]) < found * 2


def explain(connection: Connection, statement: Select[Any]) -> str:
    def prefix(*args: Any) -> tuple[str, Any]:
        return f"EXPLAIN {args[2]}", args[3]

    event.listen(connection, "before_cursor_execute", prefix, retval=True)
    try:
        return "\n".join(connection.scalars(statement))
    finally:
        event.remove(connection, "before_cursor_execute", prefix)
