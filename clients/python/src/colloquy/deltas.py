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


DELTAS = ("TurnDelta", "TurnPartDelta")


class MissingText(Exception):
    """Text before the delta is missing. Subscribing again delivers the text from its start."""


class _Text:
    """The delivered text of a turn or of a part of it."""

    def __init__(self) -> None:
        self.joined = ""
        #: Length in UTF-16 code units.
        self.length = 0
        self.is_complete = False


class Joiner:
    """The texts of the open turns and of their parts, by the ids of the turns."""

    def __init__(self) -> None:
        #: By number of the part; 0 is the text of the turn.
        self._texts: dict[str, dict[int, _Text]] = {}

    def join(self, event: Event) -> Event | None:
        """Return the event to deliver. None for a delta of which everything was delivered before.

        A delta gets `joined`, the text of its turn or part up to its end. Raises MissingText.
        """
        name = event["__typename"]
        if name in DELTAS:
            return self._join_delta(event)
        if name in ENDS:
            self._texts.pop(event["turn"]["id"], None)
        elif name == "Gap":
            self._texts.clear()
        return event

    def _join_delta(self, event: Event) -> Event | None:
        number = event.get("number", 0)
        parts = self._texts.setdefault(event["turnId"], {})
        known = parts.get(number)
        is_new = known is None and number > 0
        known = known or _Text()
        if event["start"] > known.length:
            raise MissingText
        text = without_utf16_prefix(event["text"], known.length - event["start"])
        is_complete = event.get("isComplete", False)
        if text == "" and not is_new and is_complete == known.is_complete:
            return None
        start = known.length
        known.joined += text
        known.length += utf16_length(text)
        known.is_complete = is_complete
        parts[number] = known
        return {**event, "start": start, "text": text, "joined": known.joined}
