"""The way to OpenSearch: one client a process, and one place that turns its errors into ours."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from opensearchpy import ConnectionError as Unreachable
from opensearchpy import (
    ConnectionTimeout,
    OpenSearch,
    OpenSearchException,
    TransportError,
    Urllib3AWSV4SignerAuth,
    Urllib3HttpConnection,
)
from urllib3 import Timeout

from shared.deadlines import PUNCTUAL_POOLS
from shared.errors import ConfigurationError, IndexUnavailable
from shared.model import JsonObject

SERVERLESS = (
    "OpenSearch Serverless vector collections are not supported: they refuse caller-supplied ids. "
    "Use an OpenSearch Service domain, 2.17 or newer."
)
INDEX_MISSING = "index_not_found_exception"
INDEX_CLOSED = "index_closed_exception"
_TOO_LATE = "The search index did not answer in time."
_UNREADABLE = "The search index gave an answer that can't be read."


class EngineRefused(IndexUnavailable):
    """The search index refused the request.

    Attributes:
        status: the HTTP status.
        kind: the engine's name of the error.
    """

    def __init__(self, status: int, kind: str) -> None:
        self.status = status
        self.kind = kind
        super().__init__(f"The search index refused the request ({status}, {kind}).")

    @property
    def is_missing_index(self) -> bool:
        """Tells whether the index, or its alias, is not there."""
        return self.kind == INDEX_MISSING


class SearchEngine:
    """Sends requests. Threads may share it."""

    def __init__(self, client: OpenSearch, timeout: float) -> None:
        self._client = client
        self._timeout = timeout

    def request(
        self,
        method: str,
        path: str,
        *,
        body: str | bytes | None = None,
        params: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> JsonObject:
        """Returns the engine's JSON answer.

        Args:
            method: the HTTP method.
            path: begins with a slash.
            body: JSON, or lines of JSON.
            params: of the URL.
            timeout: seconds for everything, a second try included; the client's own if not given.

        Raises:
            EngineRefused: for an answer of another status than 2xx.
            IndexUnavailable: when there is no answer in time, or an unreadable one.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        try:
            return self._send(method, path, body, params, deadline)
        except _BrokenConnection:
            # Most likely one that lay idle and that the server had closed: a new one helps.
            return self._send(method, path, body, params, deadline)

    def _send(
        self,
        method: str,
        path: str,
        body: str | bytes | None,
        params: Mapping[str, str] | None,
        deadline: float,
    ) -> JsonObject:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise IndexUnavailable(_TOO_LATE)
        limit: Any = Timeout(total=remaining)  # for connecting and reading together
        try:
            answer = self._client.transport.perform_request(
                method, path, params=dict(params or {}), body=body, timeout=limit
            )
        except OpenSearchException as error:
            raise _explain(error) from error
        if not isinstance(answer, dict):
            raise IndexUnavailable(_UNREADABLE)
        return answer

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


class _PunctualConnection(Urllib3HttpConnection):
    def _create_urllib3_pool(self) -> None:
        super()._create_urllib3_pool()
        self.pool.ConnectionCls = PUNCTUAL_POOLS[self.pool.scheme].ConnectionCls


class _BrokenConnection(IndexUnavailable):
    """The search index can't be reached."""


def _explain(error: OpenSearchException) -> IndexUnavailable:
    # The client's own messages name hosts; ours do not.
    match error:
        case ConnectionTimeout():
            return IndexUnavailable(_TOO_LATE)
        case Unreachable():
            return _BrokenConnection()
        case TransportError() if isinstance(error.status_code, int):
            return EngineRefused(error.status_code, str(error.error))
        case _:
            return IndexUnavailable(_UNREADABLE)


def connect(
    url: str, *, auth: str = "none", timeout: float = 10.0, pool_size: int = 16
) -> SearchEngine:
    """Returns the engine at a URL; no connection is made yet.

    Args:
        url: http or https; a name and password in it are used.
        auth: `sigv4` signs with the AWS credentials of the process, `none` does not.
        timeout: seconds for a request that says none of its own.
        pool_size: connections that are kept; as many as threads that search.

    Raises:
        ConfigurationError: for Serverless, for what is no such URL, or when there are no
            credentials to sign with.
    """
    if not _is_url(url):
        # Not what it is: that may hold a password.
        raise ConfigurationError("WINNOW_OPENSEARCH_URL is not a URL such as https://host:9200")
    if ".aoss." in url:
        raise ConfigurationError(SERVERLESS)
    client = OpenSearch(
        url,
        connection_class=_PunctualConnection,
        http_auth=_sign() if auth == "sigv4" else None,
        pool_maxsize=pool_size,
        max_retries=0,  # a retry of its own would not know the deadline
        timeout=timeout,
    )
    return SearchEngine(client, timeout)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its port is no number, or its brackets don't match
        return False


def _sign() -> Urllib3AWSV4SignerAuth:
    import boto3  # noqa: PLC0415  it takes long to load, and only this needs it

    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None or session.region_name is None:
        raise ConfigurationError("OpenSearch by SigV4 needs AWS credentials and a region.")
    return Urllib3AWSV4SignerAuth(credentials, session.region_name, "es")
