from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.ingest.chunk import CHILDREN_A_PARENT, chunk, write_path
from functions.ingest.document import ParsedDocument
from functions.ingest.formats.plain import read_markdown, read_plain
from functions.ingest.tokens import count_tokens
from shared.files.front_matter import read_front_matter
from shared.model import Chunking, Parent, Passage, Span, Strategy

PIECES = (
    *("# ", "## ", "### ", "#\n", "===\n", "---\n", "```\n", "~~~\n", "> ", "- ", "1. ", "[a](b)"),
    *("\n", "\n\n", "\r\n", " ", "\t", "\u2028", "\u3000", "\x0c", ". ", "! ", "e.g. ", "v2.5"),
    *("word", "another", "x" * 30, "。", "他说：“可以。”", "……", "）", "退款政策", "한국어 "),
    *("😀", "👩🏽‍🚀", "e\u0301", "ภาษาไทย", "Ж"),
)
TEXTS = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=60).map("".join)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80)
).filter(lambda text: bool(text.strip("\ufeff").strip()) and not text.startswith("\ufeff"))


def make_chunkings(*strategies: Strategy) -> st.SearchStrategy[Chunking]:
    return st.integers(1, 40).flatmap(
        lambda size: st.builds(
            Chunking,
            st.sampled_from(strategies),
            size=st.just(size),
            overlap=st.integers(0, size // 2),
            delimiter=st.sampled_from([None, "\n\n", ". ", "。", "---"]),
        )
    )


CUT = [strategy for strategy in Strategy if strategy is not Strategy.WHOLE]
CHUNKINGS = make_chunkings(*CUT)
BY_SECTION = make_chunkings(Strategy.HEADINGS, Strategy.PARENT_CHILD, Strategy.QUESTION_ANSWER)


def read(text: str, pages: Sequence[float], *, is_plain: bool) -> ParsedDocument:
    """Returns a document with pages that begin at these shares of it, if any."""
    is_empty = not text[read_front_matter(text).start :].strip()
    document = (read_plain if is_plain or is_empty else read_markdown)(text.encode(), None)
    length = len(document.text)
    starts = [0, *sorted(int(share * length) for share in pages)] if pages else []
    return replace(document, pages=starts)


PAGES = st.lists(st.floats(0, 1), max_size=6)
DOCUMENTS = st.builds(read, TEXTS, PAGES, is_plain=st.booleans())


def spans(passages: Sequence[Passage]) -> list[tuple[int, int]]:
    return [(p.span.start, p.span.end) for p in passages if p.span is not None]


def cut_markdown(text: str, size: int = 400, overlap: int = 0) -> list[Passage]:
    return chunk(read_markdown(text.encode(), None), Chunking(size=size, overlap=overlap))


def cut_plain(text: str, size: int, overlap: int = 0) -> list[Passage]:
    return chunk(read_plain(text.encode(), None), Chunking(size=size, overlap=overlap))


def list_texts(passages: Sequence[Passage]) -> list[str]:
    return [passage.text for passage in passages]


@given(DOCUMENTS, make_chunkings(*Strategy))
def test_m03_spans_are_exact_and_cover_all_but_white_space(
    document: ParsedDocument, chunking: Chunking
) -> None:
    passages = chunk(document, chunking)
    covered: set[int] = set()
    for passage, (start, end) in zip(passages, spans(passages), strict=True):
        assert passage.text == document.text[start:end] == passage.text.strip() != ""
        covered.update(range(start, end))
    words = {i for i, c in enumerate(document.text) if not c.isspace() and i >= document.start}
    assert words <= covered
    assert not covered or min(covered) >= document.start


@given(DOCUMENTS, CHUNKINGS)
def test_m13_no_passage_is_over_the_budget(document: ParsedDocument, chunking: Chunking) -> None:
    for passage in chunk(document, chunking):
        assert count_tokens(passage.searchable_text) <= chunking.size


@given(DOCUMENTS, CHUNKINGS)
def test_m04_starts_and_ends_strictly_rise(document: ParsedDocument, chunking: Chunking) -> None:
    passages = chunk(document, chunking)
    for (start, end), (next_start, next_end) in pairwise(spans(passages)):
        assert start < next_start
        assert end < next_end
    assert [passage.position for passage in passages] == list(range(1, len(passages) + 1))


@given(DOCUMENTS, BY_SECTION)
def test_m15_overlap_is_within_its_limit_and_its_section(
    document: ParsedDocument, chunking: Chunking
) -> None:
    heading_lines = {i for h in document.headings for i in range(h.span.start, h.span.end)} | {
        i for i, c in enumerate(document.text) if c.isspace()
    }
    passages = chunk(document, chunking)
    for start, end in spans(passages):
        for heading in document.headings:
            if start < heading.span.start < end:  # only bodiless headings may stand before another
                assert heading_lines.issuperset(range(start, heading.span.start))
    for (_, end), (next_start, _) in pairwise(spans(passages)):
        assert count_tokens(document.text[next_start:end]) <= chunking.overlap


@given(DOCUMENTS, CHUNKINGS)
def test_l22_no_overlap_reaches_over_the_border_of_a_page(
    document: ParsedDocument, chunking: Chunking
) -> None:
    for (_, end), (next_start, _) in pairwise(spans(chunk(document, chunking))):
        if next_start < end:
            assert document.find_page(next_start) == document.find_page(end - 1)


@given(DOCUMENTS, make_chunkings(Strategy.PARENT_CHILD))
def test_children_lie_in_their_parents_which_are_the_text_in_larger_pieces(
    document: ParsedDocument, chunking: Chunking
) -> None:
    parents: list[Parent] = []
    for passage in chunk(document, chunking):
        assert passage.span is not None
        assert passage.parent is not None
        parent, span = passage.parent, passage.span
        assert parent.span.start <= span.start < span.end <= parent.span.end
        assert document.text[parent.span.start : parent.span.end] == parent.text
        assert count_tokens(parent.text) <= CHILDREN_A_PARENT * chunking.size
        if parent not in parents:
            parents.append(parent)
    for one, next_one in pairwise(parents):
        assert one.span.end <= next_one.span.start


@given(DOCUMENTS, make_chunkings(*Strategy))
def test_the_same_document_is_cut_the_same_way(
    document: ParsedDocument, chunking: Chunking
) -> None:
    again = replace(document, headings=list(document.headings))
    assert chunk(document, chunking) == chunk(again, chunking)


@given(st.lists(st.text("ab. \n。退", max_size=30), min_size=1, max_size=6), CHUNKINGS)
def test_a_section_is_cut_as_if_it_were_alone(bodies: list[str], chunking: Chunking) -> None:
    parts = [f"# H{i}\n\n{body.strip()}x\n\n" for i, body in enumerate(bodies)]
    alone = [list_texts(cut_markdown(part, chunking.size, chunking.overlap)) for part in parts]
    whole = cut_markdown("".join(parts), chunking.size, chunking.overlap)
    assert list_texts(whole) == [text for texts in alone for text in texts]


def test_m01_an_endless_word_ends_and_repeats_no_last_chunk() -> None:
    passages = cut_plain("a" * 5000, size=100, overlap=50)
    assert spans(passages) == [(start, start + 400) for start in range(0, 4601, 200)]


def test_m03_separators_are_kept() -> None:
    bulk = cut_plain("attach documents and qualifications in bulk.", 3)
    assert list_texts(bulk) == ["attach", "documents", "and", "qualificatio", "ns in", "bulk."]
    assert "".join(list_texts(cut_plain("hello,,world,", 3))) == "hello,,world,"
    assert list_texts(cut_plain("alpha beta. gamma delta.", 6)) == ["alpha beta.", "gamma delta."]


@pytest.mark.parametrize("text", ["ha " * 200, "chunk chunk", "Same words here again.\n\n" * 50])
def test_m04_equal_texts_have_places_of_their_own(text: str) -> None:
    passages = cut_plain(text, size=6, overlap=2)
    starts = [start for start, _ in spans(passages)]
    assert starts == sorted(set(starts))
    assert all(
        text[start:end] == p.text for p, (start, end) in zip(passages, spans(passages), strict=True)
    )


def test_m04_fifty_equal_paragraphs_are_fifty_chunks() -> None:
    passages = cut_plain("Same words here.\n\n" * 50, size=7)
    assert list_texts(passages) == ["Same words here."] * 50
    assert [start for start, _ in spans(passages)] == list(range(0, 50 * 18, 18))


@pytest.mark.parametrize("size", [4, 5, 6, 8, 13])
def test_m06_no_chunk_starts_with_a_closing_mark(size: int) -> None:
    text = "他说：“可以。”然后走了。她说：「好！」（是的。）对，走吧！" * 5
    assert not [p.text for p in cut_plain(text, size, size // 2) if p.text[0] in "”」），。！"]


def test_m06_numbers_and_abbreviations_stay_whole() -> None:
    text = "We ship v2.5 at 3.14 now, e.g. this one, and that is all there is to say. " * 6
    for size in range(6, 30):
        for passage in cut_plain(text, size):
            assert not passage.text.endswith(("v2", "v2.", "3.", " e.", " e"))
            assert not passage.text.startswith((".5", "5 ", "14", "g."))


def test_m06_thai_is_cut_by_the_budget_alone() -> None:
    text = "ภาษาไทยไม่มีเครื่องหมายวรรคตอน" * 40
    passages = cut_plain(text, size=50)
    assert [count_tokens(p.text) for p in passages[:-1]] == [50] * (len(passages) - 1)
    assert "".join(list_texts(passages)) == text


def test_m08_a_comment_in_a_fence_starts_no_section() -> None:
    passages = cut_markdown("# A\n\n````\n# not a heading\n```\n# still not\n````\n\n## B\n\ntext")
    assert [passage.heading for passage in passages] == ["A", "A > B"]
    assert "# still not" in passages[0].text


def test_m10_every_chunk_of_a_section_has_its_heading_outside_the_span() -> None:
    bullets = "\n".join(f"- {'criterion text ' * 13}end {i}." for i in range(5))
    passages = cut_markdown(f"## 5. Success Criteria\n\n{bullets}\n", size=100)
    assert len(passages) == 5
    assert {p.heading for p in passages} == {"5. Success Criteria"}
    assert passages[0].text.startswith("## 5. Success Criteria\n\n- criterion")
    assert all(passage.text.startswith("- criterion") for passage in passages[1:])


def test_m10_no_heading_stands_alone_before_its_body() -> None:
    long_sentence = "word " * 300
    for size in (20, 50, 100):
        passages = cut_markdown(f"# Title here\n\n## Sub title\n\n{long_sentence}", size, size // 2)
        assert passages[0].text.startswith("# Title here\n\n## Sub title\n\nword word")


def test_m10_a_heading_with_nothing_under_it_is_found_through_its_own_chunk() -> None:
    passages = cut_markdown("## S1\n## S2\nFoo")
    assert [(p.heading, p.text) for p in passages] == [("S1", "## S1"), ("S2", "## S2\nFoo")]


def test_m11_paths_hold_ancestors_only() -> None:
    passages = cut_markdown("# A\n## A1\n### A1a\nx\n## A2\ny\n# B\nz")
    assert [p.heading for p in passages] == ["A > A1 > A1a", "A > A2", "B"]


def test_m13_text_and_markdown_of_the_same_words_are_cut_alike() -> None:
    text = ("One sentence of plain words. 退款需要七个工作日。\n\n" * 600)[:30_000]
    assert list_texts(cut_plain(text, 100, 20)) == list_texts(cut_markdown(text, 100, 20))


def test_m13_one_line_of_30_kb_is_cut_under_the_budget() -> None:
    passages = cut_plain("cell," * 6000, size=400, overlap=40)
    assert len(passages) > 30
    assert max(count_tokens(passage.text) for passage in passages) <= 400


def test_m15_overlap_never_leaves_its_section_and_starts_with_a_word() -> None:
    first = " ".join(f"alpha{i}" for i in range(200))
    second = " ".join(f"bravo{i}" for i in range(200))
    text = f"# A\n\n{first}\n\n# B\n\n{second}\n"
    passages = cut_markdown(text, size=100, overlap=30)
    assert [p for p in passages if "alpha" in p.text and "bravo" in p.text] == []
    assert all(p.heading == ("A" if "alpha" in p.text else "B") for p in passages)
    for start, _ in spans(passages)[1:]:
        assert text[start - 1].isspace()
    overlaps = [
        count_tokens(text[start:end])
        for (_, end), (start, _) in pairwise(spans(passages))
        if start < end
    ]
    assert len(overlaps) == len(passages) - 2
    assert all(28 <= overlap <= 30 for overlap in overlaps)


def test_plain_text_has_no_headings() -> None:
    assert [(p.heading, p.text) for p in cut_plain("# A\n\nb", 400)] == [("", "# A\n\nb")]


@pytest.mark.parametrize(
    "text",
    [
        "😀" * 3000,
        "x" * 9000,
        "```\n" * 900,
        "# H\n" * 900,
        "#\n" * 900,
        "one\r\n\r\ntwo\r\n" * 300,
        "line\u2028" * 900,
        "\u0301" * 3000,
        ". " * 3000,
        "。" * 3000,
        "”" * 3000,
        "word\n" + " " * 9000 + "word",
        "- " * 3000,
    ],
)
@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (2, 1), (100, 50)])
def test_odd_texts_are_cut_to_the_end(text: str, size: int, overlap: int) -> None:
    passages = cut_markdown(text, size, overlap)
    assert spans(passages)[-1][1] == len(text.replace("\r\n", "\n").rstrip())
    assert max(count_tokens(passage.searchable_text) for passage in passages) <= size


def test_a_text_of_white_space_has_no_passages() -> None:
    assert chunk(ParsedDocument(text=" \n\u3000"), Chunking()) == []


@pytest.mark.parametrize(
    ("titles", "most", "path"),
    [
        ([], 10, ""),
        (["A", "B"], 10, "A > B"),
        (["Outer title", "Inner", "Own"], 7, "Inner > Own"),
        (["Outer title", "Inner", "Own"], 1, "Own"),
        (["Outer", "A very long title of many words"], 4, "A very long"),
        (["Unbreakable"], 2, "Unbreaka"),
        (["Own"], 0, ""),
    ],
)
def test_a_path_over_half_the_budget_keeps_its_nearest_titles(
    titles: list[str], most: int, path: str
) -> None:
    assert write_path(titles, most) == path


WORDS = "One sentence of plain words. Another one follows it. " * 40


def test_children_are_searched_and_their_parent_is_returned() -> None:
    document = read_markdown(f"# Fees\n\n{WORDS}\n\n# Terms\n\nShort.\n".encode(), None)
    passages = chunk(document, Chunking(Strategy.PARENT_CHILD, size=50, overlap=10))
    fees = [p for p in passages if p.heading == "Fees"]
    parents = list(dict.fromkeys(p.parent for p in fees))
    assert len(fees) == 17
    assert len(parents) == 4
    assert all(count_tokens(p.searchable_text) <= 50 for p in fees)
    assert [parent.text[:6] for parent in parents if parent] == [
        "# Fees",
        *["One se"] * 3,
    ]
    assert passages[-1].text == "# Terms\n\nShort."
    assert passages[-1].parent == Parent(passages[-1].text, passages[-1].span or Span(0, 0))


def test_a_question_leads_all_of_its_answer() -> None:
    text = f"Welcome.\n\nQ: How long?\nA: {WORDS}\n\nQ: Is it free?\nA: Yes.\n"
    passages = chunk(read_plain(text.encode(), None), Chunking(Strategy.QUESTION_ANSWER, size=100))
    assert [p.heading for p in passages][:2] == ["", "How long?"]
    assert {p.heading for p in passages[1:-1]} == {"How long?"}
    assert (passages[-1].heading, passages[-1].text) == ("Is it free?", "Q: Is it free?\nA: Yes.")


def test_questions_under_headings_keep_these() -> None:
    text = "# Billing\n\nHow do I pay?\n\nBy card.\n\n## Refunds?\n\nIn 30 days.\n"
    passages = chunk(read_markdown(text.encode(), None), Chunking(Strategy.QUESTION_ANSWER))
    assert [p.heading for p in passages] == ["Billing > How do I pay?", "Billing > Refunds?"]


def test_a_delimiter_ends_a_chunk_and_stays_in_it() -> None:
    text = "alpha\nbeta\n###\ngamma ###\n\n### delta"
    passages = chunk(
        read_plain(text.encode(), None), Chunking(Strategy.GENERAL, 400, 40, delimiter="###")
    )
    assert list_texts(passages) == ["alpha\nbeta\n###", "gamma ###\n\n###", "delta"]


def test_between_delimiters_the_budget_cuts_and_overlap_stays_within() -> None:
    text = "%%".join(f"{letter * 3} " * 60 for letter in "abc")
    passages = chunk(
        read_plain(text.encode(), None), Chunking(Strategy.GENERAL, 30, 10, delimiter="%%")
    )
    assert len(passages) == 9
    for passage in passages:
        assert len({*passage.text} - {*" %"}) == 1


def test_without_a_delimiter_the_budget_alone_cuts() -> None:
    passages = chunk(
        read_markdown(b"# A\n\nwords\n\n# B\n\nmore words\n", None),
        Chunking(Strategy.GENERAL, 400, 0),
    )
    assert list_texts(passages) == ["# A\n\nwords\n\n# B\n\nmore words"]


def test_whole_is_one_chunk_however_long() -> None:
    [passage] = chunk(read_markdown(f"\n# A\n\n{WORDS}\n".encode(), None), Chunking(Strategy.WHOLE))
    assert (passage.text, passage.heading) == (f"# A\n\n{WORDS}".strip(), "")


@pytest.mark.parametrize("strategy", Strategy)
def test_front_matter_is_in_no_chunk(strategy: Strategy) -> None:
    document = read_markdown(b"---\nlang: en\n---\nThe text.\n", None)
    [passage] = chunk(document, Chunking(strategy))
    assert passage.text == "The text."
    assert passage.span == Span(17, 26)  # in the file as it was sent


@pytest.mark.parametrize("strategy", CUT)
def test_l22_a_chunk_has_the_page_that_it_begins_on(strategy: Strategy) -> None:
    pages = [f"page{n} " + "word " * 20 for n in range(1, 7)]
    pages[2] = ""
    text, starts = "", []
    for page in pages:
        starts.append(len(text))
        text += ("\n\n" if text else "") + page if page else ""
    document = ParsedDocument(text=text, pages=starts, headings=[])
    passages = chunk(document, Chunking(strategy, size=30, overlap=5))
    for n, page in enumerate(pages, start=1):
        if page:
            found = [p for p in passages if f"page{n} " in p.text]
            assert found
            for passage in found:
                starts_before = not passage.text.startswith(f"page{n}")
                assert passage.page is not None
                assert passage.page < n if starts_before else passage.page == n
    assert None not in [passage.page for passage in passages]
