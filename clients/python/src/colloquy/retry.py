"""Repeats a call after temporary failures, with exponential backoff and jitter."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from .errors import ColloquyError

T = TypeVar("T")

#: First and longest wait between two attempts, s.
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0


def wait_before_retry(attempt: int, retry_after: float | None = None) -> float:
    """Return the wait before the retry with the number `attempt`, counted from 0, in s.

    The wait doubles with each retry, and is randomly shortened by up to half. `retry_after` is the shortest wait.
    """
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 16)) * random.uniform(0.5, 1)
    return max(wait, retry_after or 0)


def retry(attempt: Callable[[], T], *, is_repeatable: bool, retry_for: float) -> T:
    """Call `attempt` until it succeeds, for at most `retry_for` seconds.

    A call that is not repeatable is repeated only if the server cannot have received it. Raises the ColloquyError of
    the last attempt.
    """
    end = time.monotonic() + retry_for
    number = 0
    while True:
        try:
            return attempt()
        except ColloquyError as error:
            wait = wait_before_retry(number, error.retry_after)
            is_allowed = is_repeatable or not error.was_sent
            if not (error.is_temporary and is_allowed) or time.monotonic() + wait > end:
                raise
        number += 1
        time.sleep(wait)
