"""Tokens/s of one load on the base, on one adapter, and mixed over 2 to 16 of them, on the same engine.

The adapters have the shape of a default fine-tune and change nothing, so that all answers are as long as the base's.
Seconds are processor time, so that other programs on the machine do not count: one thread does the work.
"""

import asyncio
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bare_engine import start_engine
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from anneal_runtime.server import engine_requests
from anneal_runtime.server.decoding.rows import Answer, SamplingParams
from anneal_runtime.tokenization import prompt_tokens

PROMPTS, MAX_TOKENS, RANK, ROUNDS = 256, 32, 64, 3
COUNTS = (0, 1, 2, 4, 8, 16)

engine = start_engine()
assert engine.generator is not None
read_adapter = engine.generator.read_adapter
params = SamplingParams(max_tokens=MAX_TOKENS, temperature=0.0, top_p=1.0, seed=None, stop=())
prompts = prompt_tokens(engine.tokenizer, [f"Question: What is product {n}?\nAnswer: " for n in range(PROMPTS)])


def write_adapter(folder: Path) -> None:
    config = LoraConfig(r=RANK, target_modules="all-linear", task_type="CAUSAL_LM")
    get_peft_model(AutoModelForCausalLM.from_pretrained(engine.folder), config).save_pretrained(folder)


async def answer(adapters: list[Any]) -> list[Answer]:
    """Sends each prompt by itself, so that every batch holds rows of all adapters."""
    requests = [
        engine_requests.generate(engine, [prompt], params, adapter=adapters[at % len(adapters)])
        for at, prompt in enumerate(prompts)
    ]
    return [answer for answers in await asyncio.gather(*requests) for answer in answers]


def tokens_per_second(adapters: list[Any]) -> float:
    started = time.process_time()
    answers = asyncio.run(answer(adapters))
    return sum(answer.token_count for answer in answers) / (time.process_time() - started)


with TemporaryDirectory() as written:
    write_adapter(Path(written))
    adapters: list[Any] = [read_adapter(str(number), Path(written)) for number in range(max(COUNTS))]
speeds: dict[int, list[float]] = {count: [] for count in COUNTS}
# The first round is a warm-up.
for number in range(ROUNDS + 1):
    for count in COUNTS if number % 2 else reversed(COUNTS):
        speed = tokens_per_second(adapters[:count] or [None])
        if number > 0:
            speeds[count].append(speed)


def ratio(count: int, baseline: int) -> str:
    ratios = [ours / theirs for ours, theirs in zip(speeds[count], speeds[baseline], strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


print(f"{PROMPTS} prompts, {MAX_TOKENS} tokens each at most; rank {RANK} on every linear layer; {ROUNDS} rounds")
for count in COUNTS:
    name = "the base alone" if count == 0 else f"{count} adapter{'s' if count > 1 else ''}"
    of_one = "" if count <= 1 else f"   of one adapter {ratio(count, 1)}"
    of_base = "" if count == 0 else f"   of the base {ratio(count, 0)}"
    print(f"  {name:16} {statistics.median(speeds[count]):7,.0f} tokens/s{of_base}{of_one}")
print("target: 16 adapters at least 0.8 of one")
