"""Sends all prompts to the engine in one call.

In: {"prompts", "regex", "max_tokens"}; out: {"seconds", "texts"}.
"""

import asyncio
import json
import sys
import time

from bare_engine import start_engine

from anneal_runtime.server import engine_requests
from anneal_runtime.server.decoding.grammar import Source
from anneal_runtime.server.decoding.rows import SamplingParams
from anneal_runtime.tokenization import prompt_tokens

asked = json.load(sys.stdin)
engine = start_engine()
params = SamplingParams(max_tokens=asked["max_tokens"], temperature=0.0, top_p=1.0, seed=None, stop=())


async def answer(prompts: list[str]) -> list[str]:
    assert engine.generator is not None
    grammar = engine.generator.grammars.compile(Source("regex", asked["regex"]))
    answers = await engine_requests.generate(engine, prompt_tokens(engine.tokenizer, prompts), params, grammar=grammar)
    return [answer.text for answer in answers]


asyncio.run(answer(asked["prompts"][:64]))
started = time.perf_counter()
texts = asyncio.run(answer(asked["prompts"]))
print(json.dumps({"seconds": time.perf_counter() - started, "texts": texts}))
