"""Tokenizing beside the event loop. Accounts take turns, and short texts do not wait for long ones."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from anneal_runtime.server.account_turns import AccountThreads, Sharing
from anneal_runtime.server.token_limits import TokenLimit
from anneal_runtime.tokenization import chat_text, chat_text_tokens, prompt_tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from anneal_runtime.server.engine import Engine

# The most texts and characters of one turn, unless a single text has more.
PIECE_TEXTS = 256
PIECE_CHARACTERS = 32_768


class TextThreads:
    """A text is read in part if that part has more tokens than the limit: by default those of the model's context."""

    def __init__(self, engine: Engine, sharing: Sharing | None = None) -> None:
        self._engine = engine
        self._limit = TokenLimit(engine.tokenizer, engine.context_length)
        self._short = _Lane(engine.tokenizer, "short-text")
        self._long = _Lane(engine.tokenizer, "long-text", sharing)

    async def prompts(self, account: str, texts: list[str]) -> list[list[int]]:
        """Never an empty list: a text without tokens is its start (or end) token alone."""
        tokens: list[list[int]] = []
        for piece in pieces(texts):
            lane = self._lane(piece)
            tokens += await lane.turns.run(account, self._prompt_tokens, lane.tokenizer, piece)
        return tokens

    async def windows(self, account: str, texts: list[str], limit: int) -> list[list[list[int]]]:
        """Each text as windows that the model can read at once. A text that fits is one window."""
        windows: list[list[list[int]]] = []
        for piece in pieces(texts):
            lane = self._lane(piece)
            windows += await lane.turns.run(account, self._windows, lane.tokenizer, piece, limit)
        return windows

    async def chat(self, account: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[int]:
        """Raises ChatRefused."""
        lane = self._lane([message["content"] for message in messages])
        return await lane.turns.run(account, self._chat_tokens, lane.tokenizer, messages, tools)

    def _lane(self, texts: list[str]) -> _Lane:
        return self._short if sum(map(len, texts)) <= PIECE_CHARACTERS else self._long

    def _prompt_tokens(
        self, tokenizer: PreTrainedTokenizerBase, texts: list[str], limit: int | None = None
    ) -> list[list[int]]:
        start = tokenizer.bos_token_id
        alone = [tokenizer.eos_token_id if start is None else start]
        # Tokenizing takes most of the time, so nothing is tokenized twice.
        read: dict[str, list[int]] = {}

        def count(part: str) -> int:
            (read[part],) = prompt_tokens(tokenizer, [part])
            return len(read[part])

        enough = [self._limit.enough(text, count, limit) for text in texts]
        whole = [text for text in enough if text not in read]
        read.update(zip(whole, prompt_tokens(tokenizer, whole), strict=True))
        return [read[text] or alone for text in enough]

    def _windows(self, tokenizer: PreTrainedTokenizerBase, texts: list[str], limit: int) -> list[list[list[int]]]:
        size = self._engine.context_length
        if self._engine.generator is not None:
            tokens = self._prompt_tokens(tokenizer, texts, limit)
            return [[ids[at : at + size] for at in range(0, len(ids), size)] for ids in tokens]
        enough = [self._limit.enough(text, lambda part: len(tokenizer(part)["input_ids"]), limit) for text in texts]
        windows: list[list[list[int]]] = [[] for _ in texts]
        # The tokenizer puts its start and end tokens around every window.
        batch = tokenizer(enough, truncation=True, max_length=size, return_overflowing_tokens=True)
        for index, ids in zip(batch["overflow_to_sample_mapping"], batch["input_ids"], strict=True):
            windows[index].append(cast(list[int], ids))
        return windows

    def _chat_tokens(
        self, tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> list[int]:
        text = chat_text(tokenizer, messages, tools)
        enough = self._limit.enough(text, lambda part: len(chat_text_tokens(tokenizer, [part])[0]))
        return chat_text_tokens(tokenizer, [enough])[0]


class _Lane:
    """One thread with a tokenizer of its own: tokenizers are not safe to share."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, name: str, sharing: Sharing | None = None) -> None:
        self.tokenizer = copy.deepcopy(tokenizer)
        self.turns = AccountThreads(name, sharing=sharing)


def pieces(texts: list[str]) -> list[list[str]]:
    """The texts in order, in pieces of a turn's size."""
    found: list[list[str]] = []
    characters = 0
    for text in texts:
        characters += len(text)
        if not found or len(found[-1]) == PIECE_TEXTS or characters > PIECE_CHARACTERS:
            found.append([])
            characters = len(text)
        found[-1].append(text)
    return found
