"""What S3 does on AWS: uploads to the content store's folder, streamed, past the API's limit."""

from http import HTTPStatus

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shared.content.folder import UPLOADS_PATH, FolderContentStore
from shared.errors import InvalidRequest, TooLarge, WinnowError
from shared.http.problems import respond


class Uploads:
    """ASGI middleware that takes what a folder's content store offered to take."""

    def __init__(self, app: ASGIApp, store: FolderContentStore) -> None:
        self._app = app
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes an upload; passes everything else on."""
        is_upload = scope["type"] == "http" and scope["path"].startswith(UPLOADS_PATH)
        if not is_upload or scope["method"] != "PUT":
            await self._app(scope, receive, send)
            return
        try:
            await self._take(scope["path"].removeprefix(UPLOADS_PATH), receive)
            answer = Response(status_code=HTTPStatus.OK)
        except WinnowError as error:
            answer = respond(error)
        await answer(scope, receive, send)

    async def _take(self, ticket: str, receive: Receive) -> None:
        with self._store.receiving(ticket) as (size, file):
            taken, more = 0, True
            while more:
                message = await receive()  # without a body where the sender is gone
                part = message.get("body", b"")
                taken += len(part)
                if taken > size:
                    raise TooLarge(f"more than the {size} bytes that were asked for")
                file.write(part)
                more = message.get("more_body", False)
            if taken < size:
                raise InvalidRequest.at("", f"{taken} bytes, where {size} were asked for")
