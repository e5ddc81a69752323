import json
from pathlib import Path

import pytest
from support.trainer_process import TINY

from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.rows import EncodedRows, encode_rows

TOKENIZER = load_tokenizer(TINY)
START, END = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id


def encode(tmp_path: Path, rows: list[tuple[str, str]], max_length: int = 100, **options: set[int]) -> EncodedRows:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"input": a, "output": b}) + "\n" for a, b in rows))
    return encode_rows(path, TOKENIZER, max_length, **options)


def text(ids: list[int]) -> str:
    return TOKENIZER.decode(ids)


def test_only_the_completion_is_learned_and_it_ends(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("Question: who?\nAnswer: ", "Zoë, 12.")])
    ids, first = rows.tokens(0).tolist(), rows.first_target(0)
    assert ids[0] == START and text(ids[1:first]) == "Question: who?\nAnswer: "
    assert text(ids[first:-1]) == "Zoë, 12." and ids[-1] == END


def test_a_plain_text_is_learned_from_its_first_word(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("", "Some text.")])
    ids = rows.tokens(0).tolist()
    assert rows.first_target(0) == 1 and ids[0] == START and ids[-1] == END and text(ids[1:-1]) == "Some text."


def test_a_long_prompt_keeps_its_end_and_the_whole_answer(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("far " * 100 + "near: ", "yes")], max_length=30)
    ids, first = rows.tokens(0).tolist(), rows.first_target(0)
    assert len(ids) == 30 and ids[0] == START and rows.cut_count == 1
    assert text(ids[1:first]).endswith("far near: ") and text(ids[first:-1]) == "yes"


def test_a_long_answer_keeps_its_start_and_half_of_the_prompt(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("far " * 100 + "near: ", "one " + "two " * 100)], max_length=30)
    ids, first = rows.tokens(0).tolist(), rows.first_target(0)
    assert len(ids) == 30 and first == 15 and text(ids[first:]).startswith("one two")


def test_rows_that_the_run_never_visits_are_not_encoded(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("a", "b")] * 5, visited={1, 3})
    assert [rows.length(index) > 0 for index in range(5)] == [False, True, False, True, False]


def test_nothing_to_learn_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        encode(tmp_path, [])


def test_a_conversation_is_learned_after_the_models_own_template(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "who?"}]
    path = tmp_path / "rows.jsonl"
    chat = {"input": "system: Be brief.\nuser: who?", "output": "Zoë.", "messages": messages}
    path.write_text(json.dumps(chat) + "\n" + json.dumps({"input": "a: ", "output": "b"}) + "\n")
    rows = encode_rows(path, TOKENIZER, 100)
    ids, first = rows.tokens(0).tolist(), rows.first_target(0)
    assert ids[:2].count(START) == 1 and text(ids[1:first]) == "Be brief.\nQuestion: who?\nAnswer: "
    assert text(ids[first:-1]) == "Zoë." and ids[-1] == END
    assert text(rows.tokens(1).tolist()[1 : rows.first_target(1)]) == "a: "


def test_conversations_for_a_model_without_a_template_are_a_data_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TOKENIZER, "chat_template", None)
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input": "u", "output": "a", "messages": [{"role": "user", "content": "u"}]}))
    with pytest.raises(DataError, match="no chat template"):
        encode_rows(path, TOKENIZER, 100)
