"""What every chat model does: the fake, and each adapter on a server that works or fails."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from shared.errors import ChatModelFailed
from shared.models.bedrock_client import BedrockRuntime
from shared.models.chat_bedrock import BedrockChat
from shared.models.chat_openai_compatible import OpenAICompatibleChat
from shared.models.transport import Transport
from shared.ports import ChatModel
from tests.fakes.chat import FakeChatModel
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.chat import BedrockChatServer, OpenAIChatServer


def speak(user: str) -> str:
    """Says the user's part again; nothing where that is told."""
    return " " if user == "say nothing" else f"you said: {user}"


@pytest.fixture(params=["fake", "openai_compatible", "bedrock"])
def chat(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatModel]:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    make: Callable[[], Iterator[ChatModel]] = MAKERS[request.param]
    yield from make()


def make_fake() -> Iterator[ChatModel]:
    yield FakeChatModel(speak)


def make_openai() -> Iterator[ChatModel]:
    with OpenAIChatServer(speak).running() as server:
        yield OpenAICompatibleChat(
            "any",
            Transport(4, failure=ChatModelFailed),
            base_url=f"{server.url}/v1",
            api_key=SecretStr("sk-secret"),
        )


def make_bedrock() -> Iterator[ChatModel]:
    with BedrockChatServer(speak).running() as server:
        runtime = BedrockRuntime(Transport(4, failure=ChatModelFailed), server.url)
        yield BedrockChat("eu.vendor.model-v1:0", runtime)


MAKERS: dict[str, Any] = {
    "fake": make_fake,
    "openai_compatible": make_openai,
    "bedrock": make_bedrock,
}


@pytest.mark.parametrize(
    "user", ["hello", '{"query": "find {x} \\"y\\"\\n 知识库 🦆"}', "x" * 30_000]
)
def test_the_model_gets_the_users_part_as_it_is(chat: ChatModel, user: str) -> None:
    assert chat.complete("be short", user, 20) == f"you said: {user}"


def test_no_words_are_a_failure(chat: ChatModel) -> None:
    with pytest.raises(ChatModelFailed, match="empty answer"):
        chat.complete("be short", "say nothing", 20)


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_without_time_nothing_is_asked(chat: ChatModel, timeout: float) -> None:
    with pytest.raises(ChatModelFailed, match="no time was left"):
        chat.complete("be short", "hello", timeout)
