"""Follows a conversation: delivers each journal entry once and in order, also after lost connections."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Generator
from contextlib import closing
from typing import TYPE_CHECKING, cast

from .deltas import Joiner, MissingText
from .errors import ColloquyError
from .events import Message
from .retry import wait_before_retry
from .types import Event, JsonObject

if TYPE_CHECKING:
    from .client import Client

#: Types of the events that every subscription receives.
_ALWAYS = frozenset({"Gap", "ConversationDeleted"})
#: Types of the events that end an open turn. The joined text of its deltas is then dropped.
_END_TYPES = ("TURN_COMMITTED", "TURN_ABORTED", "TURN_ERASED")


def follow(
    client: Client, path: str, after_seq: int | None, types: Collection[str] | None, as_: str | None
) -> Generator[Event, None, None]:
    """See `Conversation.follow`. Reads the conversation at once, so that no later entry is missed."""
    acting: dict[str, object] = {} if as_ is None else {"as": as_}
    head = client.request("GET", path, query=acting)
    # A key may name another conversation after the deletion of this one.
    events = f"/conversations/{head['id']}/events"
    return _Follower(client, events, acting, types).run(cast(int, head["lastSeq"]) if after_seq is None else after_seq)


class _Follower:
    def __init__(
        self, client: Client, path: str, query: dict[str, object], types: Collection[str] | None
    ) -> None:
        self._client = client
        self._path = path
        self._query = query
        self._wanted: frozenset[str] | None = None
        if types is not None:
            self._wanted = frozenset(map(_type_name, types)) | _ALWAYS
            ends = _END_TYPES if {"TURN_DELTA", "TURN_PART_DELTA"} & set(types) else ()
            self._query = {**query, "types": sorted({*types, *ends})}
        self._joiner = Joiner()
        #: Whether the server has sent anything on the newest connection.
        self._is_alive = False

    def run(self, last: int) -> Generator[Event, None, None]:
        """Iterate over the events after the entry `last`."""
        failures = 0
        lost_at = 0.0
        was_connected = False
        while True:
            self._is_alive = False
            cause: ColloquyError | MissingText
            try:
                with closing(self._connect(last)) as events:
                    for event in events:
                        last = _seq_after(event, last)
                        joined = self._joiner.join(event)
                        if joined is not None and (self._wanted is None or event["__typename"] in self._wanted):
                            yield joined
                        if event["__typename"] == "ConversationDeleted":
                            return
                return
            except (ColloquyError, MissingText) as error:
                cause = error
            if isinstance(cause, ColloquyError):
                # The conversation was deleted, or the viewer left it, while the connection was lost.
                if cause.code == "NOT_FOUND" and was_connected:
                    return
                if not cause.is_temporary:
                    raise cause
            was_connected = was_connected or self._is_alive
            now = time.monotonic()
            if self._is_alive or failures == 0:
                failures, lost_at = 0, now
            retry_after = cause.retry_after if isinstance(cause, ColloquyError) else None
            wait = wait_before_retry(failures, retry_after)
            failures += 1
            if now + wait > lost_at + self._client.retry_for:
                raise cause
            time.sleep(wait)

    def _connect(self, last: int) -> Generator[Event, None, None]:
        """Subscribe once, and iterate over the events after the entry `last`, without repeated ones."""
        with closing(self._client.stream(self._path, {**self._query, "afterSeq": last})) as messages:
            for message in messages:
                self._is_alive = True
                if message is None:
                    continue
                if message.event == "complete":
                    return
                event = _event_of(message)
                seq = event["seq"]
                if seq is None or seq > last:
                    last = _seq_after(event, last)
                    yield event


def _event_of(message: Message) -> Event:
    value = cast(JsonObject, json.loads(message.data))
    if "errors" not in value:
        return cast(Event, value)
    [first, *_] = cast("list[JsonObject]", value["errors"])
    extensions = cast(JsonObject, first.get("extensions") or {})
    raise ColloquyError(str(extensions.get("code", "BAD_RESPONSE")), str(first["message"]))


def _seq_after(event: Event, last: int) -> int:
    """Return the seq after which delivery resumes."""
    seq = event["seq"]
    return event.get("resumeAfterSeq", last) if seq is None else seq


def _type_name(type: str) -> str:
    """Return the `__typename` of a type of events: `TurnAppended` for `TURN_APPENDED`."""
    return "".join(word.capitalize() for word in type.split("_"))
