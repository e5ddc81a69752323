"""How long the engine's passes take, and what that means for accounts that share it."""

from __future__ import annotations

# Prompt tokens, padding included, read between two decoding steps; one row may exceed it.
PREFILL_TOKENS = 4096
# Time for reading prompts between two decoding steps while several accounts have work.
SHARED_READ_S = 0.03
# A step is slow when it takes this many times as long as one of a few rows.
SLOW_STEP = 3


class Pace:
    """Averages in seconds, None before the first measurement."""

    def __init__(self) -> None:
        self.step_s: float | None = None
        self.few_rows_step_s: float | None = None
        # Reading one prompt token.
        self.read_s: float | None = None

    def count_step(self, seconds: float) -> None:
        self.step_s = average(self.step_s, seconds)

    def count_few_rows_step(self, seconds: float) -> None:
        self.few_rows_step_s = average(self.few_rows_step_s, seconds)

    def count_read(self, seconds: float, tokens: int) -> None:
        self.read_s = average(self.read_s, seconds / max(1, tokens))

    @property
    def is_slow(self) -> bool:
        one, few = self.step_s, self.few_rows_step_s
        return one is not None and few is not None and one > SLOW_STEP * few

    def most_tokens(self, is_shared: bool) -> int:
        """Prompt tokens that may be read at once."""
        if not is_shared or not self.read_s:
            return PREFILL_TOKENS
        return min(PREFILL_TOKENS, int(SHARED_READ_S / self.read_s))


def average(old: float | None, new: float) -> float:
    """Follows a change within some steps; one that is out of line moves it little."""
    return new if old is None else 0.8 * old + 0.2 * new
