"""Tokens/s of our engine against transformers' generate, on the same weights in one process: python engine.py MODEL.

The prompts of a comparison are equally long, so that neither side computes padding. Answers are greedy. A model of
random weights hardly ever ends an answer before the limit.
"""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from bare_engine import start_engine

from anneal_runtime.model_source import choose_device, load_causal_lm
from anneal_runtime.server import engine_requests
from anneal_runtime.server.decoding.rows import SamplingParams

ROUNDS, PROMPT_TOKENS = 2, 32
COUNTS, NEW_TOKENS = ((1, 8, 64), 64) if torch.cuda.is_available() else ((1, 8), 16)


def main() -> None:
    folder = Path(sys.argv[1])
    for dtype in ("bfloat16", "float32"):
        compare(folder, dtype)


def compare(folder: Path, dtype: str) -> None:
    spec = {"name": "llama", "engine": "transformers", "source": {"path": str(folder)}, "context_length": 1024}
    engine = start_engine({**spec, "max_batch": max(COUNTS), "dtype": dtype})
    device = choose_device()
    model = load_causal_lm(folder, device, getattr(torch, dtype)).model
    params = SamplingParams(max_tokens=NEW_TOKENS, temperature=0.0, top_p=1.0, seed=None, stop=())
    rng = random.Random(1)
    for count in COUNTS:
        prompts = [[1] + [rng.randrange(3, 1000) for _ in range(PROMPT_TOKENS - 1)] for _ in range(count)]

        def ours(prompts: list[list[int]] = prompts) -> int:
            answers = asyncio.run(engine_requests.generate(engine, prompts, params))
            return sum(answer.token_count for answer in answers)

        def theirs(prompts: list[list[int]] = prompts) -> int:
            tokens = torch.tensor(prompts, device=device)
            with torch.inference_mode():
                answers = model.generate(
                    input_ids=tokens,
                    attention_mask=torch.ones_like(tokens),
                    max_new_tokens=NEW_TOKENS,
                    do_sample=False,
                    pad_token_id=0,
                )
            return int((answers[:, PROMPT_TOKENS:] != 0).sum())

        speeds = [(tokens_per_second(ours), tokens_per_second(theirs)) for _ in range(ROUNDS + 1)][1:]
        ratios = [mine / other for mine, other in speeds]
        our_speed, their_speed = (statistics.median(side) for side in zip(*speeds, strict=True))
        print(
            f"{dtype}, {count} at once: ours {our_speed:,.0f} tokens/s, generate {their_speed:,.0f}: "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def tokens_per_second(answer: Callable[[], int]) -> float:
    started = time.perf_counter()
    tokens = answer()
    return tokens / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
