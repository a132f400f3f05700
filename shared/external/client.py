"""Dify's External Knowledge API, from the asking side: `POST {endpoint}/retrieval`."""

import json
from http.client import HTTPException
from time import monotonic
from typing import Any

from shared.errors import ExternalFailed
from shared.external.answers import explain_status, read_answer
from shared.external.connections import Connections, TooMuch
from shared.external.guard import EndpointRefused, Resolve, parse_endpoint, resolve, split_hosts
from shared.model import ExternalAnswer, ExternalBase, ExternalQuestion

MOST_BYTES = 5_000_000
"""Of one answer; more than this could not be passed on."""


class ExternalClient:
    """An `ExternalSearch` over HTTP, guarded.

    Args:
        allow_hosts: the setting `external_allow_hosts`: comma-separated host:port.
        connections: most that are kept open while nobody asks.
        look_up: finds the addresses of a host.
    """

    def __init__(self, allow_hosts: str, connections: int, look_up: Resolve = resolve) -> None:
        self._allow_hosts = split_hosts(allow_hosts)
        self._connections = Connections(look_up, connections, MOST_BYTES)

    def retrieve(
        self, base: ExternalBase, question: ExternalQuestion, timeout: float
    ) -> ExternalAnswer:
        """Returns what the base finds within `timeout` seconds.

        Raises:
            ExternalFailed: it can't be reached, is late, or answers something else; the message
                holds neither addresses nor keys.
        """
        status, data = self._post(base, json.dumps(_write(base, question)).encode(), timeout)
        reason = explain_status(status, data)
        if reason is not None:
            raise ExternalFailed(reason)
        return read_answer(data)

    def _post(self, base: ExternalBase, body: bytes, timeout: float) -> tuple[int, bytes]:
        deadline = monotonic() + timeout
        try:
            target = parse_endpoint(base.endpoint, self._allow_hosts)
            return self._connections.post(
                target, f"{target.path}/retrieval", body, _write_headers(base), deadline
            )
        except EndpointRefused as error:
            raise ExternalFailed(f"its endpoint is refused: {error}") from error
        except TooMuch as error:
            raise ExternalFailed(f"it answered more than {MOST_BYTES:,} bytes") from error
        except (OSError, HTTPException, ValueError) as error:
            late = isinstance(error, TimeoutError) or monotonic() >= deadline
            reason = f"no answer within {timeout:.3g} s" if late else "it can't be reached"
            raise ExternalFailed(reason) from error

    def close(self) -> None:
        """Closes the connections that are kept."""
        self._connections.close()


def _write(base: ExternalBase, question: ExternalQuestion) -> dict[str, Any]:
    return {
        "knowledge_id": base.knowledge_id,
        "query": question.query,
        "retrieval_setting": {"top_k": question.top_k, "score_threshold": question.threshold},
        "metadata_condition": question.condition,
    }


def _write_headers(base: ExternalBase) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {base.api_key}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",  # what is compressed has no bound
        "User-Agent": "winnow",
    }
