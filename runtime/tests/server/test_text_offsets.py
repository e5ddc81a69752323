"""Where the tokens of an answer begin in its text, as OpenAI counts: in characters of the text, and of nothing else."""

import pytest

from anneal_runtime.server.logprobs import text_offsets


@pytest.mark.parametrize(
    ("spellings", "text", "offsets"),
    [
        ([b"The", b" cat", b"</s>"], "The cat", [0, 3, 7]),
        # The start token is not in the text.
        ([b"<s>", b"Who", b"?"], "Who?", [0, 0, 3]),
        # Nor is the space that some tokenizers put before a prompt.
        ([b"<s>", b" Who", b"?"], "Who?", [0, 0, 3]),
        ([b" Who", b"?"], " Who?", [0, 4]),
        # Characters count, not bytes; a token within a character begins where it does.
        (["é".encode(), b"a", "😀".encode(), b"b"], "éa😀b", [0, 1, 2, 3]),
        (["😀".encode()[:2], "😀".encode()[2:], b"b"], "😀b", [0, 0, 1]),
        ([b"a", "é".encode()[:1], "é".encode()[1:] + b"!", b"?"], "aé!?", [0, 1, 1, 3]),
        # Bytes that are no character are shown as one.
        ([b"a", b"\xff", b"b"], "a\N{REPLACEMENT CHARACTER}b", [0, 1, 2]),
        # A stop text ends the text, also within a token.
        ([b"a", b" stop", b" b"], "a", [0, 1, 1]),
        ([b"a", b" cat.", b" b"], "a cat", [0, 1, 5]),
        ([b"a"], "", [0]),
        ([], "", []),
    ],
)
def test_offsets_count_characters_of_the_text(spellings: list[bytes], text: str, offsets: list[int]) -> None:
    assert text_offsets(spellings, text) == offsets
