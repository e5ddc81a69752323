"""What a row may ask beyond temperature, top_p and stop: penalties, biases, filters and log-probabilities.

Most rows ask for none of these. The sidecar of a vLLM reads them too, so nothing here needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Extras:
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    # 0: all tokens.
    top_k: int = 0
    min_p: float = 0.0
    # How many of the likeliest tokens are named beside the chosen one; None asks for no log-probabilities.
    logprobs: int | None = None
    # The prompt's own tokens get log-probabilities, too, if `logprobs` asks for any.
    echo: bool = False
    # A stop sequence stays in the text.
    include_stop: bool = False
    # Log-probabilities are those of the distribution at the row's temperature, from which its tokens are drawn.
    at_temperature: bool = False
    # Log-probabilities are those after penalties and grammars.
    restricted: bool = False

    @property
    def scores_prompt(self) -> bool:
        return self.echo and self.logprobs is not None

    @property
    def changes_logits(self) -> bool:
        penalties = self.presence_penalty or self.frequency_penalty or self.repetition_penalty != 1
        return bool(penalties or self.logit_bias)


@dataclass(frozen=True)
class Score:
    """A token with its log-probability, and the likeliest tokens, best first: before penalties, grammars and the
    temperature, unless the row asks for what they leave.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]
