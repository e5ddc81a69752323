"""How long the engine's passes take, and what that means for accounts that share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Prompt tokens, padding included, read between two decoding steps; one row may exceed it.
PREFILL_TOKENS = 4096
# Time for reading prompts between two decoding steps while several accounts have work. Each read costs a pass, so reads
# of half as long cost a large request 5 % of its speed. With short prompts they answer others no sooner: as much is
# read between the others' steps in all.
SHARED_READ_S = 0.06
# A read of at least so many tokens tells the time of one token.
TELLING_READ = 256
# A step has at most so many columns meanwhile, and fewer columns if it would have more tokens than this. Forced tokens
# come in runs, and a step of many tokens takes as long as several small steps.
SHARED_COLUMNS = 4
SHARED_TOKENS = 64
# The grammars of typed rows hold a step for so long meanwhile; then others have their turn, and the step goes on.
SHARED_GRAMMAR_S = 0.02
# An engine counts as shared for this time after it had work of several accounts. An account that asks one prompt
# after another has no work here between two of them.
SHARED_FOR_S = 1.0
# The light lane gets this many times as much time as the main lane.
LIGHT_SHARE = 2
# While no row runs no deficit falls: without this limit, an account that was alone for an hour would wait for an hour.
MOST_DEFICIT_S = 1.0
# The main lane is congested for a row that waits for its next token this many times as long as in a light step.
CONGESTED = 2.0


class Pace:
    """Averages in seconds, None before the first measurement."""

    def __init__(self) -> None:
        # A step, and a step divided by the tokens that a row had in it.
        self.step_s: float | None = None
        self.token_s: float | None = None
        # The same for light steps: those of no more rows than a light account has.
        self.light_step_s: float | None = None
        self.light_token_s: float | None = None
        # Reading one prompt token.
        self.read_s: float | None = None
        self._is_shared, self._shared_at = False, -SHARED_FOR_S
        # The seconds so far of a step that is not done.
        self._part_s = 0.0

    def count_step(self, seconds: float, tokens: float) -> None:
        """@param tokens: of each row, on average"""
        self._part_s = 0.0
        self.step_s = average(self.step_s, seconds)
        self.token_s = average(self.token_s, seconds / tokens)

    def count_part(self, seconds: float) -> None:
        """A step that grammars hold has taken so long and goes on. So congestion is noticed before the step ends."""
        self._part_s = seconds

    def count_light_step(self, seconds: float, tokens: float) -> None:
        self.light_step_s = unhindered(self.light_step_s, seconds)
        self.light_token_s = unhindered(self.light_token_s, seconds / tokens)

    def count_accounts(self, count: int, now: float) -> None:
        if count > 1:
            self._shared_at = now
        self._is_shared = now - self._shared_at < SHARED_FOR_S

    def count_read(self, seconds: float, tokens: int) -> None:
        # A read takes as long as a light step, whatever its length, and longer for each token.
        for_tokens = max(0.0, seconds - (self.light_step_s or 0.0))
        # So a short read says little about a token.
        self.read_s = average(self.read_s, for_tokens / max(1, tokens), 0.2 * min(1.0, tokens / TELLING_READ))

    def is_congested(self, *, is_typed: bool) -> bool:
        """The forced tokens of a typed answer come in runs, of which a step of many rows takes only a few tokens."""
        main, light = (self.token_s, self.light_token_s) if is_typed else (self.step_s, self.light_step_s)
        return main is not None and light is not None and max(main, self._part_s) > CONGESTED * light

    def most_columns(self, rows: int) -> int | None:
        """Of one step of so many rows; None is no limit."""
        return max(1, min(SHARED_COLUMNS, SHARED_TOKENS // rows)) if self._is_shared else None

    @property
    def most_grammar_s(self) -> float | None:
        """For the grammars of one step, at a time; None is no limit."""
        return SHARED_GRAMMAR_S if self._is_shared else None

    @property
    def most_tokens(self) -> int:
        """Prompt tokens that may be read at once."""
        if not self._is_shared or not self.read_s:
            return PREFILL_TOKENS
        return min(PREFILL_TOKENS, int(SHARED_READ_S / self.read_s))


class Deficits:
    """The seconds for which an account's prompts that need one token only made the rows of others stand still.

    An account with a deficit has no prompts read until the rows of others were decoded for as long. So such prompts,
    which take no place in a lane, take at most half of the time from rows that run. As in deficit round robin, the
    account with the smallest deficit comes next.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def charge(self, accounts: Iterable[str], seconds: float) -> None:
        for account in accounts:
            self._seconds[account] = min(MOST_DEFICIT_S, self.of(account) + seconds)

    def of(self, account: str) -> float:
        return self._seconds.get(account, 0.0)

    def reduce(self, seconds: float) -> None:
        self._seconds = {account: each - seconds for account, each in self._seconds.items() if each > seconds}

    def must_wait(self, account: str, rows_of: Mapping[str, int]) -> bool:
        """@param rows_of the running rows of each account"""
        return account in self._seconds and any(count > 0 for other, count in rows_of.items() if other != account)


def unhindered(old: float | None, new: float) -> float:
    """Moves little for a greater value: a few long light steps may be those of an account that grows heavy."""
    return average(old, new, 0.02 if old is not None and new > old else 0.2)


def average(old: float | None, new: float, weight: float = 0.2) -> float:
    """Follows a change within some steps; one that is out of line moves it little."""
    return new if old is None else (1 - weight) * old + weight * new
