"""How text becomes tokens, alike in training, evaluation and serving. A text goes without a template, after the
tokenizer's own start token; a conversation goes by the model's own template, which brings what it needs.

A special token that a text spells, such as `</s>`, is letters. It acts in a `prompt`, where the chat template writes
it, and where the model's format of calls has it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from anneal_runtime import tool_text
from anneal_runtime.special_tokens import Names

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def prompt_tokens(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    """A prompt as vLLM reads it: with the tokenizer's start token, without the end token that some tokenizers add."""
    return _prompts(tokenizer, texts, adds_end=_adds_end(tokenizer))


def _prompts(tokenizer: PreTrainedTokenizerBase, texts: list[str], *, adds_end: bool) -> list[list[int]]:
    batch = cast(list[list[int]], tokenizer(texts)["input_ids"]) if texts else []
    return [ids[:-1] if adds_end and len(ids) > 1 else ids for ids in batch]


def _adds_end(tokenizer: PreTrainedTokenizerBase) -> bool:
    ids = cast(list[int], tokenizer("")["input_ids"])
    return bool(ids) and ids[-1] == tokenizer.eos_token_id


class ChatRefused(Exception):
    """The model has no chat template, or its template does not take this conversation."""


class TextEncoder:
    """`special_tokens` act in prompts. Raises ValueError for a tokenizer that has no tokenizer.json."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, special_tokens: bool = True) -> None:
        self.tokenizer = tokenizer
        self._acts = special_tokens
        self._names = Names(tokenizer)
        self._renamed = self._names.tokenizer(tokenizer)
        self._adds_end = _adds_end(tokenizer)

    def twin(self) -> TextEncoder:
        """For another thread: tokenizers are not safe to share."""
        twin = copy.copy(self)
        twin._renamed = copy.deepcopy(self._renamed)
        return twin

    def acting(self, special_tokens: bool) -> TextEncoder:
        """The same encoder, whose special tokens act in prompts or do not."""
        same = copy.copy(self)
        same._acts = special_tokens
        return same

    def prompt(self, text: str) -> str:
        """A text that its author may have written by a template, for `prompts`."""
        return self._names.swapped(text) if self._acts else text

    def spells(self, value: Any) -> bool:
        """Whether a text of the JSON value spells a special token."""
        return bool(self._names.hidden(value) != value)

    def prompts(self, texts: list[str]) -> list[list[int]]:
        return _prompts(self._renamed, texts, adds_end=self._adds_end)

    def windows(self, texts: list[str], size: int) -> list[list[list[int]]]:
        """Each text in pieces of at most `size` tokens, each with the tokenizer's start and end tokens around it."""
        windows: list[list[list[int]]] = [[] for _ in texts]
        batch = self._renamed(texts, truncation=True, max_length=size, return_overflowing_tokens=True)
        for index, ids in zip(batch["overflow_to_sample_mapping"], batch["input_ids"], strict=True):
            windows[index].append(cast(list[int], ids))
        return windows

    def whole(self, text: str) -> list[int]:
        """The text with the tokenizer's start and end tokens."""
        return cast(list[int], self._renamed(text)["input_ids"])

    def chats(
        self, conversations: list[list[tool_text.Message]], tools: list[list[dict[str, Any]]] | None = None
    ) -> list[list[int]]:
        """Each conversation up to where its next answer begins. Raises ChatRefused."""
        offered = tools or [[] for _ in conversations]
        return self.plain([self.chat_text(*each) for each in zip(conversations, offered, strict=True)])

    def chat_text(self, messages: list[tool_text.Message], tools: list[dict[str, Any]] | None = None) -> str:
        """The text for `plain`. `tools` are the functions that the model may call. Raises ChatRefused."""
        from jinja2 import TemplateError

        if not self.tokenizer.chat_template:
            raise ChatRefused("This model has no chat template, so it takes prompts only.")
        try:
            said, offered = tool_text.prepared(self.tokenizer, messages, tools or [])
            text = self.tokenizer.apply_chat_template(
                [self._for_template(message) for message in said],
                tools=self._names.hidden(offered),
                tokenize=False,
                add_generation_prompt=True,
            )
        except TemplateError as error:
            reason = self._names.swapped(str(error))
            raise ChatRefused(f"The model's chat template does not accept the messages: {reason}") from error
        return self._names.swapped(cast(str, text))

    def _for_template(self, message: tool_text.Message) -> tool_text.Message:
        """The template ends an answer itself."""
        if message["role"] != "assistant":
            return cast(tool_text.Message, self._names.hidden(message))
        answer = {**message, "content": self.unended(message["content"])}
        return cast(tool_text.Message, self._names.hidden(answer, of_assistant=True))

    def plain(self, texts: list[str]) -> list[list[int]]:
        """Without a start token."""
        return cast(list[list[int]], self._renamed(texts, add_special_tokens=False)["input_ids"]) if texts else []

    def call(self, message: tool_text.Message) -> str:
        """What the model writes for a message that calls functions, for `answers`."""
        form, _ = tool_text.call_format(self.tokenizer)
        parts = ("opening", "before", "after", "between", "closing")
        acting = {part: self._names.swapped(getattr(form, part)) for part in parts}
        return tool_text.said(replace(form, **acting), message)

    def answers(self, texts: list[str]) -> list[list[int]]:
        """Each ended by the end-of-text token where the tokenizer has one."""
        end = [] if self.tokenizer.eos_token_id is None else [cast(int, self.tokenizer.eos_token_id)]
        return [ids + end for ids in self.plain([self._names.written(self.unended(text)) for text in texts])]

    def unended(self, answer: str) -> str:
        """The answer without an end token that it spells."""
        return answer.removesuffix(cast(str, self.tokenizer.eos_token) or "")


def text_of(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> str:
    return cast(str, tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def parts_of_answer(
    tokenizer: PreTrainedTokenizerBase, ids: list[int], *, has_tools: bool
) -> tuple[str, list[tool_text.Message]]:
    """The text of an answer and the functions that it calls, if some were offered. Calls are no part of the text."""
    text = text_of(tokenizer, ids)
    if not has_tools:
        return text, []
    whole = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    spoken, calls = tool_text.read_calls(tokenizer, str(whole))
    return (spoken if calls else text), calls


def token_texts(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> list[str]:
    """The text of each token, to be read. A part of a character shows as U+FFFD."""
    texts = {each: tokenizer.decode([each], clean_up_tokenization_spaces=False) for each in set(ids)}
    pieces = cast(list[str], tokenizer.convert_ids_to_tokens(ids))
    # Some tokenizers decode the first word of a text without the space before it.
    return [
        f" {texts[each]}" if piece.startswith("\u2581") and texts[each][:1] != " " else texts[each]
        for each, piece in zip(ids, pieces, strict=True)
    ]
