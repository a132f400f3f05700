"""The process that reads files, `python -m functions.ingest.formats`; `reader.py` starts it.

It has bounds that its parent can't have: memory that it may grow by, and processor time a file.
"""

import os
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import BinaryIO

from functions.ingest.formats.read import read
from functions.ingest.formats.wire import Answer, Request, read_request, write_answer
from shared.errors import DocumentRefused

_SPENT_KILOBYTES = 300_000
"""A process that once took this much ends: Python seldom gives memory back."""


def main() -> None:
    """Answers requests until there are no more."""
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, answers)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while (request := read_request(requests)) is not None:
        _limit_time(request.seconds)
        _limit_memory(request.memory)
        answer = _answer(request)
        write_answer(answers, answer)
        if answer.is_spent:
            return


def _answer(request: Request) -> Answer:
    cause = None
    try:
        result: DocumentRefused | object = read(
            request.format, request.data, request.charset, request.options
        )
    except DocumentRefused as refusal:
        result, cause = refusal, _describe(refusal.__cause__)
    is_spent = _read_peak() > _SPENT_KILOBYTES
    return Answer(result, cause, is_spent=is_spent)  # type: ignore[arg-type]


def _read_peak() -> int:
    """Returns the most kilobytes that this process ever had."""
    # Not getrusage: it has the memory of the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0])


def _describe(error: BaseException | None) -> str | None:
    """Returns an error's class and place: its words may be the file's."""
    if error is None:
        return None
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"


def _limit_time(seconds: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, hard))


def _limit_memory(growth: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + growth, hard))


if __name__ == "__main__":
    main()
