from anneal_runtime.server.decoding.pace import SHARED_COLUMNS, SHARED_FOR_S, Pace


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


def test_short_reads_do_not_raise_the_time_of_a_token() -> None:
    pace = Pace()
    pace.count_light_step(0.005, 1)
    pace.count_read(0.055, 1000)
    for _ in range(100):
        pace.count_read(0.0065, 30)
    assert pace.read_s is not None
    assert abs(pace.read_s - 0.00005) < 1e-6


def test_steps_that_take_one_token_of_a_run_congest_a_lane_for_typed_answers() -> None:
    pace = Pace()
    pace.count_light_step(0.008, tokens=4)
    pace.count_step(0.012, tokens=1)
    assert not pace.is_congested(is_typed=False)
    assert pace.is_congested(is_typed=True)


def test_some_long_light_steps_do_not_hide_that_the_main_lane_is_congested() -> None:
    pace = Pace()
    pace.count_light_step(0.004, tokens=1)
    for _ in range(5):
        pace.count_light_step(0.02, tokens=1)
    pace.count_step(0.02, tokens=1)
    assert pace.is_congested(is_typed=False)
    for _ in range(200):
        pace.count_light_step(0.02, tokens=1)
    assert not pace.is_congested(is_typed=False)
