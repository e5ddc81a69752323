import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from anneal_runtime.server.account_turns import AccountThreads, AccountTurns, Sharing


def play(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 60))


async def held(turns: AccountThreads, account: str) -> tuple[threading.Event, asyncio.Task[bool]]:
    """Work that holds the thread until the event is set."""
    event, begun = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return event.wait()

    task = asyncio.ensure_future(turns.run(account, work))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    return event, task


def test_an_account_waits_for_one_piece_of_another() -> None:
    async def story() -> None:
        turns, order = AccountThreads("test"), list[str]()
        event, first = await held(turns, "greedy")
        work = [asyncio.ensure_future(turns.run("greedy", order.append, f"greedy {at}")) for at in range(5)]
        await asyncio.sleep(0)
        work += [asyncio.ensure_future(turns.run("other", order.append, f"other {at}")) for at in range(2)]
        await asyncio.sleep(0)
        event.set()
        await asyncio.gather(first, *work)
        assert order == ["greedy 0", "other 0", "greedy 1", "other 1", "greedy 2", "greedy 3", "greedy 4"]

    play(story)


def test_a_cancelled_caller_holds_up_no_other() -> None:
    async def story() -> None:
        turns, order = AccountThreads("test"), list[str]()
        event, first = await held(turns, "a")
        left = asyncio.ensure_future(turns.run("a", order.append, "left"))
        stays = asyncio.ensure_future(turns.run("b", order.append, "stays"))
        await asyncio.sleep(0)
        left.cancel()
        first.cancel()
        await asyncio.sleep(0)
        assert order == [], "the thread is busy although its caller has left"
        event.set()
        await stays
        assert order == ["stays"]

    play(story)


def test_an_error_reaches_its_caller_and_frees_the_thread() -> None:
    async def story() -> None:
        turns = AccountThreads("test")
        with pytest.raises(ValueError):
            await turns.run("a", int, "no number")
        assert await turns.run("a", int, "7") == 7

    play(story)


def test_an_account_rests_after_its_turn_while_others_use_the_server() -> None:
    async def story() -> None:
        sharing = Sharing()
        turns = AccountTurns(sharing=sharing)
        sharing.note("greedy")
        turns.rest("greedy", 3600.0)
        await turns.take("greedy")
        turns.end()
        sharing.note("other")
        turns.rest("greedy", 0.01)
        waits = asyncio.ensure_future(turns.take("greedy"))
        await asyncio.sleep(0)
        assert not waits.done()
        await turns.take("other")
        turns.end()
        await waits

    play(story)


@pytest.mark.parametrize("rests", [(3600.0, 0.0), (0.0, 3600.0)])
def test_the_longer_of_two_rests_at_once_holds(rests: tuple[float, float]) -> None:
    async def story() -> None:
        sharing = Sharing()
        turns = AccountTurns(at_once=2, sharing=sharing)
        for account in ("greedy", "other"):
            sharing.note(account)
        for seconds in rests:
            turns.rest("greedy", seconds)
        waits = asyncio.ensure_future(turns.take("greedy"))
        # A timer that is due runs in the loop's next turn.
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waits.done()
        waits.cancel()

    play(story)


def test_an_account_that_has_rested_takes_all_free_turns() -> None:
    async def story() -> None:
        sharing = Sharing()
        turns = AccountTurns(at_once=2, sharing=sharing)
        for account in ("greedy", "other"):
            sharing.note(account)
        turns.rest("greedy", 0.01)
        await asyncio.gather(turns.take("greedy"), turns.take("greedy"))

    play(story)


def test_a_server_is_shared_with_the_accounts_that_asked_last() -> None:
    sharing = Sharing()
    for account in ("a", "a"):
        sharing.note(account)
    assert not sharing.has_others("a")
    for account in ("b", "a", "a"):
        sharing.note(account)
    assert sharing.has_others("a")
    assert sharing.has_others("b")
