"""A process that was frozen finds its connections dead, and does not let its caller feel it."""

import os
import signal
import subprocess
import sys

import pytest

from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.bedrock import BedrockServer
from tests.servers.openai import OpenAIServer
from tests.servers.server import ModelServer

OPENAI = """
from shared.models.openai_compatible import OpenAICompatibleEmbedder
embedder = OpenAICompatibleEmbedder(
    EmbeddingSpace("openai_compatible", "m", 8), Transport(4),
    base_url=sys.argv[1] + "/v1", api_key=None, timeout=20,
)
"""
BEDROCK = """
from shared.models.bedrock import COHERE, CohereEmbedder
from shared.models.bedrock_client import BedrockRuntime
space = EmbeddingSpace("bedrock", COHERE, 1024)
embedder = CohereEmbedder(space, BedrockRuntime(Transport(4), sys.argv[1]), timeout=20)
"""
PROGRAM = """
import sys
from shared.model import EmbeddingSpace
from shared.models.transport import Transport
{make}
for _ in sys.stdin:
    embedder.embed_query("query", 20)
    print("embedded", flush=True)
"""


@pytest.mark.parametrize(
    ("make", "server"),
    [(OPENAI, OpenAIServer(8, idle_seconds=1.0)), (BEDROCK, BedrockServer(idle_seconds=1.0))],
    ids=["openai_compatible", "bedrock"],
)
def test_o09_a_frozen_process_embeds_again_after_one_reconnect(
    make: str, server: ModelServer
) -> None:
    with (
        server.running(),
        subprocess.Popen(  # noqa: S603, our own program
            [sys.executable, "-c", PROGRAM.format(make=make), server.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | AWS_ENVIRONMENT,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "embedded\n"
        process.send_signal(signal.SIGSTOP)
        assert server.closed.acquire(timeout=20), "the server closes the idle connection"
        process.send_signal(signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.close()
        assert process.stdout.readline() == "embedded\n"
        assert process.wait(20) == 0
    assert len(server.requests) == 2
    assert server.connections == 2
