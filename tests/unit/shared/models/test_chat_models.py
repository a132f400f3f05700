from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from pydantic import SecretStr

from shared.errors import ChatModelFailed, ConfigurationError, InvalidRequest
from shared.models.bedrock_client import BedrockRuntime
from shared.models.chat_bedrock import BedrockChat
from shared.models.chat_models import make_chat_model
from shared.models.chat_openai_compatible import OpenAICompatibleChat
from shared.models.transport import Transport
from shared.ports import ChatModel
from shared.settings import ModelSettings
from tests.servers import bedrock, openai
from tests.servers.aws import AWS_ENVIRONMENT
from tests.servers.chat import (
    BedrockChatServer,
    OpenAIChatServer,
    write_completion,
    write_conversation,
)
from tests.servers.server import ModelServer, Reply
from tests.servers.silence import silent_server


def speak(user: str) -> str:
    return f"you said: {user}"


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def ask_openai(url: str, key: str | None = "sk-secret") -> ChatModel:
    return OpenAICompatibleChat(
        "any",
        Transport(4, failure=ChatModelFailed),
        base_url=f"{url}/v1/",
        api_key=SecretStr(key) if key else None,
    )


def ask_bedrock(url: str) -> ChatModel:
    return BedrockChat("vendor.model", BedrockRuntime(Transport(4, failure=ChatModelFailed), url))


@pytest.fixture(params=["openai_compatible", "bedrock"])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[ModelServer, ChatModel]]:
    """A server that works until told otherwise, and the adapter that asks it."""
    with ExitStack() as stack:
        if request.param == "bedrock":
            server: ModelServer = stack.enter_context(BedrockChatServer(speak).running())
            yield server, ask_bedrock(server.url)
        else:
            server = stack.enter_context(OpenAIChatServer(speak).running())
            yield server, ask_openai(server.url)


@pytest.mark.parametrize(
    "broken",
    [
        Reply(b"<html>504 Gateway Timeout</html>"),
        Reply(b""),
        Reply(b'{"choices": [{"message": {"content": "half'),
        Reply([]),
        Reply({}),
        Reply({"choices": [], "output": {}}),
        Reply({"choices": "many", "output": {"message": "hello"}}),
        Reply({"choices": [None], "output": {"message": {"content": [None]}}}),
        Reply({"choices": [{"message": None}], "output": "hello"}),
        Reply(write_completion(None) | write_conversation()),
        Reply(write_completion("  \n") | write_conversation(" ", "\n")),
        Reply(write_completion([{"type": "text", "text": "x"}]) | {"output": {"message": {}}}),
        Reply(hang_up=True),
    ],
    ids=repr,
)
def test_a_broken_or_empty_answer_is_a_failure_of_the_chat_model(
    served: tuple[ModelServer, ChatModel], broken: Reply
) -> None:
    server, chat = served
    server.script = [broken, broken]  # a connection that hung up is tried once more
    with pytest.raises(ChatModelFailed):
        chat.complete("be short", "hello", 20)
    server.script = []
    assert chat.complete("be short", "hello", 20) == "you said: hello"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_a_refusal_is_told_without_credentials_and_not_asked_again(
    served: tuple[ModelServer, ChatModel], status: int
) -> None:
    server, chat = served
    refuse: dict[type, Callable[[int, str], Reply]] = {
        OpenAIChatServer: openai.refuse,
        BedrockChatServer: lambda status, words: bedrock.refuse("SomeException", status, words),
    }
    server.script = [refuse[type(server)](status, "key sk-123 is wrong")]
    with pytest.raises(ChatModelFailed, match=str(status)) as failed:
        chat.complete("be short", "hello", 20)
    assert len(server.requests) == 1
    if status != 400:
        assert "sk-123" not in str(failed.value)


def test_a_slow_model_is_given_up(served: tuple[ModelServer, ChatModel]) -> None:
    server, chat = served
    server.script = [Reply({}, delay=30)]
    with pytest.raises(ChatModelFailed, match=r"did not answer within 0\.3 s"):
        chat.complete("be short", "hello", 0.3)


@pytest.mark.parametrize("make", [ask_openai, ask_bedrock])
def test_o10_a_silent_server_is_given_up(make: Callable[[str], ChatModel]) -> None:
    with silent_server() as url, pytest.raises(ChatModelFailed, match="did not answer"):
        make(url).complete("be short", "hello", 0.3)


@pytest.mark.parametrize("make", [ask_openai, ask_bedrock])
def test_no_server_is_a_failure(make: Callable[[str], ChatModel]) -> None:
    with pytest.raises(ChatModelFailed, match="can't be reached"):
        make("http://127.0.0.1:9").complete("be short", "hello", 5)


def test_a_redirect_is_not_followed(served: tuple[ModelServer, ChatModel]) -> None:
    server, chat = served
    server.script = [Reply({}, status=307, headers={"Location": f"{server.url}/v1/elsewhere"})]
    with pytest.raises(ChatModelFailed):
        chat.complete("be short", "hello", 5)
    assert len(server.requests) == 1


def test_what_is_sent_to_an_openai_compatible_server() -> None:
    with OpenAIChatServer(speak).running() as server:
        ask_openai(server.url).complete("be short", "hello", 20)
        ask_openai(server.url, key=None).complete("be short", "hello", 20)
    first, second = server.requests
    assert first.headers["Authorization"] == "Bearer sk-secret"
    assert "Authorization" not in second.headers
    assert first.body == {
        "model": "any",
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "be short"},
            {"role": "user", "content": "hello"},
        ],
    }


def test_a_model_that_takes_no_temperature_is_asked_without_from_then_on() -> None:
    with OpenAIChatServer(speak, takes_temperature=False).running() as server:
        chat = ask_openai(server.url)
        assert chat.complete("be short", "one", 20) == "you said: one"
        assert chat.complete("be short", "two", 20) == "you said: two"
    assert ["temperature" in request.body for request in server.requests] == [True, False, False]


def test_what_is_sent_to_bedrock_is_signed() -> None:
    with BedrockChatServer(speak).running() as server:
        ask_bedrock(server.url).complete("be short", "hello", 20)
    (request,) = server.requests
    assert request.headers["Authorization"].startswith("AWS4-HMAC-SHA256 ")
    assert request.body == {
        "system": [{"text": "be short"}],
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
        "inferenceConfig": {"temperature": 0, "maxTokens": 2048},
    }


def test_bedrocks_blocks_are_joined_and_its_reasoning_is_left_out() -> None:
    with BedrockChatServer(speak).running() as server:
        server.script = [Reply(write_conversation("a ", "b", thought="hm"))]
        assert ask_bedrock(server.url).complete("be short", "hello", 20) == "a b"


def settings(**given: Any) -> ModelSettings:
    return ModelSettings(**given)


def test_a_query_overrides_the_model_of_the_settings() -> None:
    ours = settings(
        chat_provider="openai_compatible", chat_model="small", openai_base_url="http://a/v1"
    )
    assert make_chat_model(None, None, ours) is make_chat_model("openai_compatible", "small", ours)
    assert make_chat_model(None, "large", ours) is not make_chat_model(None, None, ours)
    assert isinstance(make_chat_model(None, "large", ours), OpenAICompatibleChat)
    assert isinstance(make_chat_model("bedrock", "vendor.model", ours), BedrockChat)


@pytest.mark.parametrize("given", [{}, {"chat_model": "m"}, {"chat_provider": "bedrock"}])
def test_without_a_model_the_query_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="WINNOW_CHAT_MODEL") as refused:
        make_chat_model(None, None, settings(**given))
    assert refused.value.problems[0].pointer == "/metadata_filtering/model"


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="none of bedrock, openai_compatible") as refused:
        make_chat_model("elsewhere", "m", settings())
    assert refused.value.problems[0].pointer == "/metadata_filtering/model/provider"


def test_an_openai_compatible_model_needs_an_address() -> None:
    ours = settings(chat_provider="openai_compatible", chat_model="m")
    with pytest.raises(ConfigurationError, match="WINNOW_OPENAI_BASE_URL"):
        make_chat_model(None, None, ours)
    with pytest.raises(InvalidRequest, match="not set up here") as refused:
        make_chat_model("openai_compatible", "m", settings())
    assert refused.value.problems[0].pointer == "/metadata_filtering/model/provider"


def test_the_key_may_be_a_secret_and_its_absence_is_a_failure_of_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_arguments: str) -> dict[str, str]:
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    client = SimpleNamespace(get_secret_value=fail)
    monkeypatch.setattr(boto3, "client", lambda _service, **_: client)
    with OpenAIChatServer(speak).running() as server:
        ours = settings(openai_base_url=f"{server.url}/v1", openai_api_key_secret="arn:the-key")
        with pytest.raises(ChatModelFailed) as failed:
            make_chat_model("openai_compatible", "m", ours)
        assert "nowhere" not in str(failed.value)
        client.get_secret_value = lambda SecretId: {"SecretString": f"key of {SecretId}"}  # noqa: N803
        make_chat_model("openai_compatible", "m", ours).complete("be short", "hello", 5)
        assert server.requests[0].headers["Authorization"] == "Bearer key of arn:the-key"


def test_callers_are_told_of_the_chat_model_and_of_no_host() -> None:
    ours = settings(openai_base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ChatModelFailed) as failed:
        make_chat_model("openai_compatible", "m", ours).complete("be short", "hello", 5)
    assert str(failed.value) == "the chat model can't be reached"
