"""The error of the package: the codes of the server, and those of failures that the client itself detects."""

from __future__ import annotations

from collections.abc import Sequence

from .types import Issue, JsonObject

#: Codes of failures after which the same call may succeed.
_TEMPORARY_CODES = frozenset(
    {
        "NETWORK",
        "TIMEOUT",
        "RATE_LIMITED",
        "SERVER_BUSY",
        "UNAVAILABLE",
        "READ_TIMEOUT",
        "QUERY_TIMEOUT",
        "BODY_TIMEOUT",
        "TOO_MANY_OPERATIONS",
        "INTERNAL_SERVER_ERROR",
    }
)
#: Statuses of answers of a proxy after which the same call may succeed.
_TEMPORARY_STATUSES = frozenset({429, 500, 502, 503, 504})


class ColloquyError(Exception):
    """A failed call.

    `code` is a code of the server (`NOT_FOUND`, `CONFLICT`, ...) or of the client: `NETWORK` for a lost connection,
    `TIMEOUT` for an answer that did not arrive in time, `BAD_URL` for an unusable address, and `BAD_RESPONSE` for an
    answer that is not of Colloquy's REST API, such as the page of a proxy.
    """

    #: Stable machine-readable code.
    code: str
    #: HTTP status of the answer. None if there is no answer.
    status: int | None
    #: All problems of the input, if `code` is `INVALID_INPUT`; otherwise empty.
    issues: Sequence[Issue]
    #: Other fields of the error, for example `required` of `BUDGET_TOO_SMALL`.
    details: JsonObject
    #: Time after which the server accepts the call again, s. None if unknown.
    retry_after: float | None
    #: Whether the server may have received the request.
    was_sent: bool

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        issues: Sequence[Issue] = (),
        details: JsonObject | None = None,
        retry_after: float | None = None,
        was_sent: bool = True,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.issues = issues
        self.details = details or {}
        self.retry_after = retry_after
        self.was_sent = was_sent

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code in _TEMPORARY_CODES or (
            self.code == "BAD_RESPONSE" and self.status in _TEMPORARY_STATUSES
        )
