"""Taking documents in over HTTP: as JSON, as files in a form, or by uploads of their own.

A write answers once bytes, document and outbox row are safe; `wait=true` waits until queries
find it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from functions.manage.announce import announce
from functions.manage.answers import ACCEPTED, answer, answer_one, choose_end
from functions.manage.bodies import MOST_DOCUMENTS, BatchBody, DocumentBody, FileBody, UploadBody
from functions.manage.check import parse_document
from functions.manage.files import pair_sidecars, parse_file, parse_one_of_many, read_fields
from functions.manage.form_route import FormRoute, describe_form
from functions.manage.parts import Parts
from functions.manage.take import Taken, Target, open_target, take_all, take_body, take_file
from functions.manage.uploads import offer_upload
from shared.errors import InvalidRequest
from shared.http.forms import File, parse_form
from shared.http.keys import Caller
from shared.http.problems import describe
from shared.model import Document

_PATH = "/datasets/{dataset_id}/documents"


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the routes that take documents in.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1", tags=["documents"])
    _add_forms(router, parts, caller)  # first: the others take whatever is no form
    who = Annotated[Caller, Depends(caller)]

    @router.post(_PATH, status_code=ACCEPTED, openapi_extra=describe_form(*FileBody.model_fields))
    def create(
        dataset_id: str, body: DocumentBody, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        target = open_target(parts, caller, dataset_id)
        document, change = take_body(target, body)
        announce(parts.queue, [change])
        texts = [chunk.text for chunk in body.chunks or ()]
        return answer_one(parts, document, end, response) | _count_blank(texts)

    @router.post(f"{_PATH}/batch", status_code=ACCEPTED, openapi_extra=describe_form())
    def create_batch(
        dataset_id: str, body: BatchBody, response: Response, caller: who, wait: bool = False
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        target = open_target(parts, caller, dataset_id)
        takes = [
            partial(_take_sent, target, sent, f"/documents/{n}")
            for n, sent in enumerate(body.documents)
        ]
        answers = [
            shown | (_count_sent(sent) if "id" in shown else {})
            for shown, sent in zip(_take(target, takes, end, response), body.documents, strict=True)
        ]
        return {"documents": answers}

    @router.post(f"{_PATH}/uploads", status_code=201)
    def create_upload(
        request: Request, dataset_id: str, body: UploadBody, caller: who
    ) -> dict[str, Any]:
        target = open_target(parts, caller, dataset_id)
        return offer_upload(parts, target.dataset, body.size, str(request.base_url))

    return router


def _add_forms(router: APIRouter, parts: Parts, caller: Any) -> None:
    who = Annotated[Caller, Depends(caller)]
    raw = Annotated[bytes, Depends(_read_body)]

    def create_from_file(
        request: Request,
        dataset_id: str,
        response: Response,
        caller: who,
        body: raw,
        wait: bool = False,
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        target = open_target(parts, caller, dataset_id)
        form = parse_form(request.scope, body)
        if len(form.files) != 1:
            raise InvalidRequest.at("/file", "send one file here; several go to …/documents/batch")
        [file] = form.files
        document, change = take_file(target, file, parse_file(file, read_fields(form.fields)))
        announce(parts.queue, [change])
        return answer_one(parts, document, end, response)

    def create_from_files(
        request: Request,
        dataset_id: str,
        response: Response,
        caller: who,
        body: raw,
        wait: bool = False,
    ) -> dict[str, Any]:
        end = choose_end(parts, wait)
        target = open_target(parts, caller, dataset_id)
        form = parse_form(request.scope, body)
        if form.fields:
            raise InvalidRequest.at(f"/{next(iter(form.fields))}", "unknown field")
        pairs = pair_sidecars(form.files)
        if not 0 < len(pairs) <= MOST_DOCUMENTS:
            raise InvalidRequest.at("/file", f"send 1 to {MOST_DOCUMENTS} files")
        takes = [
            partial(_take_one_of_many, target, file, sidecar, f"/documents/{n}")
            for n, (file, sidecar) in enumerate(pairs)
        ]
        return {"documents": _take(target, takes, end, response)}

    for path, take in ((_PATH, create_from_file), (f"{_PATH}/batch", create_from_files)):
        router.add_api_route(
            path,
            take,
            methods=["POST"],
            status_code=ACCEPTED,
            include_in_schema=False,  # there it is a part of its twin
            route_class_override=FormRoute,
        )


async def _read_body(request: Request) -> bytes:
    return await request.body()  # which the edge has bounded


def _take(
    target: Target, takes: Sequence[Callable[[], Taken]], end: float | None, response: Response
) -> list[dict[str, Any]]:
    """Takes documents, and returns the answer to each in its place."""
    taken = take_all(target, takes)
    stored = [each for each in taken if isinstance(each, Document)]
    shown = iter(answer(target.parts, stored, end, response))
    return [next(shown) if isinstance(each, Document) else describe(each) for each in taken]


def _take_sent(target: Target, sent: dict[str, Any], pointer: str) -> Taken:
    return take_body(target, parse_document(sent, pointer), pointer)


def _take_one_of_many(target: Target, file: File, sidecar: File | None, pointer: str) -> Taken:
    return take_file(target, file, parse_one_of_many(file, sidecar, pointer), pointer)


def _count_sent(sent: dict[str, Any]) -> dict[str, int]:
    return _count_blank([chunk["text"] for chunk in sent.get("chunks") or ()])


def _count_blank(texts: Sequence[str]) -> dict[str, int]:
    """Reports the chunks that are left out because they are blank, if there are any."""
    blank = sum(not text.strip() for text in texts)
    return {"blank_chunks": blank} if blank else {}
