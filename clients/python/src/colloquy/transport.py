"""Sends one request to the REST API, and reads its answer. Keeps idle connections for the next requests."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlencode, urlsplit

from .errors import ColloquyError
from .types import Issue, Json, JsonObject

#: Time for which an idle connection is used again, s. The server closes an idle connection after 5 s.
_IDLE = 4.0


@dataclass(frozen=True)
class Request:
    """A request. `path` begins below /api/v1 and is percent-encoded."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    #: None for a request without a body.
    body: Mapping[str, object] | None = None
    #: The bytes of a file, which are sent instead of a body.
    data: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether the server has the same state if it receives the request twice.
    is_repeatable: bool = False

    @property
    def target(self) -> str:
        """The path with the query. A list is a repeated parameter, and an object is JSON."""
        pairs: list[tuple[str, str]] = []
        for name, value in self.query.items():
            for each in value if isinstance(value, (list, tuple)) else [value]:
                pairs.append((name, each if isinstance(each, str) else json.dumps(each)))
        return f"{self.path}?{urlencode(pairs)}" if pairs else self.path


class Transport:
    """Connections to one server. Several threads may use it at once."""

    def __init__(self, url: str, timeout: float) -> None:
        """Raises ColloquyError (BAD_URL)."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ColloquyError("BAD_URL", f"{url!r} is not the address of a server, such as http://127.0.0.1:4000.")
        if parts.path.rstrip("/").endswith(("/graphql", "/api/v1")):
            raise ColloquyError("BAD_URL", f"Pass the address of the server without {parts.path!r}.")
        try:
            self._address = (parts.hostname, parts.port)
        except ValueError as error:
            raise ColloquyError("BAD_URL", f"{url!r}: {error}") from error
        self._class = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._base = f"{parts.path.rstrip('/')}/api/v1"
        self._timeout = timeout
        self._lock = threading.Lock()
        #: Idle connections, and since when they are idle, in s of the monotonic clock.
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def call(self, request: Request) -> JsonObject:
        """Send a request, and return its JSON answer. Raises ColloquyError."""
        connection, response = self._send(request, self._timeout)
        try:
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _lost(error, self._timeout) from error
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, time.monotonic()))
        return answer_of(request, response, data)

    def open(self, request: Request, silence: float) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request for an event stream, and return the connection and the response.

        `silence` is the time without data after which reading fails, in s. Raises ColloquyError.
        """
        connection, response = self._send(request, silence)
        if response.status == 200 and response.headers.get_content_type() == "text/event-stream":
            return connection, response
        try:
            answer_of(request, response, response.read())
        except (OSError, http.client.HTTPException) as error:
            raise _lost(error, silence) from error
        finally:
            connection.close()
        raise _bad_response(request, response.status, b"")

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            connections, self._idle = self._idle, []
        for connection, _ in connections:
            connection.close()

    def _take(self, request: Request) -> http.client.HTTPConnection | None:
        """Return an idle connection. The server may close it at any time, so only a repeatable request gets one."""
        now = time.monotonic()
        with self._lock:
            fresh = [each for each in self._idle if now - each[1] < _IDLE]
            stale = [connection for connection, since in self._idle if now - since >= _IDLE]
            taken = fresh.pop()[0] if fresh and request.is_repeatable else None
            self._idle = fresh
        for connection in stale:
            connection.close()
        return taken

    def _send(self, request: Request, timeout: float) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        body = request.data if request.body is None else json.dumps(request.body).encode()
        headers = {**({} if request.body is None else {"Content-Type": "application/json"}), **request.headers}
        connection = self._take(request)
        if connection is None:
            host, port = self._address
            connection = self._class(host, port, timeout=self._timeout)
            try:
                connection.connect()
            except OSError as error:
                connection.close()
                raise _lost(error, self._timeout, was_sent=False) from error
        connection.sock.settimeout(timeout)
        try:
            # A server that refuses a large body answers before it has read all of it.
            with suppress(BrokenPipeError):
                connection.request(request.method, self._base + request.target, body, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _lost(error, timeout) from error


def _lost(error: Exception, timeout: float, *, was_sent: bool = True) -> ColloquyError:
    if isinstance(error, TimeoutError):
        return ColloquyError("TIMEOUT", f"The server sent nothing for {timeout:g} s.", was_sent=was_sent)
    if isinstance(error, http.client.HTTPException) and not isinstance(
        error, (http.client.RemoteDisconnected, http.client.IncompleteRead, http.client.NotConnected)
    ):
        return ColloquyError("BAD_RESPONSE", f"The answer is not HTTP: {error!r}")
    return ColloquyError("NETWORK", f"The connection to the server failed: {error}", was_sent=was_sent)


def _bad_response(request: Request, status: int, data: bytes) -> ColloquyError:
    begin = data[:100].decode(errors="replace")
    message = f"The answer to {request.method} {request.path} with status {status} is not of Colloquy's REST API"
    return ColloquyError("BAD_RESPONSE", f"{message}. It begins with {begin!r}.", status=status)


def _retry_after(response: http.client.HTTPResponse) -> float | None:
    text = response.headers.get("Retry-After", "").strip()
    return float(text) if text.isascii() and text.isdecimal() else None


def answer_of(request: Request, response: http.client.HTTPResponse, data: bytes) -> JsonObject:
    """Return the JSON of a successful answer. Raises ColloquyError for any other answer."""
    try:
        answer = cast(Json, json.loads(data))
    except ValueError:
        answer = None
    status = response.status
    if isinstance(answer, dict) and status in (200, 201):
        return answer
    if not isinstance(answer, dict) or not isinstance(answer.get("code"), str):
        error = _bad_response(request, status, data)
        error.retry_after = _retry_after(response)
        raise error
    details = {name: value for name, value in answer.items() if name not in _PROBLEM}
    raise ColloquyError(
        str(answer["code"]),
        str(answer.get("detail", answer.get("title", ""))),
        status=status,
        issues=cast("list[Issue]", answer.get("issues", [])),
        details=details,
        retry_after=_retry_after(response),
    )


#: Fields of a problem that the error has as its own attributes or message.
_PROBLEM = frozenset({"title", "status", "detail", "code", "issues"})
