"""Reads the messages of an event stream (Server-Sent Events)."""

import http.client
from collections.abc import Generator
from dataclasses import dataclass

from .errors import ColloquyError


@dataclass(frozen=True)
class Message:
    """One message of an event stream. `event` is empty for the default type."""

    event: str
    data: str


def messages_of(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse
) -> Generator[Message | None, None, None]:
    """Iterate over the messages as their bytes arrive; None is a comment. Closes the connection at the end.

    Raises ColloquyError (NETWORK) when the stream ends or the server sends nothing for the timeout of the connection.
    """
    try:
        lines: list[str] = []
        while True:
            line = _line_of(response)
            if line == "":
                yield _message_of(lines)
                lines = []
            else:
                lines.append(line)
    finally:
        response.close()
        connection.close()


def _line_of(response: http.client.HTTPResponse) -> str:
    try:
        line = response.readline()
    except (OSError, http.client.HTTPException) as error:
        raise ColloquyError("NETWORK", f"The event stream was lost: {error}") from error
    if not line.endswith(b"\n"):
        raise ColloquyError("NETWORK", "The event stream ended without its last event.")
    return line.decode().rstrip("\r\n")


def _message_of(lines: list[str]) -> Message | None:
    fields = [line.partition(":") for line in lines if not line.startswith(":")]
    if not fields:
        return None

    def value_of(name: str) -> str:
        return "\n".join(value.removeprefix(" ") for each, _, value in fields if each == name)

    return Message(value_of("event"), value_of("data"))
