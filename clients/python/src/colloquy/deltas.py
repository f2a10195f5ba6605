"""Joins the deltas of open turns, so that no text of a turn is delivered twice. Pure.

Offsets of the API count UTF-16 code units; a Python string has one character for each code point.
"""

from .types import Event


def utf16_length(text: str) -> int:
    """Return the length of the text, in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def without_utf16_prefix(text: str, units: int) -> str:
    """Return the text after its first `units` UTF-16 code units."""
    return text.encode("utf-16-le", "surrogatepass")[2 * units :].decode("utf-16-le", "surrogatepass")


#: Types of the events that end an open turn.
ENDS = ("TurnCommitted", "TurnAborted", "TurnErased")


class MissingText(Exception):
    """Text before the delta is missing. Subscribing again delivers the text from its start."""


class Joiner:
    """The texts of the open turns, by the ids of the turns."""

    def __init__(self) -> None:
        #: Text that was delivered, and its length in UTF-16 code units.
        self._texts: dict[str, tuple[str, int]] = {}

    def join(self, event: Event) -> Event | None:
        """Return the event to deliver. None for a delta whose whole text was delivered before.

        A delta gets `joined`, the text of its turn up to its end. Raises MissingText.
        """
        name = event["__typename"]
        if name == "TurnDelta":
            return self._join_delta(event)
        if name in ENDS:
            self._texts.pop(event["turn"]["id"], None)
        elif name == "Gap":
            self._texts.clear()
        return event

    def _join_delta(self, event: Event) -> Event | None:
        known, length = self._texts.get(event["turnId"], ("", 0))
        if event["start"] > length:
            raise MissingText
        text = without_utf16_prefix(event["text"], length - event["start"])
        if text == "":
            return None
        self._texts[event["turnId"]] = (known + text, length + utf16_length(text))
        return {**event, "start": length, "text": text, "joined": known + text}
