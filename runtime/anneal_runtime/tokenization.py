"""How text becomes tokens, alike in training, evaluation and serving. A text goes without a template, after the
tokenizer's own start token; a conversation goes by the model's own template, which brings what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from anneal_runtime import tool_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def prompt_tokens(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    """A prompt as vLLM reads it: with the tokenizer's special tokens, but never ended by an end-of-text token."""
    batch = cast(list[list[int]], tokenizer(texts, add_special_tokens=True)["input_ids"]) if texts else []
    end = tokenizer.eos_token_id
    return [ids[:-1] if len(ids) > 1 and ids[-1] == end else ids for ids in batch]


class ChatRefused(Exception):
    """The model has no chat template, or its template does not take this conversation."""


def chat_tokens(
    tokenizer: PreTrainedTokenizerBase,
    conversations: list[list[tool_text.Message]],
    tools: list[list[dict[str, Any]]] | None = None,
) -> list[list[int]]:
    """Each conversation up to where its next answer begins. Raises ChatRefused."""
    offered = tools or [[] for _ in conversations]
    texts = [chat_text(tokenizer, *each) for each in zip(conversations, offered, strict=True)]
    return chat_text_tokens(tokenizer, texts)


def chat_text(
    tokenizer: PreTrainedTokenizerBase, messages: list[tool_text.Message], tools: list[dict[str, Any]] | None = None
) -> str:
    """`tools` are the functions that the model may call. Raises ChatRefused."""
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise ChatRefused("This model has no chat template, so it takes prompts only.")
    try:
        said, offered = tool_text.prepared(tokenizer, messages, tools or [])
        text = tokenizer.apply_chat_template(said, tools=offered, tokenize=False, add_generation_prompt=True)
        return cast(str, text)
    except TemplateError as error:
        raise ChatRefused(f"The model's chat template does not accept the messages: {error}") from error


def chat_text_tokens(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    """The template has brought the special tokens."""
    return cast(list[list[int]], tokenizer(texts, add_special_tokens=False)["input_ids"]) if texts else []


def completion_tokens(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    """Answers, each ended by the end-of-text token where the tokenizer has one."""
    batch = cast(list[list[int]], tokenizer(texts, add_special_tokens=False)["input_ids"]) if texts else []
    end = [] if tokenizer.eos_token_id is None else [cast(int, tokenizer.eos_token_id)]
    return [ids + end for ids in batch]


def text_of(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> str:
    return cast(str, tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))
