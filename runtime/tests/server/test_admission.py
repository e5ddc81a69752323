from collections import Counter
from typing import cast

from llguidance import LLMatcher

from anneal_runtime.server.decoding.admission import Admission
from anneal_runtime.server.decoding.pace import MOST_DEFICIT_S, SHARED_READ_S, Deficits, Pace
from anneal_runtime.server.decoding.rows import GenerationRequest, Row, SamplingParams

PARAMS = SamplingParams(max_tokens=1, temperature=0.0, top_p=1.0, seed=None, stop=())


def request_of(account: str, rows: int) -> GenerationRequest:
    request = GenerationRequest(None, None, lambda _answers: None, account=account)
    request.rows = [Row(request, index, [1], PARAMS, 1) for index in range(rows)]
    request.queued = list(request.rows)
    return request


def waiting(admission: Admission, account: str, rows: int) -> GenerationRequest:
    request = request_of(account, rows)
    admission.add(request)
    return request


def accounts_of(rows: list[Row]) -> dict[str, int]:
    return dict(Counter(row.request.account for row in rows))


def test_accounts_share_the_batch_however_many_requests_wait() -> None:
    admission = Admission(16, Pace(), Deficits())
    for _ in range(5):
        waiting(admission, "many", 100)
    waiting(admission, "other", 100)
    chosen = admission.choose([])
    assert accounts_of(chosen) == {"many": 8, "other": 8}


def test_large_requests_of_an_account_are_read_one_after_another() -> None:
    admission = Admission(16, Pace(), Deficits())
    first, second = waiting(admission, "one", 20), waiting(admission, "one", 20)
    running = admission.choose([])
    assert {row.request for row in running} == {first}
    assert admission.choose(running[:15]) == [], "a pass for one row costs more than its place"
    assert [row.request for row in admission.choose(running[:8])] == [first] * 4 + [second] * 4


def test_a_small_request_passes_the_large_ones_of_its_account() -> None:
    admission = Admission(16, Pace(), Deficits())
    large = waiting(admission, "one", 100)
    running = admission.choose([])
    small = waiting(admission, "one", 2)
    assert [row.request for row in admission.choose(running)] == [small] * 2
    for _ in range(10):
        waiting(admission, "one", 2)
    assert sum(row.request is large for row in admission.choose([])) == 8, "small requests leave half of the rows"


def test_an_idle_account_joins_a_full_batch_at_once() -> None:
    admission = Admission(16, Pace(), Deficits())
    for _ in range(40):
        waiting(admission, "greedy", 2)
    running = admission.choose([])
    assert len(running) == 16 + 2
    assert admission.choose(running) == [], "the places above the size are taken"
    waiting(admission, "idle", 5)
    assert accounts_of(admission.choose(running)) == {"idle": 1}


def test_single_prompts_of_others_take_no_place_from_a_large_request() -> None:
    admission = Admission(16, Pace(), Deficits())
    waiting(admission, "large", 100)
    large = admission.choose([])
    assert len(large) == 16
    singles = [request_of(account, 1).rows[0] for account in ("one", "two")]
    assert accounts_of(admission.choose([*large[:14], *singles])) == {"large": 2}
    assert admission.choose([*large, *singles]) == []
    assert admission.choose(large) == [], "the size holds again when the others have left"


def test_little_is_read_at_once_while_several_accounts_have_work() -> None:
    pace = Pace()
    admission, pace.read_s = Admission(16, pace, Deficits()), SHARED_READ_S / 3
    waiting(admission, "one", 10)
    assert len(admission.choose([])) == 10
    waiting(admission, "one", 10)
    waiting(admission, "two", 10)
    assert accounts_of(admission.choose([])) in ({"one": 2, "two": 1}, {"one": 1, "two": 2})


def test_an_account_without_a_row_joins_the_light_lane_when_the_main_lane_is_congested() -> None:
    pace = Pace()
    admission = Admission(16, pace, Deficits())
    greedy, idle = request_of("greedy", 5).rows, request_of("idle", 5).rows
    pace.light_step_s = pace.light_token_s = 0.01
    pace.step_s, pace.token_s = 0.02, 0.03
    assert admission.choose_light(idle, greedy, []) == []
    typed = Row(GenerationRequest(None, cast(LLMatcher, "a grammar"), lambda _answers: None), 0, [1], PARAMS, 1)
    assert admission.choose_light([typed], greedy, []) == [typed]
    pace.step_s = 0.05
    assert admission.choose_light([*greedy, *idle], greedy, []) == idle[:2]
    assert admission.choose_light(idle[1:], greedy, idle[:1]) == idle[1:2]
    assert admission.choose_light(greedy, idle[:1], []) == greedy[:1], "no more rows than the main lane has"


def test_rows_of_a_light_account_leave_a_lane_that_a_heavy_one_congests() -> None:
    pace = Pace()
    admission = Admission(16, pace, Deficits())
    greedy, idle = request_of("greedy", 5).rows, request_of("idle", 2).rows
    pace.light_step_s, pace.step_s = 0.01, 0.015
    assert admission.choose_leaving([*greedy, *idle], []) == []
    pace.step_s = 0.05
    assert admission.choose_leaving([*greedy, *idle], []) == idle
    assert admission.choose_leaving([*greedy, *idle], greedy[:4]) == idle[:1], "no more rows than the heavy account has"
    assert admission.choose_leaving([*greedy[:2], *idle], []) == [], "no account is heavy"


def test_prompts_of_an_account_wait_until_rows_of_others_ran_as_long_as_its_last_ones_took() -> None:
    deficits = Deficits()
    admission, running = Admission(16, Pace(), deficits), request_of("running", 1).rows
    waiting(admission, "greedy", 4)
    deficits.charge({"greedy"}, 0.5)
    assert admission.choose(running) == []
    waiting(admission, "idle", 1)
    assert accounts_of(admission.choose(running)) == {"idle": 1}
    deficits.reduce(0.25)
    assert admission.choose(running) == []
    deficits.reduce(0.25)
    assert accounts_of(admission.choose(running)) == {"greedy": 4}


def test_an_account_alone_does_not_wait_for_its_deficit() -> None:
    deficits = Deficits()
    admission = Admission(16, Pace(), deficits)
    deficits.charge({"greedy"}, 0.5)
    request = waiting(admission, "greedy", 4)
    assert accounts_of(admission.choose([Row(request, 0, [1], PARAMS, 1)])) == {"greedy": 4}


def test_cancelled_requests_leave_the_queue() -> None:
    admission = Admission(16, Pace(), Deficits())
    waiting(admission, "a", 2).cancelled = True
    waiting(admission, "b", 2)
    assert accounts_of(admission.choose([])) == {"b": 2}


def test_an_account_whose_rows_end_with_the_read_does_not_starve_others() -> None:
    deficits = Deficits()
    admission = Admission(16, Pace(), deficits)
    waiting(admission, "greedy", 4)
    waiting(admission, "idle", 1)
    deficits.charge({"greedy"}, 0.5)
    assert next(row.request.account for row in admission.choose([])) == "idle"


def test_bounds_the_deficit_of_an_account_that_was_alone() -> None:
    deficits = Deficits()
    deficits.charge({"greedy"}, 3600.0)
    deficits.reduce(MOST_DEFICIT_S)
    assert deficits.of("greedy") == 0.0
