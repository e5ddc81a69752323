"""Tokenizing beside the event loop. Accounts take turns, and short texts do not wait for long ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from anneal_runtime.server.account_turns import AccountThreads, Sharing
from anneal_runtime.server.token_limits import TokenLimit
from anneal_runtime.tokenization import TextEncoder

if TYPE_CHECKING:
    from anneal_runtime.row_preview import Preview
    from anneal_runtime.server.engine import Engine

# The most texts and characters of one turn, unless a single text has more.
PIECE_TEXTS = 256
PIECE_CHARACTERS = 32_768

Text = TypeVar("Text", bound=Sized)


@dataclass(frozen=True)
class TextPrompt:
    """Special tokens act in `text`, not in `before`."""

    text: str
    before: str = ""

    def __len__(self) -> int:
        return len(self.before) + len(self.text)


class TextThreads:
    """A text is read in part if that part has more tokens than the limit: by default those of the model's context."""

    def __init__(self, engine: Engine, sharing: Sharing | None = None) -> None:
        self._engine = engine
        self._limit = TokenLimit(engine.tokenizer, engine.context_length)
        encoder = TextEncoder(engine.tokenizer)
        self._short = _Lane(encoder, "short-text")
        self._long = _Lane(encoder.twin(), "long-text", sharing)

    async def prompts(self, account: str, prompts: list[TextPrompt]) -> list[list[int]]:
        """Never an empty list: a text without tokens is its start (or end) token alone."""
        tokens: list[list[int]] = []
        for piece in pieces(prompts):
            lane = self._lane(piece)
            tokens += await lane.turns.run(account, self._marked_tokens, lane.encoder, piece)
        return tokens

    async def windows(self, account: str, texts: list[str], limit: int) -> list[list[list[int]]]:
        """Each text as windows that the model can read at once. A text that fits is one window."""
        windows: list[list[list[int]]] = []
        for piece in pieces(texts):
            lane = self._lane(piece)
            windows += await lane.turns.run(account, self._windows, lane.encoder, piece, limit)
        return windows

    async def chat(self, account: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[int]:
        """Raises ChatRefused."""
        lane = self._lane(texts_in([messages, tools]))
        return await lane.turns.run(account, self._chat_tokens, lane.encoder, messages, tools)

    async def previews(self, account: str, preview: Preview, rows: list[str]) -> list[dict[str, Any]]:
        """The rows as a training would learn them."""
        lane = self._long
        return [
            each for piece in pieces(rows) for each in await lane.turns.run(account, preview.of, lane.encoder, piece)
        ]

    def _lane(self, texts: Iterable[Sized]) -> _Lane:
        is_long = any(characters > PIECE_CHARACTERS for characters in accumulate(map(len, texts)))
        return self._long if is_long else self._short

    def _marked_tokens(self, encoder: TextEncoder, prompts: list[TextPrompt]) -> list[list[int]]:
        return self._prompt_tokens(encoder, [prompt.before + encoder.prompt(prompt.text) for prompt in prompts])

    def _prompt_tokens(self, encoder: TextEncoder, texts: list[str], limit: int | None = None) -> list[list[int]]:
        start, end = encoder.tokenizer.bos_token_id, encoder.tokenizer.eos_token_id
        alone = [end if start is None else start]
        # Tokenizing takes most of the time, so nothing is tokenized twice.
        read: dict[str, list[int]] = {}

        def count(part: str) -> int:
            (read[part],) = encoder.prompts([part])
            return len(read[part])

        enough = [self._limit.enough(text, count, limit) for text in texts]
        whole = [text for text in enough if text not in read]
        read.update(zip(whole, encoder.prompts(whole), strict=True))
        return [read[text] or alone for text in enough]

    def _windows(self, encoder: TextEncoder, texts: list[str], limit: int) -> list[list[list[int]]]:
        size = self._engine.context_length
        if self._engine.generator is not None:
            tokens = self._prompt_tokens(encoder, texts, limit)
            return [[ids[at : at + size] for at in range(0, len(ids), size)] for ids in tokens]
        enough = [self._limit.enough(text, lambda part: len(encoder.whole(part)), limit) for text in texts]
        return encoder.windows(enough, size)

    def _chat_tokens(
        self, encoder: TextEncoder, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> list[int]:
        text = encoder.chat_text(messages, tools)
        enough = self._limit.enough(text, lambda part: len(encoder.plain([part])[0]))
        return encoder.plain([enough])[0]


class _Lane:
    """One thread with an encoder of its own."""

    def __init__(self, encoder: TextEncoder, name: str, sharing: Sharing | None = None) -> None:
        self.encoder = encoder
        self.turns = AccountThreads(name, sharing=sharing)


def pieces(texts: list[Text]) -> list[list[Text]]:
    """The texts in order, in pieces of a turn's size."""
    found: list[list[Text]] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if not found or len(found[-1]) == PIECE_TEXTS or characters > PIECE_CHARACTERS:
            found.append([])
            characters = len(text)
        found[-1].append(text)
    return found


def texts_in(value: Any) -> Iterator[str]:
    """All texts of a JSON value: a template may write any of them, such as the schemas of functions."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            left += each
        else:
            yield each if isinstance(each, str) else str(each)
