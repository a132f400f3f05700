import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.analysis.normalize import normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refund", "refund"),
        ("ＡＰＩ　２０２４", "api 2024"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("Straße", "strasse"),
        ("Crème BRÛLÉE", "creme brulee"),
        ("Łódź Ørsted Ǿ İzmir ılık", "lodz orsted o izmir ilik"),
        ("Cœur ŒUVRE Ærø ǽ", "coeur oeuvre aero ae"),
        ("Tiếng Việt", "tieng viet"),
        ("Ελλάδα ΣΟΦΌΣ ᾠδή", "ελλαδα σοφοσ ωιδη"),
        ("ЁЛКИ ЙОД", "ёлки йод"),
        ("ﬁle ½", "file 1⁄2"),
        ("soft\u00adhyphen \u202eabc\u202c x\ufe0f \ufeffy", "softhyphen abc x y"),
        ("don’t", "don't"),
        ("М’яч мʼяч", "м'яч м'яч"),
    ],
)
def test_folds_what_reads_the_same(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize("text", ["ガ", "が", "パ", "й", "ё", "ї", "हिन्दी", "검색", "知识库"])
def test_keeps_marks_that_make_another_letter(text: str) -> None:
    assert normalize(text) == text


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_second_time_changes_nothing(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)
