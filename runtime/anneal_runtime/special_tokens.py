"""Special tokens under secret names. A tokenizer that knows `</s>` only by a secret name reads `</s>` in a text as
letters, so no text can end a message or forge another one. `Names.swapped` turns the spelling into the name where a
token is meant.
"""

from __future__ import annotations

import copy
import json
import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from anneal_runtime.tool_text import template_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Characters for private use. They have no case and no other form, so no normalizer changes them.
FIRST_PRIVATE, PRIVATE_COUNT = 0xE000, 6400
# Five of them are 63 random bits.
SECRET_LENGTH = 5


class Names:
    """The secret names of a tokenizer's special tokens, and of the other added tokens that its chat template spells
    out, by which some models mark who speaks. An assistant writes tokens of this second kind itself, such as `<think>`.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._definition: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
        added, template = self._definition["added_tokens"], template_of(tokenizer) or ""
        special = [token["content"] for token in added if token["special"]]
        spelled = [
            token["content"]
            for token in added
            if not token["special"] and token["content"].strip() and token["content"] in template
        ]
        secret = "".join(_private(secrets.randbelow(PRIVATE_COUNT)) for _ in range(SECRET_LENGTH))
        self._of: dict[str, str] = {token: secret + _number(index) for index, token in enumerate([*special, *spelled])}
        self._other: dict[str, str] = {**self._of, **{name: token for token, name in self._of.items()}}
        self._all, self._special, self._spelled = map(_pattern, (self._other, special, spelled))

    def swapped(self, text: str) -> str:
        """Spellings become names, and names spellings."""
        return self._all.sub(self._swap, text)

    def hidden(self, value: Any, *, of_assistant: bool = False) -> Any:
        """The JSON value of a user with names for spellings. A text in which it stands is `swapped` to be encoded."""
        pattern = self._special if of_assistant else self._all
        if isinstance(value, str):
            return pattern.sub(self._swap, value)
        if isinstance(value, dict):
            return {
                self.hidden(key, of_assistant=of_assistant): self.hidden(each, of_assistant=of_assistant)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.hidden(each, of_assistant=of_assistant) for each in value]
        return value

    def written(self, text: str) -> str:
        """A text of the assistant, whose own tokens act."""
        return self._spelled.sub(self._swap, text)

    def tokenizer(self, original: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
        """The original with names for its tokens. Their ids stay. Raises ValueError."""
        from tokenizers import Tokenizer

        renamed = copy.copy(original)
        backend = Tokenizer.from_str(json.dumps(self._renamed()))
        for token, name in self._of.items():
            if backend.token_to_id(name) != original.backend_tokenizer.token_to_id(token):
                raise ValueError(f"the token {token} has no fixed id")
        renamed._tokenizer = backend
        return renamed

    def _renamed(self) -> dict[str, Any]:
        model: dict[str, Any] = dict(self._definition["model"])
        vocabulary = model["vocab"]
        if isinstance(vocabulary, dict):
            model["vocab"] = {self._of.get(token, token): number for token, number in vocabulary.items()}
        else:
            model["vocab"] = [[self._of.get(token, token), score] for token, score in vocabulary]
        if "merges" in model:
            model["merges"] = [merge for merge in model["merges"] if not self._touches(merge)]
        if model.get("unk_token") in self._of:
            model["unk_token"] = self._of[model["unk_token"]]
        added = [
            {**token, "content": self._of.get(token["content"], token["content"])}
            for token in self._definition["added_tokens"]
        ]
        return {**self._definition, "model": model, "added_tokens": added}

    def _touches(self, merge: str | list[str]) -> bool:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        return left in self._of or right in self._of or left + right in self._of

    def _swap(self, found: re.Match[str]) -> str:
        return self._other[found.group()]


def _private(number: int) -> str:
    return chr(FIRST_PRIVATE + number)


def _number(index: int) -> str:
    return _private(index // PRIVATE_COUNT) + _private(index % PRIVATE_COUNT)


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Finds the longest of the words. It tries common beginnings once, so a hostile text costs no more than another."""
    tree: dict[str, Any] = {}
    for word in words:
        branch = tree
        for character in word:
            branch = branch.setdefault(character, {})
        branch[""] = {}
    # An empty tree finds nothing.
    return re.compile(_branches(tree) if tree else r"(?!)")


def _branches(tree: dict[str, Any]) -> str:
    parts = [re.escape(first) + _branches(rest) for first, rest in tree.items() if first]
    if not parts:
        return ""
    return f"(?:{'|'.join(parts)}){'?' if '' in tree else ''}" if len(parts) > 1 or "" in tree else parts[0]
