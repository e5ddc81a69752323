"""Log-probabilities as OpenAI writes them: lists beside each other for completions, a list of objects for a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anneal_runtime.server.decoding.extras import Score

if TYPE_CHECKING:
    from anneal_runtime.server.decoding.grammar import Grammars
    from anneal_runtime.server.decoding.rows import SamplingParams
    from anneal_runtime.server.engine import Engine

# A token with its score; the first token of a prompt has none.
Scored = tuple[int, Score | None]


def logprobs_of(
    engine: Engine,
    params: SamplingParams,
    scores: list[Score],
    start: int,
    *,
    prompt: Sequence[Scored] = (),
    is_chat: bool = False,
) -> dict[str, Any] | None:
    """None if the request asks for none. `start` is the offset of the first token in the choice's text."""
    if params.extras is None or params.extras.logprobs is None or engine.generator is None:
        return None
    grammars = engine.generator.grammars
    if is_chat:
        return _chat(grammars, scores)
    return _completion(grammars, [*prompt, *((score.token, score) for score in scores)], start)


def _completion(grammars: Grammars, scored: Sequence[Scored], start: int) -> dict[str, Any]:
    texts, offsets = [], []
    for token, _ in scored:
        texts.append(_text(grammars, token))
        offsets.append(start)
        start += len(texts[-1])
    return {
        "text_offset": offsets,
        "token_logprobs": [score and score.logprob for _, score in scored],
        "tokens": texts,
        "top_logprobs": [score and _by_text(grammars, score) for _, score in scored],
    }


def _chat(grammars: Grammars, scores: Sequence[Score]) -> dict[str, Any]:
    def entry(token: int, logprob: float) -> dict[str, Any]:
        return {"token": _text(grammars, token), "logprob": logprob, "bytes": list(grammars.spelling(token))}

    content = [
        {**entry(score.token, score.logprob), "top_logprobs": [entry(*each) for each in score.top]} for score in scores
    ]
    return {"content": content, "refusal": None}


def _by_text(grammars: Grammars, score: Score) -> dict[str, float]:
    """The likeliest tokens and the chosen one. Of several tokens with one text the likeliest counts."""
    best: dict[str, float] = {}
    for token, logprob in [*score.top, (score.token, score.logprob)]:
        best.setdefault(_text(grammars, token), logprob)
    return best


def _text(grammars: Grammars, token: int) -> str:
    return grammars.spelling(token).decode(errors="replace")
