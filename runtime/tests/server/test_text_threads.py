"""Which thread reads a text: long ones must not hold up short ones."""

import asyncio
import threading

from server.support.running import RunningServer

from anneal_runtime.server.text_threads import PIECE_CHARACTERS, TextThreads, texts_in

MESSAGES = [{"role": "user", "content": "What is it?"}]


def tool(properties: int) -> dict[str, object]:
    parameters = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(properties)}}
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


def test_a_long_description_of_functions_does_not_hold_up_short_texts(tiny: RunningServer) -> None:
    long = tool(PIECE_CHARACTERS // 10)

    async def story() -> None:
        threads, release = TextThreads(tiny.engine), threading.Event()
        busy = asyncio.ensure_future(threads._long.turns.run("greedy", release.wait))
        waits = asyncio.ensure_future(threads.chat("greedy", MESSAGES, [long]))
        assert await threads.chat("idle", MESSAGES, [tool(1)])
        assert not waits.done()
        release.set()
        await busy
        assert len(await waits) > 1024

    asyncio.run(asyncio.wait_for(story(), 60))


def test_all_texts_of_a_conversation_count() -> None:
    call = {"function": {"name": "f", "arguments": "{}"}}
    assert sorted(texts_in([{"role": "user", "calls": [call]}, 7])) == sorted(
        ["role", "user", "calls", "function", "name", "f", "arguments", "{}", "7"]
    )
