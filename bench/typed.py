"""In: {"prompts", "regex", "schema", "max_tokens", "grammars"}. Prints the comparison.

Seconds are of processor time: one thread does the work, and neighbours on the machine are not measured along.
"""

import asyncio
import json
import statistics
import sys
import time

import llguidance.hf
from bare_engine import start_engine
from llguidance import LLMatcher

from anneal_runtime.server import engine_requests
from anneal_runtime.server.decoding.grammar import Source
from anneal_runtime.server.decoding.rows import SamplingParams
from anneal_runtime.tokenization import prompt_tokens

ROUNDS = 3

asked = json.load(sys.stdin)
engine = start_engine()
assert engine.generator is not None
grammars = engine.generator.grammars
prompts = prompt_tokens(engine.tokenizer, asked["prompts"])


def answer(grammar: LLMatcher | None, max_tokens: int) -> tuple[float, int]:
    """Returns the seconds and tokens of all answers."""
    params = SamplingParams(max_tokens=max_tokens, temperature=0.0, top_p=1.0, seed=None, stop=())
    started = time.process_time()
    answers = asyncio.run(engine_requests.generate(engine, prompts, params, grammar=grammar))
    return time.process_time() - started, sum(answer.token_count for answer in answers)


def compile_seconds(regex: str) -> float:
    started = time.thread_time()
    grammars.compile(Source("regex", regex))
    return time.thread_time() - started


def spread(seconds: list[float], scale: float) -> str:
    ordered = sorted(seconds)
    p50, p99 = (ordered[int(len(ordered) * share)] * scale for share in (0.5, 0.99))
    return f"p50 {p50:.2f}, p99 {p99:.2f}, most {ordered[-1] * scale:.2f}"


def say(name: str, text: str) -> None:
    print(f"{name:34} {text}")


typed = grammars.compile(Source("regex", asked["regex"]))
stock = LLMatcher(llguidance.hf.from_tokenizer(engine.tokenizer), LLMatcher.grammar_from_json_schema(asked["schema"]))
# Average length of a typed answer, so that untyped answers are as long.
_, tokens = answer(typed, asked["max_tokens"])
modes = {
    "typed": (typed, asked["max_tokens"]),
    "the library's JSON schema": (stock, asked["max_tokens"]),
    "untyped": (None, round(tokens / len(prompts))),
}
speeds: dict[str, list[float]] = {name: [] for name in modes}
lengths: dict[str, float] = {}
for number in range(ROUNDS):
    for name, mode in list(modes.items())[:: 1 if number % 2 else -1]:
        seconds, tokens = answer(*mode)
        speeds[name].append(tokens / seconds)
        lengths[name] = tokens / len(prompts)
for name, values in speeds.items():
    say(name, f"{statistics.median(values):6,.0f} tokens/s, {lengths[name]:.0f} tokens an answer")
for name, target in (("the library's JSON schema", " (at least 1.0)"), ("untyped", "")):
    ratios = [ours / theirs for ours, theirs in zip(speeds["typed"], speeds[name], strict=True)]
    say(f"typed / {name}", f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}){target}")

cold = [compile_seconds(regex) for regex in asked["grammars"]]
say(f"{len(cold)} grammars compiled", f"{spread(cold, 1e3)} ms (p99 at most 20)")
recent = asked["grammars"][-100:]
say("the same again", f"{spread([compile_seconds(regex) for regex in recent], 1e6)} µs")
