import pytest
from server.support.running import REPOSITORY
from transformers import AutoTokenizer

from anneal_runtime.server.decoding import grammar
from anneal_runtime.server.decoding.grammar import Grammars, Source


def regex(text: str) -> Source:
    return Source("regex", text)


def test_an_accounts_many_types_do_not_drive_out_another_ones_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "CACHED_GRAMMARS", 4)
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    grammars.compile(regex("mine"), "few")
    for at in range(10):
        grammars.compile(regex(f"theirs {at}"), "many")
    assert grammars.find(regex("mine")) is not None
    assert [at for at in range(10) if grammars.find(regex(f"theirs {at}"))] == [7, 8, 9]
    grammars.compile(regex("mine, too"), "few")
    assert grammars.find(regex("mine")) is not None
    assert grammars.find(regex("theirs 7")) is None
