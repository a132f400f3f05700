"""Where a service's own processor time goes, sampled from outside by py-spy."""

import os
import re
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SAMPLER = [
    "uv",
    "tool",
    "run",
    "py-spy@0.4.1",
    "record",
    "--gil",
    "--nonblocking",
    "--rate",
    "250",
    "--format",
    "raw",
]
"""Only the thread that holds the interpreter's lock: waiting for an engine is left out."""

LAYERS = {
    "the web framework: FastAPI, Starlette, AnyIO": r"fastapi|starlette|anyio",
    "the body's checks and the query": r"pydantic|contracts/|shared/http/|annotationlib",
    "keys and datasets of the request": r"_find_datasets|postgres/(datasets|keys)",
    "words of the query": r"shared/analysis|functions/retrieve/search\.py:.*analyze",
    "requests to OpenSearch: client and sockets": r"opensearchpy|urllib3|shared/deadlines",
    "requests to OpenSearch: bodies and answers": r"shared/opensearch",
    "statements: driver and SQLAlchemy": r"pg8000|sqlalchemy|scramp",
    "statements: ours": r"shared/postgres|retrieve/hydrate|retrieve/load",
    "fusion": r"shared/fusion",
    "threads and steps": r"functions/retrieve|concurrent/futures|threading",
    "the server: uvicorn, asyncio": r"uvicorn|asyncio|uvloop|httptools",
}
"""A sample belongs to the layer of its innermost frame that has one."""


def profile(pid: int, ask: Callable[[], int]) -> None:
    """Prints the processor time of a query, and which layers share it, while `ask` asks queries."""
    before = _read_seconds(pid)
    asked = ask()
    milliseconds = (_read_seconds(pid) - before) * 1000 / asked
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples"
        sampler = subprocess.Popen([*SAMPLER, "--output", str(file), "--pid", str(pid)])
        ask()
        sampler.send_signal(signal.SIGINT)
        sampler.wait()
        samples = file.read_text(encoding="utf-8").splitlines()
    layers: Counter[str] = Counter()
    for sample in samples:
        stack, _, count = sample.rpartition(" ")
        layers[_find_layer(stack.split(";"))] += int(count)
    print(f"processor time of the service {milliseconds:.2f} ms a query, user and system")
    for layer, often in layers.most_common():
        print(f"  {often / layers.total():6.1%}  {layer}")


def _find_layer(stack: list[str]) -> str:
    for frame in reversed(stack):
        for layer, pattern in LAYERS.items():
            if re.search(pattern, frame):
                return layer
    return "else"


def _read_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
