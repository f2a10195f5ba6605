"""Names of the API: keyword arguments as fields, the paths of conversations, and keys of requests."""

import re
import uuid
from collections.abc import Collection, Mapping
from urllib.parse import quote


def camel_case(name: str) -> str:
    """Return the field for a keyword argument: `replyToId` for `reply_to_id`, `as` for `as_`."""
    return re.sub(r"_+([a-zA-Z0-9])", lambda match: match[1].upper(), name.rstrip("_"))


def fields_of(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return keyword arguments as fields. Arguments that are None are omitted."""
    return {camel_case(name): value for name, value in arguments.items() if value is not None}


def split(fields: Mapping[str, object], names: Collection[str]) -> tuple[dict[str, object], dict[str, object]]:
    """Return the fields with these names, and the other fields."""
    own = {name: value for name, value in fields.items() if name in names}
    return own, {name: value for name, value in fields.items() if name not in names}


def filter_of(conditions: Mapping[str, object], names: Collection[str] = ("as",)) -> dict[str, object]:
    """Return the parameters of a list: the fields with these names, and the other fields as its filter."""
    query, filter = split(fields_of(conditions), names)
    return {**query, "filter": filter} if filter else query


def segment(text: str) -> str:
    """Return the text, percent-encoded as one segment of a path or as the value of a header."""
    return quote(text, safe="")


def idempotency_key_for(turn: Mapping[str, object]) -> str | None:
    """Return a new key for the header Idempotency-Key. None if the turn has a `clientId`, which is the same."""
    return None if "clientId" in turn else str(uuid.uuid4())


def conversation_path(id: str | None, key: str | None) -> str:
    """Return the path of a conversation.

    Raises ValueError unless exactly one of `id` and `key` is given.
    """
    if id is not None and key is None:
        return f"/conversations/{segment(id)}"
    if key is not None and id is None:
        return f"/conversations/key:{segment(key)}"
    raise ValueError("Give either the id or the key of the conversation.")
