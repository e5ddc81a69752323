"""Back-off with jitter: how pods wait for a dependency that is away."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

T = TypeVar("T")

DAY_S = 86_400.0
# Retry-After may be wrong, or a date by another clock.
LONGEST_RETRY_AFTER_S = 60.0


class Unavailable(Exception):
    """No usable answer (408, 429, 5xx, or none at all). Worth another try after `retry_after_s`, if named."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class RetryPolicy:
    first_delay_s: float = 0.2
    longest_delay_s: float = 10.0
    give_up_after_s: float = DAY_S


def call_with_retries(call: Callable[[], T], policy: RetryPolicy, on_wait: Callable[[str], None]) -> T:
    """Calls until it answers. Only Unavailable is tried again; the last one is raised when the time is over."""
    give_up_at = time.monotonic() + policy.give_up_after_s
    delay_s = policy.first_delay_s
    while True:
        try:
            return call()
        except Unavailable as error:
            wait_s = max(delay_s * random.uniform(0.5, 1.0), error.retry_after_s or 0.0)
            left_s = give_up_at - time.monotonic()
            if left_s <= 0:
                raise
            on_wait(f"{error}; trying again in {min(wait_s, left_s):.1f} s")
            time.sleep(min(wait_s, left_s))
            delay_s = min(delay_s * 2, policy.longest_delay_s)


def parse_retry_after(header: str | None) -> float | None:
    """Seconds to wait, from either form of the header; None when absent or unreadable."""
    if header is None:
        return None
    if header.strip().isdigit():
        return min(float(header), LONGEST_RETRY_AFTER_S)
    try:
        wait_s = parsedate_to_datetime(header).timestamp() - time.time()
        return min(max(wait_s, 0.0), LONGEST_RETRY_AFTER_S)
    except (ValueError, TypeError):
        return None
