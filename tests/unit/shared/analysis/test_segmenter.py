import subprocess
import sys
from pathlib import Path

LOAD_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from shared.analysis.analyzer import analyze
from shared.analysis.segmenter import load_segmenter
from shared.fusion.keywords import dify_keywords

analyze("refund policy v2.5 カタカナ 검색")
assert "jieba" not in sys.modules, "loaded without a Chinese word"

start = Barrier(8)

def load(_):
    start.wait()
    return id(load_segmenter()), tuple(analyze("知识库检索")), dify_keywords("知识库检索")

with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(load, range(8)))) == 1

unwanted = {"jieba.posseg", "jieba.analyse"} & set(sys.modules)
assert not unwanted, unwanted
"""


def test_loads_once_at_the_first_chinese_word_without_a_sound_or_a_file(tmp_path: Path) -> None:
    """Warnings are errors here, and nothing is compiled yet: as on Lambda, where no .pyc exists."""
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
