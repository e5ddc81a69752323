from collections import Counter
from typing import cast

from llguidance import LLMatcher

from anneal_runtime.server.decoding.admission import Admission
from anneal_runtime.server.decoding.pace import MOST_DEBT_S, SHARED_READ_S, Debts, Pace
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
    admission = Admission(16, Pace(), Debts())
    for _ in range(5):
        waiting(admission, "many", 100)
    waiting(admission, "few", 100)
    chosen = admission.choose([])
    assert accounts_of(chosen) == {"many": 8, "few": 8}


def test_large_requests_of_an_account_are_read_one_after_another() -> None:
    admission = Admission(16, Pace(), Debts())
    first, second = waiting(admission, "one", 20), waiting(admission, "one", 20)
    running = admission.choose([])
    assert {row.request for row in running} == {first}
    assert admission.choose(running[:15]) == [], "a pass for one row costs more than its place"
    assert [row.request for row in admission.choose(running[:8])] == [first] * 4 + [second] * 4


def test_a_small_request_passes_the_large_ones_of_its_account() -> None:
    admission = Admission(16, Pace(), Debts())
    large = waiting(admission, "one", 100)
    running = admission.choose([])
    small = waiting(admission, "one", 2)
    assert [row.request for row in admission.choose(running)] == [small] * 2
    for _ in range(10):
        waiting(admission, "one", 2)
    assert sum(row.request is large for row in admission.choose([])) == 8, "small requests leave half of the rows"


def test_an_idle_account_joins_a_full_batch_at_once() -> None:
    admission = Admission(16, Pace(), Debts())
    for _ in range(40):
        waiting(admission, "greedy", 2)
    running = admission.choose([])
    assert len(running) == 16 + 2
    assert admission.choose(running) == [], "the places beyond the size are taken"
    waiting(admission, "idle", 5)
    assert accounts_of(admission.choose(running)) == {"idle": 1}


def test_single_prompts_of_others_take_no_place_from_a_large_request() -> None:
    admission = Admission(16, Pace(), Debts())
    waiting(admission, "large", 100)
    large = admission.choose([])
    assert len(large) == 16
    singles = [request_of(account, 1).rows[0] for account in ("one", "two")]
    assert accounts_of(admission.choose([*large[:14], *singles])) == {"large": 2}
    assert admission.choose([*large, *singles]) == []
    assert admission.choose(large) == [], "the size holds again when the others have left"


def test_little_is_read_at_once_while_several_accounts_have_work() -> None:
    pace = Pace()
    admission, pace.read_s = Admission(16, pace, Debts()), SHARED_READ_S / 3
    waiting(admission, "one", 10)
    assert len(admission.choose([])) == 10
    waiting(admission, "one", 10)
    waiting(admission, "two", 10)
    assert accounts_of(admission.choose([])) in ({"one": 2, "two": 1}, {"one": 1, "two": 2})


def test_an_account_without_a_row_does_not_wait_for_slow_steps() -> None:
    pace = Pace()
    admission = Admission(16, pace, Debts())
    greedy, idle = request_of("greedy", 5).rows, request_of("idle", 5).rows
    pace.few_rows_step_s = pace.few_rows_token_s = 0.01
    pace.step_s, pace.token_s = 0.02, 0.03
    assert admission.choose_quick(idle, greedy, []) == []
    typed = Row(GenerationRequest(None, cast(LLMatcher, "a grammar"), lambda _answers: None), 0, [1], PARAMS, 1)
    assert admission.choose_quick([typed], greedy, []) == [typed]
    pace.step_s = 0.05
    assert admission.choose_quick([*greedy, *idle], greedy, []) == idle[:2]
    assert admission.choose_quick(idle[1:], greedy, idle[:1]) == idle[1:2]
    assert admission.choose_quick(greedy, idle[:1], []) == greedy[:1], "one slow row makes no other account quick"


def test_rows_of_an_account_leave_a_batch_that_another_one_has_made_slow() -> None:
    pace = Pace()
    admission = Admission(16, pace, Debts())
    greedy, idle = request_of("greedy", 5).rows, request_of("idle", 2).rows
    pace.few_rows_step_s, pace.step_s = 0.01, 0.015
    assert admission.choose_stuck([*greedy, *idle], []) == []
    pace.step_s = 0.05
    assert admission.choose_stuck([*greedy, *idle], []) == idle
    assert admission.choose_stuck([*greedy, *idle], greedy[:4]) == idle[:1], "no more quick rows than slow ones"
    assert admission.choose_stuck([*greedy[:2], *idle], []) == [], "nobody fills the batch"


def test_prompts_of_an_account_wait_until_rows_of_others_ran_as_long_as_its_last_ones_took() -> None:
    debts = Debts()
    admission, running = Admission(16, Pace(), debts), request_of("running", 1).rows
    waiting(admission, "greedy", 4)
    debts.owe({"greedy"}, 0.5)
    assert admission.choose(running) == []
    waiting(admission, "idle", 1)
    assert accounts_of(admission.choose(running)) == {"idle": 1}
    debts.pay(0.25)
    assert admission.choose(running) == []
    debts.pay(0.25)
    assert accounts_of(admission.choose(running)) == {"greedy": 4}


def test_an_account_alone_owes_nobody() -> None:
    debts = Debts()
    admission = Admission(16, Pace(), debts)
    debts.owe({"greedy"}, 0.5)
    request = waiting(admission, "greedy", 4)
    assert accounts_of(admission.choose([Row(request, 0, [1], PARAMS, 1)])) == {"greedy": 4}


def test_cancelled_requests_leave_the_line() -> None:
    admission = Admission(16, Pace(), Debts())
    waiting(admission, "a", 2).cancelled = True
    waiting(admission, "b", 2)
    assert accounts_of(admission.choose([])) == {"b": 2}


def test_an_account_whose_rows_end_with_the_read_does_not_starve_others() -> None:
    debts = Debts()
    admission = Admission(16, Pace(), debts)
    waiting(admission, "greedy", 4)
    waiting(admission, "idle", 1)
    debts.owe({"greedy"}, 0.5)
    assert next(row.request.account for row in admission.choose([])) == "idle"


def test_forgives_the_debt_of_an_account_that_was_alone_in_a_moment() -> None:
    debts = Debts()
    debts.owe({"greedy"}, 3600.0)
    debts.pay(MOST_DEBT_S)
    assert debts.of("greedy") == 0.0
