import pytest

from local.evaluation.judgements import Grades, read_judgements
from local.evaluation.trouble import CollectionUnusable


def read(text: str, *document_ids: str) -> Grades:
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line]
    return read_judgements("qrels.tsv", lines, set(document_ids))


EXPECTED = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}


@pytest.mark.parametrize(
    "text",
    [
        "q1\td1\t1\nq1\td2\t0\nq2\td1\t2\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n",
        "q1\td1\t1\t4\nq1\td2\t0\t3\nq2\td1\t2\t1\n",  # a fourth column of its own
        "q1\t0\td1\t1\nq1\t0\td2\t0\nq2\t0\td1\t2\n",
        "q1 Q0 d1 1\nq1 Q0 d2 0\nq2 Q0 d1 2\n",
        "query iter docno rel\nq1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
        "q1\td1\t1\nq1\td2\t0\nq1\td1\t1\nq2\td1\t2\n",  # one line twice
    ],
)
def test_p06_the_first_real_line_counts(text: str) -> None:
    assert read(text) == EXPECTED


def test_p06_a_document_called_0_is_no_sign_of_trec() -> None:
    text = "q1\t0\t1\t4\nq1\td2\t0\t4"
    assert read(text, "0", "d2") == {"q1": {"0": 1, "d2": 0}}


def test_p06_trec_lines_among_others_are_refused_by_number() -> None:
    with pytest.raises(CollectionUnusable, match=r"qrels.tsv, line 2: four columns as of TREC"):
        read("q1\td2\t1\nq1\t0\td1\t1", "d1", "d2")


def test_p06_two_grades_for_one_pair_are_refused_with_both_lines() -> None:
    with pytest.raises(CollectionUnusable, match=r"lines 1 and 3: two grades for query 'q1'"):
        read("q1\td1\t1\nq1\td2\t1\nq1\td1\t2")


@pytest.mark.parametrize("line", ["q1\td1", "q1\td1\thigh", "q1\td1\t1.5", "\td1\t1", "q1\t\t1"])
def test_a_line_that_is_no_judgement_is_refused_by_number(line: str) -> None:
    with pytest.raises(CollectionUnusable, match="line 2"):
        read(f"q0\td1\t1\n{line}")


def test_a_first_line_with_a_wrong_grade_is_no_heading() -> None:
    for line in ("q1\td1\t1.5", "q1\td1\thigh"):
        with pytest.raises(CollectionUnusable, match="line 1"):
            read(f"{line}\nq1\td2\t1", "d1", "d2")
