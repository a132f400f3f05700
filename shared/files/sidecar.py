"""A file's metadata in a file beside it, as Bedrock has it: {"metadataAttributes": {…}}."""

import json
from typing import Any

from shared.errors import InvalidRequest
from shared.metadata.filter_values import validate_metadata
from shared.text import check_text

SIDECAR = ".metadata.json"
"""What the sidecar's name has after the file's."""

SIDECAR_MAX_BYTES = 1_000_000


def parse_sidecar(data: bytes) -> dict[str, Any]:
    """Returns the metadata that a sidecar holds; raises ValueError in words for its writer."""
    try:
        sidecar = json.loads(data)
        check_text(sidecar)
    except InvalidRequest as error:
        raise ValueError(str(error)) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not {error.encoding.upper()} at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: line {error.lineno}, {error.msg}") from error
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    except ValueError as error:  # which is Python's limit
        raise ValueError("it has a number of too many digits") from error
    metadata: Any = sidecar.get("metadataAttributes") if isinstance(sidecar, dict) else None
    if metadata is None:
        raise ValueError('it is not {"metadataAttributes": {…}}')
    if isinstance(metadata, dict):
        metadata = {name: _unwrap(value) for name, value in metadata.items()}
    try:
        validate_metadata(metadata, "/metadataAttributes")
    except InvalidRequest as error:
        raise ValueError(str(error)) from error
    return dict(metadata)


_VALUES = {
    "STRING": "stringValue",
    "NUMBER": "numberValue",
    "BOOLEAN": "booleanValue",
    "STRING_LIST": "stringListValue",
}


def _unwrap(value: Any) -> Any:
    """Returns an attribute's value, also out of Bedrock's form that tells its type."""
    match value:
        case {"value": {"type": str(kind), **typed}} if _VALUES.get(kind) in typed:
            return typed[_VALUES[kind]]
    return value
