"""Reads files in processes of their own, which a hostile file can fill or hang, but not get out of.

A process stays for the next file: starting one takes longer than reading most. Each thread that
reads at the same time has one to itself.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.options import Options
from functions.ingest.formats.wire import Answer, Request, read_answer, write_request
from shared.errors import DocumentRefused
from shared.files.media import Format
from shared.telemetry import logger

SECONDS = 60
"""Processor time that reading one file may take."""

MEMORY = 1_000_000_000
"""Bytes that reading one file may take: in Lambda they leave the function the other half."""

_PATIENCE = 3
"""How many times as long it may last, on a machine that does other things as well."""

_PASSED_ON = ("LANG", "LD_LIBRARY_PATH", "PATH")


class FileReader:
    """Reads files of every format but plain text.

    Args:
        options: what bounds it, and what is read.
        seconds: of processor time a file.
        memory: bytes a file.
    """

    def __init__(self, options: Options, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self._options = options
        self._limits = (seconds, memory)
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def read(
        self, format_: Format, load: Callable[[], bytes], charset: str | None
    ) -> ParsedDocument:
        """Returns what a file holds.

        Args:
            format_: any but plain text.
            load: returns its bytes, which nobody keeps longer than they are needed.
            charset: what the sender says they are written in, where they are text.

        Raises:
            DocumentRefused: it can't be used, or takes too much memory or time.
        """
        process, is_spent = self._take(), False
        try:
            answer = process.ask(Request(format_, load(), charset, self._options, *self._limits))
            is_spent = answer.is_spent
        finally:
            self._put_back(process, is_spent=is_spent)
        if answer.cause is not None:
            logger.info("a file can't be read", format=format_, cause=answer.cause)
        if isinstance(answer.result, DocumentRefused):
            raise answer.result
        return answer.result

    def _put_back(self, process: "_Process", *, is_spent: bool) -> None:
        if is_spent or not process.is_running():
            process.end()
            return
        with self._lock:
            self._idle.append(process)

    def close(self) -> None:
        """Ends the processes that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def _take(self) -> "_Process":
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_running():
                    return process
                process.end()
        return _Process()


class _Process:
    """One process that reads files."""

    def __init__(self) -> None:
        # Neither keys nor addresses of stores: what reads files needs none.
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        # The path as it is here, and nothing that a site adds to it.
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(each).resolve()) for each in sys.path)
        environment["OPENBLAS_NUM_THREADS"] = "1"  # each thread would reserve memory
        options = ["-P", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, *options, "-m", "functions.ingest.formats"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # libraries print what is wrong with a file
            env=environment,
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self._overdue = False

    def is_running(self) -> bool:
        """Tells whether it can be asked."""
        return self._process.poll() is None

    def ask(self, request: Request) -> Answer:
        """Returns the answer; raises `DocumentRefused`, and is at an end, where there is none."""
        seconds = request.seconds
        watch = threading.Timer(seconds * _PATIENCE, self._give_up)
        watch.start()
        try:
            write_request(self._requests, request)
            del request  # or file and text would be there at once
            answer = read_answer(self._answers)
        except BrokenPipeError:
            answer = None
        finally:
            watch.cancel()
        if answer is None:
            raise self._explain(seconds)
        return answer

    def end(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        self._requests.close()
        self._answers.close()

    def _give_up(self) -> None:
        self._overdue = True
        self._process.kill()

    def _explain(self, seconds: int) -> DocumentRefused:
        code = self._process.wait()
        self.end()
        logger.warning("a file ended the process that read it", code=code, overdue=self._overdue)
        if self._overdue or code == -signal.SIGXCPU:
            return DocumentRefused("too_large", f"Reading the file takes over {seconds} seconds.")
        if code == -signal.SIGKILL:
            return DocumentRefused(
                "expands_too_far", "Reading the file takes more memory than there is for one file."
            )
        return DocumentRefused("broken", "The file can't be read: it is damaged.")
