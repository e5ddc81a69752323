"""How much of a text must be read to know that it has too many tokens: a part of it, if it is far too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Characters of the part that is read first, for each token of the limit: twice what usual text needs.
CHARACTERS_PER_TOKEN = 8
# A space as vocabularies spell it, and the other white space of byte-level ones.
SPACES = " Ġ▁"
WHITE = SPACES + "ĊĉčċČ"


class TokenLimit:
    def __init__(self, tokenizer: PreTrainedTokenizerBase, limit: int) -> None:
        self._limit = limit
        # These are found in the text as it is, where only a space is one.
        literal = {str(token) for token in tokenizer.added_tokens_decoder.values() if not token.normalized}
        crossing = (_crosses(token, " " if token in literal else SPACES) for token in tokenizer.get_vocab())
        self._breaks_at_spaces = not any(crossing)

    def enough(self, text: str, count: Callable[[str], int], limit: int | None = None) -> str:
        """The text, or a first part of it that has more tokens than the limit. `count` gives a text's tokens."""
        limit = self._limit if limit is None else limit
        size = CHARACTERS_PER_TOKEN * limit
        while size < len(text):
            part = self.first_part(text, size)
            if part is not None and count(part) > limit:
                return part
            size *= 2
        return text

    def first_part(self, text: str, size: int) -> str | None:
        """Ends before `size`, after a word and before a space. No token holds both, so the tokens of the part are the
        first ones of the text. None if there is no such place.
        """
        end = text.rfind(" ", 1, size) if self._breaks_at_spaces else -1
        while end > 0 and text[end - 1].isspace():
            word_end = len(text[:end].rstrip())
            end = word_end if text[word_end] == " " else text.rfind(" ", 1, word_end)
        return text[:end] if end > 0 else None


def _crosses(token: str, spaces: str) -> bool:
    return any(token[at] in spaces and token[at - 1] not in WHITE for at in range(1, len(token)))
