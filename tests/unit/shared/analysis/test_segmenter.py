import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.analysis.segmenter import cut, cut_for_search
from tests.unit.shared.analysis import oracle

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.*") if path.is_file())
HAN = re.compile("[\u4e00-\u9fd5]")
HAN_AND_BEYOND = "知识库检索的〇々〻㐀䶿龥鿕鿖鿿\U00020000\U0002a6df"

LOAD_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from shared.analysis.analyzer import analyze
from shared.fusion.keywords import dify_keywords

analyze("refund policy v2.5 C++ カタカナ 검색")
assert dify_keywords("refund AT&T v2.5 C++ カタカナ 검색") == {
    "refund", "AT&T", "AT", "T", "v2.5", "v2", "5", "C++"
}
assert not {"jieba", "rjieba"} & set(sys.modules), "loaded without a Chinese word"

start = Barrier(8)

def cut(_):
    start.wait()
    return tuple(analyze("知识库检索")), dify_keywords("知识库检索")

with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(cut, range(8)))) == 1

unwanted = {"jieba.posseg", "jieba.analyse"} & set(sys.modules)
assert not unwanted, unwanted
assert not sys.modules["jieba"].dt.FREQ, "jieba's dictionary was loaded"
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_cuts_the_examples_as_jieba_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert list(cut(text)) == oracle.cut(text)
    assert list(cut_for_search(text)) == oracle.cut_for_search(text)


@settings(deadline=None, max_examples=500)
@given(st.deferred(oracle.mixed_texts))
def test_cuts_any_text_as_jieba_does(text: str) -> None:
    assert list(cut(text)) == oracle.cut(text)
    assert list(cut_for_search(text)) == oracle.cut_for_search(text)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_cuts_what_is_hardly_text_as_jieba_does(text: str) -> None:
    assert list(cut(text)) == oracle.cut(text)


@settings(deadline=None)
@given(st.text(HAN_AND_BEYOND))
def test_cuts_runs_of_rare_characters_for_search_as_jieba_does(run: str) -> None:
    assert list(cut_for_search(run)) == oracle.cut_for_search(run)


def test_knows_the_words_of_jiebas_dictionary() -> None:
    import rjieba

    frequencies = oracle.load_jieba().FREQ
    words = {word for word, frequency in frequencies.items() if frequency}
    assert {word for word in frequencies if rjieba.has_word(word)} == words


def test_knows_the_words_of_the_dictionary_that_have_no_chinese_character() -> None:
    frequencies = oracle.load_jieba().FREQ
    words = [word for word in frequencies if frequencies[word] and not HAN.search(word)]
    assert sorted(words) == ["AT&T", "C#", "C++", "c#", "c++"]
    for word in words:
        text = f"x{word}y {word}{word} {word[:-1]}"
        assert list(cut(word)) == [word]
        assert list(cut(text)) == oracle.cut(text)


def test_loads_once_at_the_first_chinese_word_without_a_sound_or_a_file(tmp_path: Path) -> None:
    """Warnings are errors here, and nothing is compiled yet."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    run = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "error", "-c", LOAD_AT_ONCE],
        env={
            "PYTHONPATH": str(Path.cwd()),
            "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"),
            "TMPDIR": str(temporary),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert list(temporary.iterdir()) == []
