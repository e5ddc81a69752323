"""Sends all prompts of a line to the engine in one call.

Reads lines {"prompts", "regex", "max_tokens"}; writes lines {"seconds", "texts"}.
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

engine = start_engine()


async def answer(prompts: list[str], regex: str, max_tokens: int) -> list[str]:
    assert engine.generator is not None
    params = SamplingParams(max_tokens=max_tokens, temperature=0.0, top_p=1.0, seed=None, stop=())
    grammar = engine.generator.grammars.compile(Source("regex", regex))
    answers = await engine_requests.generate(engine, prompt_tokens(engine.tokenizer, prompts), params, grammar=grammar)
    return [answer.text for answer in answers]


for line in sys.stdin:
    asked = json.loads(line)
    started = time.perf_counter()
    texts = asyncio.run(answer(**asked))
    print(json.dumps({"seconds": time.perf_counter() - started, "texts": texts}), flush=True)
