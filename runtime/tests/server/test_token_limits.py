import random
from collections.abc import Callable

import pytest
from server.support.running import REPOSITORY
from tokenizers import AddedToken
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from anneal_runtime.server.text_threads import PIECE_CHARACTERS, PIECE_TEXTS, pieces
from anneal_runtime.server.token_limits import CHARACTERS_PER_TOKEN, TokenLimit

LIMIT = 100
WORDS = [
    "a",
    "Hello,",
    "ﬁne",
    "e\u0301te\u0301",
    "日本語",
    "12345",
    "</s>",
    "\n",
    "\n\n",
    "\t",
    "",
    " ",
    "🎉👩‍🚀",
    "x" * 50,
    ").",
]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    return loaded


class Vocabulary:
    """Of one token."""

    def __init__(self, token: str, added: bool) -> None:
        self._token = token
        self.added_tokens_decoder = {0: AddedToken(token, normalized=False)} if added else {}

    def get_vocab(self) -> dict[str, int]:
        return {self._token: 0}


def counter(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], Callable[[str], int]]:
    counts: list[int] = []

    def count(text: str) -> int:
        counts.append(len(text))
        return len(tokenizer(text)["input_ids"])

    return counts, count


def test_the_tokens_of_a_part_are_the_first_of_the_text(tokenizer: PreTrainedTokenizerBase) -> None:
    limit, draw = TokenLimit(tokenizer, LIMIT), random.Random(7)
    found = 0
    for _ in range(300):
        text = " ".join(draw.choices(WORDS, k=200))
        part = limit.first_part(text, draw.randrange(1, len(text)))
        if part is not None:
            found += 1
            ids = tokenizer(part)["input_ids"]
            assert ids == tokenizer(text)["input_ids"][: len(ids)]
    assert found > 200


def test_a_far_too_long_text_is_read_in_part(tokenizer: PreTrainedTokenizerBase) -> None:
    counts, count = counter(tokenizer)
    part = TokenLimit(tokenizer, LIMIT).enough("The quick brown fox. " * 10_000, count)
    assert len(tokenizer(part)["input_ids"]) > LIMIT
    assert len(part) <= CHARACTERS_PER_TOKEN * LIMIT
    assert sum(counts) <= CHARACTERS_PER_TOKEN * LIMIT


@pytest.mark.parametrize("text", ["short", "x" * 5000, " " * 5000, "\n" * 5000, "a " + " " * 5000])
def test_a_text_that_may_fit_is_read_whole(tokenizer: PreTrainedTokenizerBase, text: str) -> None:
    counts, count = counter(tokenizer)
    assert TokenLimit(tokenizer, 3000).enough(text, count) == text
    assert sum(counts) <= 2 * len(text)


def test_a_vocabulary_with_tokens_across_words_allows_no_parts(tokenizer: PreTrainedTokenizerBase) -> None:
    text = "some words " * 1000
    for token, added, is_read_in_part in (
        ("ofĠthe", False, False),
        ("Ġthe", False, True),
        ("<begin▁of>", True, True),
        ("<begin of>", True, False),
    ):
        vocabulary = Vocabulary(token, added)
        counts, count = counter(tokenizer)
        part = TokenLimit(vocabulary, LIMIT).enough(text, count)  # type: ignore[arg-type]
        assert (part != text) == (counts != []) == is_read_in_part, token


def test_pieces_keep_the_order_and_a_size() -> None:
    texts = [str(at) for at in range(1000)] + ["x" * (PIECE_CHARACTERS + 1)] + ["y" * (PIECE_CHARACTERS // 2)] * 3
    found = pieces(texts)
    assert [text for piece in found for text in piece] == texts
    assert max(map(len, found)) == PIECE_TEXTS
    assert all(len(piece) == 1 or sum(map(len, piece)) <= PIECE_CHARACTERS for piece in found)
    assert pieces([]) == []
