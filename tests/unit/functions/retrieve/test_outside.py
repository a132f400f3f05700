import threading
import time
from collections.abc import Iterator

import pytest

from functions.retrieve.outside import ask_model, share_deadline
from functions.retrieve.pool import Pool
from shared.errors import ChatModelFailed


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(1)
    yield made
    made.close()


def test_the_model_gets_the_time_that_there_is(pool: Pool) -> None:
    assert ask_model(lambda timeout: timeout * 2, pool, 5.0, ChatModelFailed, "it") == 10.0


def test_what_the_model_raises_comes_out(pool: Pool) -> None:
    def fail(_: float) -> None:
        raise ChatModelFailed("it is asleep")

    with pytest.raises(ChatModelFailed, match="asleep"):
        ask_model(fail, pool, 5.0, ChatModelFailed, "it")


def test_an_answer_after_its_time_and_a_full_pool_are_failures(pool: Pool) -> None:
    asleep = threading.Event()
    try:
        with pytest.raises(ChatModelFailed, match=r"^it did not answer within 0\.05 s$"):
            ask_model(lambda _: asleep.wait(30), pool, 0.05, ChatModelFailed, "it")
        with pytest.raises(ChatModelFailed, match="every search thread is busy"):
            ask_model(lambda _: None, pool, 5.0, ChatModelFailed, "it")
    finally:
        asleep.set()


@pytest.mark.parametrize(
    ("left", "longest", "kept", "share"),
    [(10, 60, 1, 9), (10, 3, 1, 3), (1.5, 60, 1, 0.75), (0, 60, 1, 0), (-5, 60, 1, 0)],
)
def test_a_share_leaves_the_others_theirs(
    left: float, longest: float, kept: float, share: float
) -> None:
    deadline = time.monotonic() + left
    assert share_deadline(deadline, longest, kept) == pytest.approx(share, abs=0.5)
    assert share_deadline(deadline, longest, kept) <= share + 1e-9
