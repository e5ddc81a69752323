import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from llguidance import LLMatcher
from server.support.lora_files import prompts
from server.support.running import RunningServer
from support.until import PATIENCE_S

from anneal_runtime.server.decoding.grammar import Source
from anneal_runtime.server.decoding.pace import Pace

STRING = r'"([^"\\\x00-\x1f\x7f]|\\["\\/bfnrt]){0,60}"'
INTEGER = r"-?(0|[1-9][0-9]{0,14})"
RECORD = (
    r'\{"name":' + STRING + r',"age":' + INTEGER + r',"ok":(true|false),"score":'
    r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?" + r',"größe":("red"|"white")\}'
)


def typed(regex: str) -> dict[str, dict[str, str]]:
    return {"structured_outputs": {"regex": regex}}


def test_every_answer_is_complete_and_valid_at_temperature_one(tiny: RunningServer) -> None:
    answers = tiny.client.complete(prompts(100, seed=3), temperature=1.0, max_tokens=400, **typed(RECORD))
    for choice in answers:
        assert choice["finish_reason"] == "stop"
        assert re.fullmatch(RECORD, choice["text"]), choice["text"]
        value = json.loads(choice["text"])
        assert list(value) == ["name", "age", "ok", "score", "größe"]
        assert isinstance(value["age"], int) and isinstance(value["ok"], bool)


def test_greedy_and_nucleus_answers_are_valid_too(tiny: RunningServer) -> None:
    for options in ({"temperature": 0}, {"temperature": 3.0, "top_p": 0.5, "seed": 4}):
        for text in tiny.client.texts(prompts(20, seed=4), max_tokens=400, **typed(RECORD), **options):
            assert re.fullmatch(RECORD, text), text


def test_forced_text_needs_no_sampling(tiny: RunningServer) -> None:
    assert tiny.client.texts("a", max_tokens=60, **typed(r'\{"the only answer":"there is"\}')) == [
        '{"the only answer":"there is"}'
    ]


def test_special_tokens_in_literals_are_text(tiny: RunningServer) -> None:
    whole = r'\{"a</s>b":(1|"<s>\.<pad>")\}'
    for options in ({"temperature": 0}, {"temperature": 1.0, "seed": 2}):
        (text,) = tiny.client.texts("a", max_tokens=60, **typed(whole), **options)
        assert re.fullmatch(whole, text), text


def test_an_answer_that_exactly_fits_is_complete(tiny: RunningServer) -> None:
    whole = r'\{"answer":(true|false)\}'
    body = {"model": "anneal-tiny", "prompt": "a", "max_tokens": 60, "temperature": 0, **typed(whole)}
    used = tiny.client.post("/v1/completions", body)
    needed = used[1]["usage"]["completion_tokens"]
    (fits,) = tiny.client.complete("a", max_tokens=needed, **typed(whole))
    (short,) = tiny.client.complete("a", max_tokens=needed - 1, **typed(whole))
    assert fits["finish_reason"] == "stop" and json.loads(fits["text"])
    assert short["finish_reason"] == "length"


def test_a_regex_may_match_nothing(tiny: RunningServer) -> None:
    (choice,) = tiny.client.complete("a", **typed("(x)?"))
    assert choice["text"] in ("", "x") and choice["finish_reason"] == "stop"


def test_a_regex_that_cannot_be_used_is_400(tiny: RunningServer) -> None:
    for regex in ("(", "[z-a]", r"(?=a)b", "x" * 300_000, "(a{1000}){1000}{1000}", "a{1000000000}"):
        status, answer = tiny.client.post("/v1/completions", {"model": "anneal-tiny", "prompt": "a", **typed(regex)})
        assert (status, answer["error"]["param"]) == (400, "structured_outputs"), regex[:40]
    assert tiny.client.texts("a", **typed("(yes|no)"))[0] in ("yes", "no")


def grammar(text: str) -> dict[str, dict[str, str]]:
    return {"structured_outputs": {"grammar": text}}


def test_a_grammar_holds_also_where_its_words_are_special_tokens(tiny: RunningServer) -> None:
    lark = '%llguidance {}\nstart: "[" item ("," item){2} "]"\nitem: NUMBER | "\\"</s>\\""\nNUMBER: /[1-9][0-9]{0,3}/\n'
    for text in tiny.client.texts(prompts(20, seed=6), max_tokens=60, temperature=2.0, **grammar(lark)):
        assert re.fullmatch(r'\[([1-9][0-9]{0,3}|"</s>")(,([1-9][0-9]{0,3}|"</s>")){2}\]', text), text
    assert tiny.client.texts("a", **grammar('root ::= "yes" | "no"'))[0] in ("yes", "no")


def test_a_grammar_that_cannot_be_used_is_400(tiny: RunningServer) -> None:
    wrong: list[object] = [{"grammar": "start: ("}, {"grammar": "x" * 2_000_000}, {"grammar": 1}, {"json": {}}, {}]
    for wanted in [*wrong, {"grammar": 'start: "a"', "regex": "a"}]:
        body = {"model": "anneal-tiny", "prompt": "a", "structured_outputs": wanted}
        status, answer = tiny.client.post("/v1/completions", body)
        assert (status, answer["error"]["param"]) == (400, "structured_outputs"), str(wanted)[:40]


def test_typed_and_free_rows_share_a_batch(tiny: RunningServer) -> None:
    free = prompts(30, seed=5)
    expected = tiny.client.texts(free, max_tokens=30)
    mixed: list[list[str]] = []
    other = threading.Thread(
        target=lambda: mixed.append(tiny.client.texts(free, max_tokens=100, temperature=1.0, **typed(RECORD)))
    )
    other.start()
    assert tiny.client.texts(free, max_tokens=30) == expected
    other.join()
    assert all(re.match(r'\{"name":"', text) for text in mixed[0])


def test_typed_answers_are_the_same_if_others_have_their_turn_in_each_step(
    tiny: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = prompts(20, seed=7)
    expected = tiny.client.texts(asked, max_tokens=100, **typed(RECORD))
    monkeypatch.setattr(Pace, "most_grammar_s", 0.0)
    with ThreadPoolExecutor() as threads:
        one_by_one = threads.map(lambda each: tiny.client.texts(each, max_tokens=100, **typed(RECORD))[0], asked)
        assert tiny.client.texts(asked, max_tokens=100, **typed(RECORD)) == expected
    assert list(one_by_one) == expected


def test_two_hundred_new_types_delay_a_known_type_by_no_pass(
    tiny: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiny.engine.generator is not None
    grammars, scheduler = tiny.engine.generator.grammars, tiny.engine.scheduler
    compile_one, find, release, all_wait = grammars._compile, grammars.find, threading.Event(), threading.Event()
    asked: list[Source] = []

    def held(source: Source) -> LLMatcher:
        assert release.wait(PATIENCE_S)
        return compile_one(source)

    def counted(source: Source) -> LLMatcher | None:
        if source.text.startswith("new"):
            asked.append(source)
            # Each is looked for once more when its turn to be compiled has come.
            if len(asked) > 200:
                all_wait.set()
        return find(source)

    def passes() -> int:
        before = scheduler.turn
        assert tiny.client.texts("a", max_tokens=8, **typed("known")) == ["known"]
        return scheduler.turn - before

    passes()
    alone = passes()
    monkeypatch.setattr(grammars, "_compile", held)
    monkeypatch.setattr(grammars, "find", counted)
    with ThreadPoolExecutor(200) as clients:
        news = [clients.submit(tiny.client.texts, "a", max_tokens=8, **typed(f"new {at}")) for at in range(200)]
        try:
            assert all_wait.wait(PATIENCE_S)
            assert passes() <= alone + 1
        finally:
            release.set()
        assert [new.result(PATIENCE_S)[0] for new in news] == [f"new {at}" for at in range(200)]
