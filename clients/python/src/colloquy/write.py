"""Writes a streaming turn from an iterable of text: deltas, heartbeats, and the commit or the abort."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from .deltas import utf16_length
from .errors import ColloquyError
from .names import idempotency_key_for, segment, split
from .types import JsonObject, Turn

if TYPE_CHECKING:
    from .client import Client

#: Maximum length of one delta, in code points.
_MAX_DELTA = 16_384
#: Maximum length of the text that waits to be sent, in code points. Above it, the iterable is not read.
_MAX_WAITING = 262_144
#: Time for which the client tries to send the rest of the text, and then the abort, s.
_ABORT_FOR = 5.0
#: Fields of the input of openTurn that are not fields of its turn, and fields that only the commit accepts.
_OPEN_FIELDS = ("as", "claimToken", "expectedLastSeq")
_COMMIT_FIELDS = ("parts",)


class _Sender(threading.Thread):
    """Sends the text of one turn in order. Sends a heartbeat when no text was sent for the interval."""

    def __init__(self, client: Client, path: str, authority: Mapping[str, object], heartbeat: float) -> None:
        super().__init__(name="colloquy-writer", daemon=True)
        self._client = client
        self._path = path
        self._authority = authority
        self._heartbeat = heartbeat
        self._condition = threading.Condition()
        self._waiting = ""
        self._start = 0
        self._is_closed = False
        #: The first permanent failure.
        self.failure: BaseException | None = None

    def add(self, text: str) -> None:
        """Add text. Waits while much text is not sent. Raises the failure of an earlier delta."""
        with self._condition:
            self._condition.wait_for(lambda: self.failure is not None or len(self._waiting) < _MAX_WAITING)
            if self.failure is not None:
                raise self.failure
            self._waiting += text
            self._condition.notify_all()

    def finish(self, timeout: float | None = None) -> None:
        """Wait until all text is sent, for at most `timeout` seconds. Raises the failure of a delta."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        self.join(timeout)
        if self.failure is not None:
            raise self.failure

    def run(self) -> None:
        try:
            while (text := self._take()) is not None:
                place: dict[str, object] = {"start": self._start} if text else {}
                body = {**self._authority, "text": text, **place}
                self._client.request("POST", f"{self._path}/deltas", body=body, is_repeatable=True)
                self._start += utf16_length(text)
        except BaseException as error:
            with self._condition:
                self.failure = error
                self._condition.notify_all()

    def _take(self) -> str | None:
        """Return the text of the next delta; an empty text for a heartbeat; None after all text."""
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._is_closed, self._heartbeat)
            if self._is_closed and not self._waiting:
                return None
            text, self._waiting = self._waiting[:_MAX_DELTA], self._waiting[_MAX_DELTA:]
            self._condition.notify_all()
            return text


def write(
    client: Client,
    path: str,
    chunks: Iterable[str],
    fields: Mapping[str, object],
    lease_seconds: int,
    heartbeat_seconds: float | None,
) -> Turn:
    """See `Conversation.write`."""
    own, others = split(fields, _OPEN_FIELDS)
    end, turn = split(others, _COMMIT_FIELDS)
    token = str(uuid.uuid4())
    opening = {**own, "writerToken": token, "leaseSeconds": lease_seconds, "turn": turn}
    key = idempotency_key_for(turn)
    opened = client.request(
        "POST", f"{path}/streaming-turns", body=opening, idempotency_key=key, is_repeatable=True
    )
    turn_path = f"/turns/{segment(str(cast(JsonObject, opened['turn'])['id']))}"
    authority = {**split(own, ("as",))[0], "writerToken": token}
    sender = _Sender(client, turn_path, authority, heartbeat_seconds or lease_seconds / 4)
    sender.start()
    try:
        for chunk in chunks:
            if not isinstance(chunk, str):
                raise TypeError(f"A chunk must be a str, not {type(chunk).__name__}.")
            if chunk:
                sender.add(chunk)
        sender.finish()
        body = {**authority, **end}
        committed = client.request("POST", f"{turn_path}/commit", body=body, is_repeatable=True)
        return cast(Turn, committed["turn"])
    except BaseException as error:
        _abort(client, turn_path, authority, sender, _reason_of(error))
        raise


def _reason_of(error: BaseException) -> str:
    """Return the reason of the abort, which all viewers see. It never contains the text of an error of the iterable."""
    if isinstance(error, ColloquyError):
        return f"The writer failed with {error.code}."
    return "The source of the answer failed." if isinstance(error, Exception) else "Stopped by the writer."


def _abort(client: Client, path: str, authority: Mapping[str, object], sender: _Sender, reason: str) -> None:
    """Send the rest of the text, then abort the turn. If this fails, the lease of the turn expires."""
    with suppress(Exception):
        sender.finish(_ABORT_FOR)
    with suppress(Exception):
        body = {**authority, "reason": reason}
        client.request("POST", f"{path}/abort", body=body, is_repeatable=True, retry_for=_ABORT_FOR)
