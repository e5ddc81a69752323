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


def test_grammars_that_take_long_to_compile_leave_room_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "CACHED_COMPILE_SECONDS", 1e-9)
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    for at in range(3):
        grammars.compile(regex(f"(a{{100}}){{100}}{at}"), "one")
    assert [at for at in range(3) if grammars.find(regex(f"(a{{100}}){{100}}{at}"))] == [2]


def test_a_grammar_that_failed_is_compiled_again() -> None:
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    failed, other = grammars.compile(regex("failed")), grammars.compile(regex("other"))
    grammars.forget(failed)
    assert grammars.find(regex("failed")) is None
    assert grammars.find(regex("other")) is other
