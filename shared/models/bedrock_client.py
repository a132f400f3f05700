"""Amazon Bedrock's services, each by a boto3 client whose calls have time limits of their own."""

import io
import json
import threading
from typing import Any

from urllib3 import HTTPResponse

from shared.errors import ConfigurationError
from shared.models.answers import explain_status, parse_object
from shared.models.transport import Transport

_SURPRISES = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What botocore's parser raises at an answer of another shape, which it does not expect."""


class InputTooLong(Exception):
    """The text has more tokens than the model takes."""


class BedrockClient:
    """One of Bedrock's services.

    botocore fixes a client's timeouts when it makes the client, but a query has only what is left
    of its request's time. So botocore signs and parses, and `Transport` sends.

    Args:
        service: as boto3 names it.
        endpoint_url: another address than the region's own.

    Raises:
        ConfigurationError: no region is set.
    """

    def __init__(self, service: str, transport: Transport, endpoint_url: str | None = None) -> None:
        from boto3.session import Session  # noqa: PLC0415, long to load, and only Bedrock needs it
        from botocore.config import Config  # noqa: PLC0415
        from botocore.exceptions import NoRegionError  # noqa: PLC0415

        self._transport = transport
        self._call = threading.local()
        try:
            self._client = Session().client(
                service,
                endpoint_url=endpoint_url,
                config=Config(retries={"total_max_attempts": 1}),
            )
        except NoRegionError as error:
            raise ConfigurationError("AWS_DEFAULT_REGION is not set") from error
        self._client.meta.events.register(f"before-send.{service}", self._send)

    def name_model(self, model: str) -> str:
        """Returns the ARN of a foundation model in the client's region."""
        meta = self._client.meta
        return f"arn:{meta.partition}:bedrock:{meta.region_name}::foundation-model/{model}"

    def ask(
        self, model: str, operation: str, timeout: float, attempts: int, **parameters: Any
    ) -> dict[str, Any]:
        """Returns the answer to an operation, as boto3 names it.

        Raises:
            Unavailable: as the transport's failure: the model does not answer, or refuses.
            InputTooLong: the text has too many tokens.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        self._call.limits = {"timeout": timeout, "attempts": attempts}
        try:
            return dict(getattr(self._client, operation)(**parameters))
        except ClientError as error:
            raise self._explain(model, error.response) from error
        except BotoCoreError as error:
            reason = type(error).__name__
            raise self._transport.failure(f"Bedrock can't be called: {reason}") from error
        except (ResponseParserError, *_SURPRISES) as error:
            raise self._transport.failure(f"{model} gave an answer of another shape") from error

    def ask_once(
        self, model: str, operation: str, timeout: float, **parameters: Any
    ) -> dict[str, Any]:
        """Returns the answer of a model that is not asked again if it is busy.

        Raises:
            Unavailable: as the transport's failure: as of `ask`, or the text is too long.
        """
        try:
            return self.ask(model, operation, timeout, 1, **parameters)
        except InputTooLong as error:
            raise self._transport.failure(f"the text is too long for {model}") from error

    def _explain(self, model: str, response: dict[str, Any]) -> Exception:
        status = response["ResponseMetadata"]["HTTPStatusCode"]
        message = response["Error"].get("Message") or ""
        if "too many input tokens" in message.lower():
            return InputTooLong()
        return explain_status(model, status, message, self._transport.failure)

    def _send(self, request: Any, **_: object) -> Any:
        from botocore.awsrequest import AWSResponse  # noqa: PLC0415

        answer = self._transport.post(
            request.url, request.body, dict(request.headers), **self._call.limits
        )
        raw = HTTPResponse(io.BytesIO(answer.data), preload_content=False)
        return AWSResponse(request.url, answer.status, answer.headers, raw)


class BedrockRuntime(BedrockClient):
    """InvokeModel and Converse."""

    def __init__(self, transport: Transport, endpoint_url: str | None = None) -> None:
        super().__init__("bedrock-runtime", transport, endpoint_url)

    def invoke(
        self, model: str, body: dict[str, Any], timeout: float, attempts: int
    ) -> dict[str, Any]:
        """Returns the model's answer to a body.

        Raises:
            Unavailable: as of `ask`.
            InputTooLong: the text has too many tokens.
        """
        answer = self.ask(
            model,
            "invoke_model",
            timeout,
            attempts,
            modelId=model,
            body=json.dumps(body),
            contentType="application/json",
            accept="application/json",
        )
        return parse_object(model, answer["body"].read(), self._transport.failure)

    def converse(self, model: str, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Returns what a chat model answers; raises as `ask_once`."""
        return self.ask_once(model, "converse", timeout, modelId=model, **request)
