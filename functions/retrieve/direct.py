"""The event of an IAM-authorised invoke: {"tenant_id", "retrieve": <native body>}."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from functions.retrieve.app import answer
from functions.retrieve.contracts.native import RetrieveBody
from functions.retrieve.parts import Parts
from shared.errors import InvalidRequest, WinnowError
from shared.http.problems import describe, problems_of
from shared.text import check_text


def is_direct(event: Mapping[str, Any]) -> bool:
    """Tells a direct event from API Gateway's, of either version."""
    return "requestContext" not in event and "version" not in event


def answer_directly(event: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """Returns the native answer's body, or a problem."""
    try:
        check_text(dict(event))
        body = RetrieveBody.model_validate(event.get("retrieve"))
        tenant_id = event.get("tenant_id")
        if not isinstance(tenant_id, str) or not tenant_id:
            raise InvalidRequest.at("/tenant_id", "is needed")
        return dict(json.loads(answer(body, tenant_id, parts)))
    except ValidationError as error:
        return describe(problems_of(error.errors(), "/retrieve"))
    except WinnowError as error:
        return describe(error)
