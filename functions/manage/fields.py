"""/v1/datasets/{id}/metadata-fields: declaring, showing, renaming and deleting them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi import Query as Parameter
from sqlalchemy import Connection

from functions.manage.bodies import FieldBody, FieldPatch
from functions.manage.parts import Parts
from shared.errors import InvalidRequest, NotFound, Problem
from shared.http.keys import Caller
from shared.metadata.fields import BUILTIN_TYPES, Field, FieldType, check_name
from shared.metadata.grammar import normalise_text
from shared.postgres import fields
from shared.postgres.datasets import get_dataset
from shared.postgres.engine import read, transaction
from shared.postgres.moves import move_field

_DONE, _GOES_ON = 200, 202
_ANSWERS: dict[int | str, dict[str, Any]] = {
    _GOES_ON: {"description": "Some documents are left: the same request again goes on"}
}
_PATH = "/{dataset_id}/metadata-fields"


def make_router(parts: Parts, caller: Any) -> APIRouter:
    """Returns the routes of metadata fields.

    Args:
        parts: what they work with.
        caller: the dependency that tells who calls.
    """
    router = APIRouter(prefix="/v1/datasets", tags=["metadata fields"])
    who = Annotated[Caller, Depends(caller)]

    @router.get(_PATH)
    def list_some(
        dataset_id: str,
        caller: who,
        after: str | None = None,
        limit: Annotated[int, Parameter(ge=1, le=500)] = 100,
    ) -> dict[str, Any]:
        with read(parts.engine) as connection:
            id_ = _get_id(connection, caller, dataset_id)
            page = fields.list_fields(connection, [id_], after=after, limit=limit + 1)
            moves = fields.find_moves(connection, id_)
        return {
            "fields": [show(field) for field in page[:limit]],
            "built_in": [{"name": name, "type": kind} for name, kind in BUILTIN_TYPES.items()],
            "moving": [{"name": name, "to": target} for name, target in sorted(moves.items())],
            "next_after": page[limit - 1].name if len(page) > limit else None,
        }

    @router.post(_PATH, status_code=201)
    def declare(dataset_id: str, body: FieldBody, caller: who) -> dict[str, Any]:
        name = check_name(body.name, "/name")
        with transaction(parts.engine) as connection:
            id_ = _get_id(connection, caller, dataset_id)
            return show(fields.declare_field(connection, id_, name, FieldType(body.type)))

    # A name may hold slashes.
    @router.patch(_PATH + "/{name:path}", responses=_ANSWERS)
    def change(
        dataset_id: str, name: str, body: FieldPatch, response: Response, caller: who
    ) -> dict[str, Any]:
        _check_patch(body)
        name = normalise_text(name)
        target = name if body.name is None else check_name(body.name, "/name")
        with read(parts.engine) as connection:
            id_ = _get_id(connection, caller, dataset_id)
        left = 0 if target == name else _move(parts, id_, name, target, response)
        return show(_settle(parts, id_, target, body)) | {"documents_left": left}

    @router.delete(_PATH + "/{name:path}", responses=_ANSWERS)
    def delete(dataset_id: str, name: str, response: Response, caller: who) -> dict[str, Any]:
        name = normalise_text(name)
        with read(parts.engine) as connection:
            id_ = _get_id(connection, caller, dataset_id)
        return {"name": name, "documents_left": _move(parts, id_, name, None, response)}

    return router


def show(field: Field) -> dict[str, Any]:
    """Returns a field as the API shows it."""
    return {
        "name": field.name,
        "type": field.type,
        "declared": field.declared,
        "values": field.values,
        "misfits": field.misfits,
        "summary": field.summarize(),
    }


def _get_id(connection: Connection, caller: Caller, dataset_id: str) -> str:
    return get_dataset(connection, caller.tenant_id, dataset_id).id


def _check_patch(body: FieldPatch) -> None:
    sent: dict[str, Any] = body.model_dump(exclude_unset=True)
    if not sent:
        raise InvalidRequest.at("", "nothing to change")
    nulls = [name for name, value in sent.items() if value is None]
    if nulls:
        detail = "null means nothing here; leave the field out"
        raise InvalidRequest(*(Problem(f"/{name}", detail) for name in nulls))


def _move(parts: Parts, dataset_id: str, name: str, target: str | None, response: Response) -> int:
    left = move_field(parts.engine, dataset_id, name, target, parts.wait_seconds)
    response.status_code = _GOES_ON if left else _DONE
    return left


def _settle(parts: Parts, dataset_id: str, name: str, body: FieldPatch) -> Field:
    with transaction(parts.engine) as connection:
        if body.type is not None:
            return fields.change_type(connection, dataset_id, name, FieldType(body.type))
        field = fields.find_field(connection, dataset_id, name)
    if field is None:
        raise NotFound(f"there is no field {name!r}")
    return field
