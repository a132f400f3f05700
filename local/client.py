"""The API's own client, as the command line uses it."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import urllib3

from shared.errors import WinnowError

CONNECT_SECONDS = 5.0
READ_SECONDS = 120.0
RETRIES = 5
PAGE = 500


class ApiRefused(WinnowError):
    """The API refused a request; the message is the API's own."""

    def __init__(self, message: str, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


class ApiSilent(WinnowError):
    """The API does not answer."""


class Client:
    """Asks one API with one key; threads may share it.

    What is busy (503) is asked again, a few times: every call it makes can be repeated.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        retries = urllib3.Retry(
            RETRIES,
            status_forcelist=[HTTPStatus.SERVICE_UNAVAILABLE],
            allowed_methods=None,
            raise_on_status=False,
            backoff_factor=0.2,
        )
        self._pool = urllib3.PoolManager(
            maxsize=8,
            block=True,
            headers={"Authorization": f"Bearer {key}"},
            retries=retries,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
        )

    def get(self, path: str, **parameters: str | int | None) -> Any:
        """Returns what a path answers."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return json.loads(self._ask("GET", f"{path}?{urlencode(given)}" if given else path))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Returns what a path answers to a body."""
        return json.loads(self.post_raw(path, body))

    def post_raw(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Returns the answer's bytes as they came."""
        return self._ask("POST", path, json.dumps(body, ensure_ascii=False).encode())

    def post_form(
        self, path: str, fields: Mapping[str, str], name: str, data: bytes, media_type: str
    ) -> Any:
        """Returns what a path answers to a file with fields beside it."""
        file = ("file", (name, data, media_type))
        body, content_type = urllib3.encode_multipart_formdata([*fields.items(), file])
        return json.loads(self._ask("POST", path, body, content_type))

    def put(self, url: str, data: bytes) -> None:
        """Puts bytes where a URL says, which is permit enough."""
        self._send("PUT", url, data, {})

    def find_document(self, document_id: str) -> Mapping[str, Any] | None:
        """Returns a document that is not deleted."""
        try:
            return dict(self.get(f"/v1/documents/{document_id}"))
        except ApiRefused as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def find_dataset(self, name: str) -> Mapping[str, Any] | None:
        """Returns the dataset of this name, or of this id."""
        listed = self.get("/v1/datasets")["datasets"]
        found = [each for each in listed if name in (each["name"], each["id"])]
        return found[0] if found else None

    def list_documents(
        self, dataset_id: str, status: str | None = None
    ) -> Iterator[Mapping[str, Any]]:
        """Yields all documents of a dataset, or those of one indexing status."""
        cursor = None
        while True:
            page = self.get(
                f"/v1/datasets/{dataset_id}/documents", limit=PAGE, cursor=cursor, status=status
            )
            yield from page["documents"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def close(self) -> None:
        """Closes its connections."""
        self._pool.clear()

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        headers = {"Content-Type": content_type} | dict(self._pool.headers)
        return self._send(method, self._url + path, body, headers)

    def _send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        try:
            answer = self._pool.request(method, url, body=body, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise ApiSilent(f"{self._url} does not answer ({type(error).__name__}).") from error
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiRefused(_read_problem(answer), answer.status)
        return answer.data


def _read_problem(answer: urllib3.BaseHTTPResponse) -> str:
    try:
        problem = answer.json()
    except ValueError:
        return f"The API answered with status {answer.status}."
    wrong = problem.get("errors", [])
    places = [f"{each['pointer'] or 'body'}: {each['detail']}" for each in wrong]
    return f"{problem['title']}: {'; '.join(places) or problem['detail']}"
