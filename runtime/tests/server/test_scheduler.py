import threading
from collections import Counter
from queue import Queue
from typing import cast

from llguidance import LLMatcher
from support.until import PATIENCE_S

from anneal_runtime.server.decoding.batch import Joining, RowFailed, RunningBatch
from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.pace import SHARED_COLUMNS, SHARED_FOR_S, SHARED_READ_S, Pace
from anneal_runtime.server.decoding.rows import Answer, GenerationRequest, Row, SamplingParams
from anneal_runtime.server.decoding.scheduler import Scheduler
from anneal_runtime.server.metrics import EngineMetrics

PARAMS = SamplingParams(max_tokens=1, temperature=0.0, top_p=1.0, seed=None, stop=())


class NoRoomToJoin:
    def __init__(self) -> None:
        self.rows: list[Row] = []

    def read(self, rows: list[Row]) -> tuple[Joining, list[RowFailed]]:
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
        request = GenerationRequest(None, None, answers.put)
        request.rows = [Row(request, index, [1], PARAMS, 1) for index in range(2)]
        request.queued = list(request.rows)
        scheduler.submit(request)
        assert isinstance(answers.get(timeout=PATIENCE_S), MemoryError)


def waiting(scheduler: Scheduler, account: str, rows: int) -> GenerationRequest:
    request = GenerationRequest(None, None, lambda _answers: None, account=account)
    request.rows = [Row(request, index, [1], PARAMS, 1) for index in range(rows)]
    request.queued = list(request.rows)
    scheduler.submit(request)
    return request


def accounts_of(rows: list[Row]) -> dict[str, int]:
    return dict(Counter(row.request.account for row in rows))


def test_accounts_share_the_batch_whatever_they_have_waiting() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    for _ in range(5):
        waiting(scheduler, "many", 100)
    waiting(scheduler, "few", 100)
    scheduler._receive()
    chosen = scheduler._choose([])
    assert accounts_of(chosen) == {"many": 8, "few": 8}


def test_an_idle_account_joins_a_full_batch_at_once() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    for _ in range(40):
        waiting(scheduler, "greedy", 2)
    scheduler._receive()
    running = scheduler._choose([])
    assert len(running) == 16 + 2
    assert scheduler._choose(running) == [], "the places beyond the size are taken"
    waiting(scheduler, "idle", 5)
    scheduler._receive()
    assert accounts_of(scheduler._choose(running)) == {"idle": 1}


def test_single_prompts_of_others_take_no_place_from_a_large_request() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    waiting(scheduler, "large", 100)
    scheduler._receive()
    large = scheduler._choose([])
    assert len(large) == 16
    singles = [waiting(scheduler, account, 1).rows[0] for account in ("one", "two")]
    assert accounts_of(scheduler._choose([*large[:14], *singles])) == {"large": 2}
    assert scheduler._choose([*large, *singles]) == []
    assert scheduler._choose(large) == [], "the size holds again when the others have left"


def test_little_is_read_at_once_while_several_accounts_have_work() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    scheduler._pace.read_s = SHARED_READ_S / 3
    waiting(scheduler, "one", 10)
    scheduler._receive()
    assert len(scheduler._choose([])) == 10
    waiting(scheduler, "one", 10)
    waiting(scheduler, "two", 10)
    scheduler._receive()
    assert accounts_of(scheduler._choose([])) in ({"one": 2, "two": 1}, {"one": 1, "two": 2})


def test_an_account_without_a_row_does_not_wait_for_slow_steps() -> None:
    batch, quick = NoRoomToJoin(), NoRoomToJoin()
    scheduler = Scheduler(cast(RunningBatch, batch), 16, EngineMetrics(), cast(RunningBatch, quick))
    rows = {account: waiting(scheduler, account, 5).rows for account in ("greedy", "idle")}
    batch.rows = rows["greedy"]
    scheduler._pace.few_rows_step_s, scheduler._pace.step_s = 0.01, 0.02
    assert scheduler._choose_quick(rows["idle"]) == []
    typed = Row(GenerationRequest(None, cast(LLMatcher, "a grammar"), lambda _answers: None), 0, [1], PARAMS, 1)
    assert scheduler._choose_quick([typed]) == [typed]
    scheduler._pace.step_s = 0.05
    assert scheduler._choose_quick([*rows["greedy"], *rows["idle"]]) == rows["idle"][:2]
    quick.rows = rows["idle"][:1]
    assert scheduler._choose_quick(rows["idle"][1:]) == rows["idle"][1:2]


class ThreeSteps(NoRoomToJoin):
    """Its rows are done after three steps."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows, self.steps = rows, 0

    def step(self, _most_columns: int | None) -> list[RowFailed]:
        self.steps += 1
        if self.steps == 3:
            self.rows = []
        return []


def test_quick_rows_get_their_time_though_requests_arrive() -> None:
    batch = NoRoomToJoin()
    scheduler = Scheduler(cast(RunningBatch, batch), 16, EngineMetrics())
    rows = {account: waiting(scheduler, account, 1).rows for account in ("greedy", "idle")}
    batch.rows, quick = rows["greedy"], ThreeSteps(rows["idle"])
    scheduler._batch_s = 3600.0
    scheduler._decode_quick(cast(RunningBatch, quick))
    assert quick.steps == 3


def test_prompts_of_an_account_wait_until_rows_of_others_ran_as_long_as_its_last_ones_took() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    running = [Row(GenerationRequest(None, None, lambda _answers: None, account="running"), 0, [1], PARAMS, 1)]
    waiting(scheduler, "greedy", 4)
    scheduler._receive()
    scheduler._debts.owe({"greedy"}, 0.5)
    assert scheduler._choose(running) == []
    waiting(scheduler, "idle", 1)
    scheduler._receive()
    assert accounts_of(scheduler._choose(running)) == {"idle": 1}
    scheduler._debts.pay(0.25)
    assert scheduler._choose(running) == []
    scheduler._debts.pay(0.25)
    assert accounts_of(scheduler._choose(running)) == {"greedy": 4}


def test_an_account_alone_owes_nobody() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    scheduler._debts.owe({"greedy"}, 0.5)
    request = waiting(scheduler, "greedy", 4)
    scheduler._receive()
    assert accounts_of(scheduler._choose([Row(request, 0, [1], PARAMS, 1)])) == {"greedy": 4}


def test_an_engine_counts_as_shared_between_two_requests_of_an_account() -> None:
    pace = Pace()
    pace.count_accounts(1, now=1000.0)
    assert pace.most_columns(1) is None
    pace.count_accounts(2, now=1000.0)
    pace.count_accounts(1, now=1000.0 + SHARED_FOR_S / 2)
    assert pace.most_columns(1) == SHARED_COLUMNS
    pace.count_accounts(1, now=1000.0 + SHARED_FOR_S)
    assert pace.most_columns(1) is None


def test_a_wide_step_of_many_rows_is_taken_in_pieces_while_accounts_share_the_engine() -> None:
    pace = Pace()
    pace.count_accounts(2, now=1000.0)
    assert [pace.most_columns(rows) for rows in (8, 32, 64, 200)] == [4, 2, 1, 1]


def test_short_reads_do_not_make_tokens_look_slow() -> None:
    pace = Pace()
    pace.count_few_rows_step(0.005)
    pace.count_read(0.055, 1000)
    for _ in range(100):
        pace.count_read(0.0065, 30)
    assert pace.read_s is not None
    assert abs(pace.read_s - 0.00005) < 1e-6


def test_cancelled_requests_leave_the_line() -> None:
    scheduler = Scheduler(cast(RunningBatch, NoRoomToJoin()), 16, EngineMetrics())
    waiting(scheduler, "a", 2).cancelled = True
    waiting(scheduler, "b", 2)
    scheduler._receive()
    assert accounts_of(scheduler._choose([])) == {"b": 2}
