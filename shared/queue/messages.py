"""Changes as messages: JSON of schema 1. Pure."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shared.errors import ChangeMalformed
from shared.model import Action, Change

SCHEMA = 1
_IDS = ("tenant_id", "dataset_id", "document_id")
_FIELDS = {"schema", *_IDS, "version", "action"}
_MAX_VERSION = 2**63 - 1


def write_change(change: Change) -> str:
    """Returns the message of a change."""
    message = {"schema": SCHEMA} | {name: getattr(change, name) for name in _IDS}
    message |= {"version": change.version, "action": change.action.value}
    return json.dumps(message)


def read_change(body: str) -> Change:
    """Returns the change that a message's body is.

    Raises:
        ChangeMalformed: it is not one of schema 1.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChangeMalformed("the message is not JSON") from error
    return parse_change(message)


def parse_change(message: object) -> Change:
    """Returns the change that a decoded message is.

    Raises:
        ChangeMalformed: a field is missing, unknown, or not of its exact type.
    """
    if not isinstance(message, dict):
        raise ChangeMalformed("the message is not an object")
    schema = message.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ChangeMalformed(f"the message is not of schema {SCHEMA}, the only one known here")
    if message.keys() != _FIELDS:
        wrong = ", ".join(sorted(map(ascii, message.keys() ^ _FIELDS)))
        raise ChangeMalformed(f"the message lacks a field or has one too many: {wrong[:200]}")
    tenant_id, dataset_id, document_id = (_read_id(message, name) for name in _IDS)
    version, action = _read_version(message), _read_action(message)
    return Change(tenant_id, dataset_id, document_id, version, action)


def _read_id(message: Mapping[str, Any], name: str) -> str:
    value = message[name]
    try:
        if isinstance(value, str) and str(UUID(value)) == value:
            return value
    except ValueError:
        pass
    raise ChangeMalformed(f"{name} is no id")


def _read_version(message: Mapping[str, Any]) -> int:
    version = message["version"]
    if type(version) is not int or not -_MAX_VERSION <= version <= _MAX_VERSION:
        raise ChangeMalformed("version is not an integer of 64 bits")
    return version


def _read_action(message: Mapping[str, Any]) -> Action:
    action = message["action"]
    if not isinstance(action, str) or action not in list(Action):
        raise ChangeMalformed(f"action is none of {', '.join(Action)}")
    return Action(action)
