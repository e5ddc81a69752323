import pytest
import torch
from server.support.running import REPOSITORY
from transformers import AutoTokenizer

from anneal_runtime.server.decoding import grammar
from anneal_runtime.server.decoding.grammar import BadGrammar, Grammars, Source
from anneal_runtime.server.decoding.rows import GenerationRequest, Row, SamplingParams

PARAMS = SamplingParams(max_tokens=1, temperature=0.0, top_p=1.0, seed=None, stop=())


def regex(text: str) -> Source:
    return Source("regex", text)


def test_an_accounts_many_types_do_not_drive_out_the_few_of_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
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


def lark(text: str) -> Source:
    return Source("grammar", text)


@pytest.mark.parametrize("beginning", ["", '%llguidance {"no_forcing": false}\n', "\n%llguidance {}\n"])
def test_a_grammar_of_a_caller_forces_no_text_however_often_it_is_sent(beginning: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    text = "abcdefgh" * 128
    # All of it would be twenty gigabytes.
    matcher = grammars.compile(lark(f'{beginning}start: ("a" | "b") r{{20000000}}\nr: "{text}"\n')).deep_copy()
    assert matcher.consume_token(tokenizer.convert_tokens_to_ids("a"))
    assert matcher.compute_ff_tokens() == []


def test_a_grammar_of_the_service_forces_its_text() -> None:
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    matcher = grammars.compile(lark('%llguidance {}\nstart: "abcdefgh" ("a" | "b")\n'))
    assert tokenizer.decode(matcher.deep_copy().compute_ff_tokens()).startswith("abcd")


def test_a_grammar_as_json_is_refused() -> None:
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    with pytest.raises(BadGrammar, match="cannot be used"):
        grammars.compile(lark('{"grammars": [{"lark_grammar": "start: \\"a\\""}]}'))


def test_slow_masks_count_as_memory_of_their_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "SLOW_MASK_S", 0.0)
    monkeypatch.setattr(grammar, "CACHED_COMPILE_SECONDS", 100.0)
    tokenizer = AutoTokenizer.from_pretrained(REPOSITORY / "models/anneal-tiny")
    grammars = Grammars(tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    for name in ("grows", "other"):
        grammars.compile(regex(name), name)
    monkeypatch.setattr(grammar, "CACHED_COMPILE_SECONDS", 1e-9)
    matcher = grammars.find(regex("grows"))
    row = Row(GenerationRequest(None, matcher, lambda _answers: None), 0, [1], PARAMS, 1)
    row.matcher = matcher
    assert list(grammars.restrict(torch.zeros(1, len(tokenizer)), [row])) == [None]
    assert (grammars.find(regex("grows")), grammars.find(regex("other")) is not None) == (None, True)
