"""Children are searched; their parent is returned, once, with its best child's score."""

import pytest

from tests.fakes.reranker import FakeReranker, FakeRerankers
from tests.integration.app import App, Json

RERANKED = {"fusion": {"method": "reranking_model"}}
CHUNKING = {"strategy": "parent_child", "size": 30, "overlap": 0}


def fill(*place: int) -> str:
    """Returns three sentences that stand nowhere else."""
    words = "Plain words about nothing in particular, and more of them"
    return " ".join(f"{words} {place} {n}." for n in range(3))


def make_text(*needles: str) -> str:
    """Returns sections of several children each, one of which has the needle."""
    return "\n\n".join(
        "\n\n".join([f"# Part {n}", fill(n, 0), needle, fill(n, 1)])
        for n, needle in enumerate(needles)
    )


@pytest.fixture
def dataset(app: App) -> str:
    return app.economy(chunking=CHUNKING)


def find(app: App, dataset: str, query: str, **body: object) -> Json:
    answer = app.ask(dataset, query, search_method="full_text_search", **body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def count_parents(app: App, document: Json) -> int:
    statement = "SELECT count(*) FROM chunk_parents WHERE document_id = :id"
    return int(app.scalar(statement, id=document["id"]))


def test_a_parent_comes_once_with_its_best_child_s_score(app: App, dataset: str) -> None:
    document = app.put_text(
        dataset, "a.md", make_text("A needle here.", "A pin.", "No such thing.")
    )
    assert document["chunking"] == CHUNKING
    chunks = app.client.get(f"/v1/documents/{document['id']}/chunks").json()["chunks"]
    answer = find(app, dataset, "needle plain words", top_k=10, explain=True)
    records, dropped = answer["records"], answer["dropped"]
    assert len({record["content"] for record in records}) == len(records) > 2
    assert {each["reason"] for each in dropped} == {"parent"}
    scores = {each["chunk_id"]: each["explain"]["final_score"] for each in [*records, *dropped]}
    assert len(scores) == len(records) + len(dropped)
    found = [chunk for chunk in chunks if chunk["id"] in scores]
    for record in records:
        children = [scores[each["id"]] for each in found if each["content"] in record["content"]]
        assert scores[record["chunk_id"]] == max(children)
    assert sum(each["content"] in record["content"] for record in records for each in found) == len(
        scores
    )


def test_top_k_counts_parents(app: App, dataset: str) -> None:
    app.put_text(dataset, "a.md", make_text(*(f"A needle {n}." for n in range(6))))
    for top_k in (1, 3, 5):
        records = find(app, dataset, "needle plain words", top_k=top_k)["records"]
        assert len(records) == len({record["content"] for record in records}) == top_k


def test_equal_parents_of_two_documents_are_two(app: App, dataset: str) -> None:
    for name in ("a.md", "b.md"):
        app.put_text(dataset, name, make_text("A needle here."))
    records = find(app, dataset, "needle")["records"]
    assert sorted(record["title"] for record in records) == ["a.md", "b.md"]


def test_a_changed_document_returns_its_new_parents_and_forgets_the_old(
    app: App, dataset: str
) -> None:
    first = make_text("A needle here.", "Other words.")
    document = app.put_text(dataset, "a.md", first, external_id="a")
    before = count_parents(app, document)
    app.put_text(dataset, "a.md", first.replace("needle", "pin"), external_id="a")
    assert find(app, dataset, "needle")["records"] == []
    [record] = find(app, dataset, "pin")["records"]
    assert "A pin here." in record["content"]
    with app.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE chunk_memberships SET superseded_at = now() - interval '1 hour'"
            " WHERE superseded_at IS NOT NULL"
        )
    app.put_text(dataset, "a.md", first.replace("needle", "nail"), external_id="a")
    assert count_parents(app, document) <= before + 1  # of this version, and of the one before
    app.delete(document["id"])
    assert count_parents(app, document) == 0


def test_the_same_content_again_writes_no_parent(app: App, dataset: str) -> None:
    text = make_text("A needle here.")
    document = app.put_text(dataset, "a.md", text, external_id="a")
    ids = "SELECT string_agg(id::text, ',' ORDER BY id) FROM chunk_parents WHERE document_id = :id"
    before = app.scalar(ids, id=document["id"])
    app.put_text(dataset, "a.md", text, external_id="a", metadata={"x": 1})
    assert app.scalar(ids, id=document["id"]) == before


def test_a_reranking_model_reads_children_and_the_best_stands_for_its_parent(
    app: App, dataset: str
) -> None:
    app.put_text(dataset, "a.md", make_text("A needle here.", "Other words."))
    rerankers = FakeRerankers(FakeReranker(lambda _, passage: 0.9 if "needle" in passage else 0.1))
    answer = app.with_reranker(rerankers).ask(
        dataset, "needle plain words", search_method="full_text_search", **RERANKED
    )
    [(_, passages, _)] = rerankers.reranker.asked
    assert len([each for each in passages if "needle" in each]) == 1
    assert max(len(passage) for passage in passages) < 200
    first, *others = answer.json()["records"]
    assert first["score"] == 0.9
    assert len(first["content"]) > 200
    assert "needle" in first["content"]
    assert {each["score"] for each in others} == {0.1}
    assert first["content"] not in [each["content"] for each in others]


def test_children_are_what_the_document_shows(app: App, dataset: str) -> None:
    text = make_text("A needle here.")
    document = app.put_text(dataset, "a.md", text)
    chunks = app.client.get(f"/v1/documents/{document['id']}/chunks").json()["chunks"]
    assert len(chunks) > count_parents(app, document) > 0
    assert all(text[c["char_start"] : c["char_end"]] == c["content"] for c in chunks)


def test_other_strategies_return_what_was_found(app: App) -> None:
    text = "Intro.\n\nQ: Where is the needle?\nA: In the hay.\n\nQ: Why?\nA: Because.\n"
    dataset = app.economy(chunking={"strategy": "question_answer"})
    app.put_text(dataset, "a.txt", text)
    [record] = find(app, dataset, "needle")["records"]
    assert record["content"] == "Q: Where is the needle?\nA: In the hay."
    whole = app.economy(chunking={"strategy": "whole"})
    app.put_text(whole, "a.txt", text)
    assert find(app, whole, "needle")["records"][0]["content"] == text.strip()
    general = app.economy(chunking={"strategy": "general", "delimiter": "\n\n"})
    app.put_text(general, "a.txt", text)
    [record] = find(app, general, "needle")["records"]
    assert record["content"] == "Q: Where is the needle?\nA: In the hay."
