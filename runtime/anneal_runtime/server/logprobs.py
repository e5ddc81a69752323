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
    text: str = "",
    *,
    start: int = 0,
    prompt: Sequence[Scored] = (),
    is_chat: bool = False,
) -> dict[str, Any] | None:
    """None if the request asks for none. `text` is that of the tokens; it begins at `start` of the choice's text."""
    if params.extras is None or params.extras.logprobs is None or engine.generator is None:
        return None
    grammars = engine.generator.grammars
    if is_chat:
        return _chat(grammars, scores)
    return _completion(grammars, [*prompt, *((score.token, score) for score in scores)], text, start)


def _completion(grammars: Grammars, scored: Sequence[Scored], text: str, start: int) -> dict[str, Any]:
    spellings = [grammars.spelling(token) for token, _ in scored]
    return {
        "text_offset": [start + offset for offset in text_offsets(spellings, text)],
        "token_logprobs": [score and score.logprob for _, score in scored],
        "tokens": [spelt.decode(errors="replace") for spelt in spellings],
        "top_logprobs": [score and _by_text(grammars, score) for _, score in scored],
    }


def text_offsets(spellings: Sequence[bytes], text: str) -> list[int]:
    """Where each token begins in the text, in characters. A token within a character begins where the character does.

    A token that is not in the text has no length, such as the start token or one that follows a stop text.
    """
    encoded = text.encode()
    at = characters = 0
    offsets = []
    for spelt in spellings:
        is_within = at < len(encoded) and _continues(encoded[at])
        offsets.append(characters - is_within)
        shown = _shown(spelt, encoded, at)
        characters += sum(not _continues(byte) for byte in encoded[at : at + shown])
        at += shown
    return offsets


REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def _shown(spelt: bytes, encoded: bytes, at: int) -> int:
    """How many bytes of the text the token stands for."""
    if encoded.startswith(spelt, at):
        return len(spelt)
    # Some tokenizers put a space before the first word of a prompt.
    if at == 0 and spelt[:1] == b" " and encoded.startswith(spelt[1:]):
        return len(spelt) - 1
    # The text may end within the token.
    if spelt.startswith(encoded[at:]):
        return len(encoded) - at
    # Bytes that are no character.
    return len(REPLACEMENT) if encoded.startswith(REPLACEMENT, at) else 0


def _continues(byte: int) -> bool:
    """Whether the byte goes on with a character of UTF-8."""
    return byte & 0xC0 == 0x80


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
