import threading
from collections.abc import Callable
from dataclasses import replace
from queue import Queue
from typing import cast

import pytest
import torch
from server.support.running import RunningServer
from support.until import PATIENCE_S

from anneal_runtime.server.decoding.batch import Joining, RowFailed, RunningBatch
from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.pace import Pace
from anneal_runtime.server.decoding.rows import Answer, GenerationRequest, Row, SamplingParams
from anneal_runtime.server.decoding.scheduler import Scheduler
from anneal_runtime.server.metrics import EngineMetrics
from anneal_runtime.tokenization import prompt_tokens

PARAMS = SamplingParams(max_tokens=1, temperature=0.0, top_p=1.0, seed=None, stop=())


def request_of(
    prompts: list[list[int]],
    on_done: Callable[[list[Answer] | Exception], None],
    max_tokens: int = 1,
    account: str = "",
) -> GenerationRequest:
    request, params = GenerationRequest(None, None, on_done, account=account), replace(PARAMS, max_tokens=max_tokens)
    request.rows = [Row(request, index, prompt, params, max_tokens) for index, prompt in enumerate(prompts)]
    request.queued = list(request.rows)
    return request


class NoRoomToJoin:
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def read(self, rows: list[Row], _most_grammar_s: float | None) -> tuple[Joining, list[RowFailed]]:
        return Joining(rows, RowCache()), []

    def join(self, _joining: Joining) -> None:
        raise MemoryError("no room")

    def drop(self, _gone: list[bool]) -> None:
        pass

    def clear(self) -> list[Row]:
        return []


def test_rows_that_cannot_join_are_answered() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 8, EngineMetrics())
    threading.Thread(target=scheduler.run_forever, daemon=True).start()
    for _ in range(2):
        answers: Queue[list[Answer] | Exception] = Queue()
        scheduler.submit(request_of([[1], [1]], answers.put))
        assert isinstance(answers.get(timeout=PATIENCE_S), MemoryError)


class ThreeSteps(NoRoomToJoin):
    """Its rows are done after three steps."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows, self.steps = rows, 0

    def step(self, _most_columns: int | None, _most_grammar_s: float | None) -> list[RowFailed]:
        self.steps += 1
        for row in self.rows:
            row.fed(1)
        if self.steps == 3:
            self.rows = []
        return []


def test_the_light_lane_gets_its_time_though_requests_arrive() -> None:
    batch = NoRoomToJoin()
    scheduler = Scheduler(cast(RunningBatch, batch), 16, EngineMetrics())
    greedy, idle = [Row(GenerationRequest(None, None, lambda _answers: None), 0, [1], PARAMS, 1) for _ in range(2)]
    batch.rows, light = [greedy], ThreeSteps([idle])
    scheduler._main_s = 3600.0
    scheduler._decode_light(cast(RunningBatch, light))
    assert light.steps == 3


class Noting(ThreeSteps):
    def __init__(self, name: str, rows: list[Row], notes: list[str]) -> None:
        super().__init__(rows)
        self._name, self._notes = name, notes

    def read(self, rows: list[Row], most_grammar_s: float | None) -> tuple[Joining, list[RowFailed]]:
        self._notes.append(f"{self._name} reads {len(rows)}")
        return super().read(rows, most_grammar_s)

    def join(self, joining: Joining) -> None:
        self.rows += joining.rows

    def step(self, most_columns: int | None, most_grammar_s: float | None) -> list[RowFailed]:
        self._notes.append(f"{self._name} steps")
        return super().step(most_columns, most_grammar_s)


def test_a_row_of_the_light_lane_is_done_before_the_main_lane_reads_on() -> None:
    notes: list[str] = []
    main, light = Noting("main", [], notes), Noting("light", [], notes)
    scheduler = Scheduler(cast(RunningBatch, main), 16, EngineMetrics(), cast(RunningBatch, light))
    scheduler._main_s, scheduler._pace.step_s, scheduler._pace.light_step_s = 3600.0, 0.1, 0.01
    greedy = GenerationRequest(None, None, lambda _answers: None, account="greedy")
    idle = GenerationRequest(None, None, lambda _answers: None, account="idle")
    greedy.queued, idle.queued = ([Row(each, 0, [1], PARAMS, 1) for _ in range(4)] for each in (greedy, idle))
    main.rows = [greedy.queued.pop(), greedy.queued.pop()]
    for each in (greedy, idle):
        scheduler._admission.add(each)
    scheduler._generate()
    assert notes == ["light reads 2", *3 * ["light steps"], "main reads 4", "main steps"]


@pytest.mark.parametrize("kind", ["tiny", "llama"])
@torch.inference_mode()
def test_a_row_that_moves_to_the_light_lane_answers_as_alone(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: RunningServer = request.getfixturevalue(kind)
    prompt, others = "The red chair is", [f"Product {number} costs" for number in range(8)]
    (alone,) = server.client.texts(prompt, max_tokens=24)
    engine, answers = server.engine, Queue[list[Answer] | Exception]()
    assert engine.generator is not None and engine.scheduler._main is not None
    parts = engine.scheduler._main._forward, engine.generator.grammars, engine.generator.vocabulary
    main, light = (RunningBatch(*parts) for _ in range(2))
    scheduler, is_congested = Scheduler(main, 16, EngineMetrics(), light), False
    # Not the times of a machine that may be busy.
    monkeypatch.setattr(scheduler._pace, "is_congested", lambda **_typed: is_congested)
    monkeypatch.setattr(scheduler._pace, "count_read", lambda _seconds, _tokens: None)
    # No step is done in parts, between which no row moves.
    monkeypatch.setattr(Pace, "most_grammar_s", 3600.0)

    def ask(account: str, texts: list[str]) -> list[Row]:
        request = request_of(prompt_tokens(engine.tokenizer, texts), answers.put, 24, account)
        scheduler._admission.add(request)
        return request.rows

    rows = ask("idle", [prompt])
    scheduler._generate()
    ask("greedy", others)
    scheduler._generate()
    assert not light.rows and len(main.rows) == 9
    # Time for one step of the light lane.
    is_congested, scheduler._main_s = True, 0.0
    scheduler._generate()
    assert light.rows == rows and len(main.rows) == 8
    while answers.empty():
        scheduler._generate()
    (answer,) = cast(list[Answer], answers.get())
    assert answer.text == alone


@torch.inference_mode()
def test_a_row_that_ends_in_a_part_of_a_step_is_answered_though_others_are_read(
    tiny: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, answers = tiny.engine, Queue[list[Answer] | Exception]()
    assert engine.generator is not None and engine.scheduler._main is not None
    forward = engine.scheduler._main._forward
    batch = RunningBatch(forward, engine.generator.grammars, engine.generator.vocabulary)
    scheduler = Scheduler(batch, 16, EngineMetrics())
    # Each call of a step takes the token of one row.
    monkeypatch.setattr(Pace, "most_grammar_s", 0.0)
    (ids,) = prompt_tokens(engine.tokenizer, ["The red chair is"])

    def ask(max_tokens: int) -> None:
        scheduler._admission.add(request_of([ids], answers.put, max_tokens, "one"))

    ask(2)
    ask(3)
    scheduler._generate()
    assert batch.rows[0].answer is not None and answers.empty()
    ask(1)
    while batch.rows:
        scheduler._generate()
    assert sorted(cast(list[Answer], answers.get_nowait())[0].token_count for _ in range(3)) == [1, 2, 3]
