import json
from pathlib import Path

import pytest
from support.trainer_process import TINY

from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.row_sequences import NOT_LEARNED
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.rows import EncodedRows, encode_rows

TOKENIZER = load_tokenizer(TINY)
ENCODER = TextEncoder(TOKENIZER)
START, END = TOKENIZER.bos_token_id, TOKENIZER.eos_token_id


def encode(tmp_path: Path, rows: list[tuple[str, str]], max_length: int = 100, **options: set[int]) -> EncodedRows:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"input": a, "output": b}) + "\n" for a, b in rows))
    return encode_rows(path, ENCODER, max_length, **options)


def text(ids: list[int]) -> str:
    return TOKENIZER.decode(ids)


def parts(rows: EncodedRows, sequence: int = 0) -> tuple[list[int], list[int]]:
    """The tokens before the first learned one, and the learned ones."""
    labels = rows.labels(sequence)
    learned = labels != NOT_LEARNED
    first = int(learned.nonzero()[0]) + 1
    return rows.tokens(sequence)[:first].tolist(), labels[learned].tolist()


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_only_the_completion_is_learned_and_it_ends(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("Question: who?\nAnswer: ", "Zoë, 12.")])
    before, learned = parts(rows)
    assert before[0] == START and text(before[1:]) == "Question: who?\nAnswer: "
    assert text(learned[:-1]) == "Zoë, 12." and learned[-1] == END
    assert rows.tokens(0).tolist() == before + learned


def test_a_plain_text_is_learned_from_its_first_word(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("", "Some text.")])
    before, learned = parts(rows)
    assert before == [START] and learned[-1] == END and text(learned[:-1]) == "Some text."


def test_a_long_prompt_keeps_its_end_and_the_whole_answer(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("far " * 100 + "near: ", "yes")], max_length=30)
    before, learned = parts(rows)
    assert len(before + learned) == 30 and before[0] == START and rows.cut_count == 1
    assert text(before[1:]).endswith("far near: ") and text(learned[:-1]) == "yes"


def test_a_long_answer_keeps_its_start_and_half_of_the_prompt(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("far " * 100 + "near: ", "one " + "two " * 100)], max_length=30)
    before, learned = parts(rows)
    assert len(before + learned) == 30 and len(before) == 15 and text(learned).startswith("one two")


def test_rows_that_the_run_never_visits_are_not_encoded(tmp_path: Path) -> None:
    rows = encode(tmp_path, [("a", "b")] * 5, visited={1, 3})
    assert [len(rows.sequences([index])) for index in range(5)] == [0, 1, 0, 1, 0]
    assert (rows.counts()["rows"], rows.counts()["complete"]) == (2, False)


def test_nothing_to_learn_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        encode(tmp_path, [])


SYSTEM = {"role": "system", "content": "Be brief."}


def user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def assistant(content: str) -> dict[str, str]:
    return {"role": "assistant", "content": content}


def test_a_conversation_is_learned_after_the_models_own_template(tmp_path: Path) -> None:
    chat = {"messages": [SYSTEM, user("who?"), assistant("Zoë.")], "learned": [2]}
    rows = encode_rows(write_lines(tmp_path / "rows.jsonl", chat, {"input": "a: ", "output": "b"}), ENCODER, 100)
    before, learned = parts(rows)
    assert before.count(START) == 1 and text(before[1:]) == "Be brief.\nQuestion: who?\nAnswer: "
    assert text(learned[:-1]) == "Zoë." and learned[-1] == END
    assert text(parts(rows, 1)[0][1:]) == "a: "


def test_calls_are_learned_as_the_model_writes_them_and_results_are_only_read(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "stock", "arguments": '{"of": "lamp"}'}}
    tool = {"type": "function", "function": {"name": "stock", "parameters": {}}}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "content": "7", "tool_call_id": "1"}
    line = {"messages": [user("how many?"), calling, result, assistant("7")], "learned": [1, 3], "tools": [tool]}
    rows = encode_rows(write_lines(tmp_path / "rows.jsonl", line), ENCODER, 1000)
    learned = [text([label for label in rows.labels(each).tolist() if label >= 0]) for each in rows.sequences([0])]
    assert "".join(sorted(learned)).count("<tool_call>") == 1
    whole = "".join(learned)
    assert '{"name": "stock", "arguments": {"of":"lamp"}}' in whole and "tool_response" not in whole


TURNS = [user("a"), assistant("no"), user("b"), assistant("yes"), user("c d"), assistant("perhaps")]


def alone(position: int, tmp_path: Path) -> tuple[list[int], list[int]]:
    """An answer of TURNS as if it were the only one to learn."""
    line = {"messages": TURNS[: position + 1], "learned": [position]}
    return parts(encode_rows(write_lines(tmp_path / "alone.jsonl", line), ENCODER, 100))


def test_all_answers_of_a_conversation_are_learned_in_one_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ bos_token }}{% endfor %}"
    monkeypatch.setattr(TOKENIZER, "chat_template", template)
    rows = encode_rows(write_lines(tmp_path / "rows.jsonl", {"messages": TURNS, "learned": [3, 5]}), ENCODER, 100)
    assert rows.sequences([0]) == [0] and rows.cut_count == 0
    tokens, labels = rows.tokens(0).tolist(), rows.labels(0).tolist()
    expected = [NOT_LEARNED] * len(tokens)
    for before, learned in (alone(3, tmp_path), alone(5, tmp_path)):
        assert tokens[: len(before)] == before
        expected[len(before) - 1 : len(before) - 1 + len(learned)] = learned
    assert labels == expected and rows.label_count(0) == len([label for label in labels if label != NOT_LEARNED])


def test_an_answer_whose_context_has_other_tokens_in_a_chat_gets_a_sequence_of_its_own(tmp_path: Path) -> None:
    """The tiny model's tokenizer joins an answer with the space before it when it reads the answer again."""
    rows = encode_rows(write_lines(tmp_path / "rows.jsonl", {"messages": TURNS, "learned": [1, 5]}), ENCODER, 100)
    assert rows.sequences([0]) == [0, 1]
    assert [parts(rows, 0), parts(rows, 1)] == [alone(5, tmp_path), alone(1, tmp_path)]


def test_a_conversation_beyond_max_length_is_learned_in_several_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ bos_token }}{% endfor %}"
    monkeypatch.setattr(TOKENIZER, "chat_template", template)
    turns = [turn for number in range(20) for turn in (user(f"ask {number}"), assistant(f"answer {number}"))]
    line = {"messages": turns, "learned": list(range(1, 40, 2))}
    rows = encode_rows(write_lines(tmp_path / "rows.jsonl", line), ENCODER, 40)
    numbers = rows.sequences([0])
    assert 1 < len(numbers) < 20 and all(rows.length(number) <= 40 for number in numbers)
    ends = sum(rows.labels(number).tolist().count(END) for number in numbers)
    assert ends == 20 and rows.cut_count == 1


def test_conversations_for_a_model_without_a_template_are_a_data_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TOKENIZER, "chat_template", None)
    path = write_lines(tmp_path / "rows.jsonl", {"messages": [user("u"), assistant("a")], "learned": [1]})
    with pytest.raises(DataError, match="no chat template"):
        encode_rows(path, ENCODER, 100)


def learned_text(rows: EncodedRows) -> list[str]:
    return [text([label for label in rows.labels(each).tolist() if label >= 0]) for each in range(rows.sequence_count)]


def test_train_on_says_what_of_a_row_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ bos_token }}{% endfor %}"
    monkeypatch.setattr(TOKENIZER, "chat_template", template)
    lines = [{"messages": TURNS, "learned": [1, 3, 5]}, {"input": "asked: ", "output": "said"}]
    path = write_lines(tmp_path / "rows.jsonl", *lines)
    learned = {
        train_on: learned_text(encode_rows(path, ENCODER, 100, train_on=train_on))
        for train_on in ("answers", "last_answer", "everything")
    }
    end = TOKENIZER.eos_token
    assert learned["answers"] == [f"no{end}yes{end}perhaps{end}", f"said{end}"]
    assert learned["last_answer"] == [f"perhaps{end}", f"said{end}"]
    assert "c d" in learned["everything"][0] and learned["everything"][1] == f"asked: said{end}"


def test_a_row_without_a_token_to_learn_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No token is left to learn of the row in line 1"):
        encode(tmp_path, [("", "a")], max_length=1)
