"""Pydantic models as JSON Schema for models to read: flat, closed and without noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic import BaseModel

_NOISE = frozenset({"title", "minLength", "maxLength", "minItems", "pattern", "format", "uniqueItems"})
"""What a model does not need to fill in a request; the request's own validation knows it and says it in words."""

_ENVELOPE: Mapping[str, Any] = {
    "status": {
        "type": "string",
        "enum": [
            "ok",
            "approval_pending",
            "refused",
            "stale",
            "not_found",
            "conflict",
            "unsupported",
            "unavailable",
            "partly_done",
            "not_done",
            "unsure",
            "cancelled",
        ],
    },
    "code": {"type": "string"},
    "why": {"type": "string"},
    "next": {"type": "string"},
    "summary": {"type": "string"},
    "state": {"type": "string"},
    "operation_id": {"type": "string"},
    "expires_at": {"type": "string"},
    "untrusted": {"type": "array", "items": {"type": "string"}},
}


def arguments(model: type[BaseModel], without: Collection[str] = ()) -> dict[str, Any]:
    """Return the input schema of a request, leaving out some of its fields."""
    schema = _flat(model.model_json_schema(by_alias=True))
    properties = {name: kind for name, kind in schema.get("properties", {}).items() if name not in without}
    told: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name in schema.get("required", ()) if name in properties]
    return told | {"required": required} if required else told


def answer(model: type[BaseModel]) -> dict[str, Any]:
    """Return the output schema of an operation: the envelope, and what the result adds. Only `status` is always there."""
    result = _flat(model.model_json_schema(by_alias=True, mode="serialization"), described=False)
    properties = {**result.get("properties", {}), **_ENVELOPE}
    return {"type": "object", "properties": properties, "required": ["status"]}


def _flat(schema: dict[str, Any], *, described: bool = True) -> dict[str, Any]:
    definitions = schema.pop("$defs", {})
    return _plain(schema, definitions, described)


def _plain(schema: dict[str, Any], definitions: Mapping[str, Any], described: bool) -> dict[str, Any]:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        return _plain({**target, **_but(schema, "$ref")}, definitions, described)
    if "anyOf" in schema:
        return _plain(_without_null(schema), definitions, described)
    plain = {key: value for key, value in schema.items() if key not in _NOISE and _says(key, value, schema, described)}
    if "properties" in plain:
        plain["properties"] = {name: _plain(one, definitions, described) for name, one in plain["properties"].items()}
    if "items" in plain:
        plain["items"] = _but(_plain(plain["items"], definitions, described), "description")
    return plain


def _says(key: str, value: Any, schema: dict[str, Any], described: bool) -> bool:
    """Whether a keyword tells a model something. Answers leave out what is empty, so nothing in them is required."""
    if key == "description":
        return described and "properties" not in schema
    if key == "default":
        return value not in (None, False, "", [], {})
    return described or key != "required"


def _but(schema: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Take the one branch that is not null; where there are several, any value will do."""
    branches = [one for one in schema["anyOf"] if one != {"type": "null"}]
    rest = _but(schema, "anyOf")
    return {**branches[0], **rest} if len(branches) == 1 else rest
