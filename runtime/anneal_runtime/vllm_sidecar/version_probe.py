"""Checks that this vLLM is supported: by its version, and by one typed generation."""

from __future__ import annotations

import re

from anneal_runtime.vllm_sidecar.engine import VllmClient

# `structured_outputs` is the only spelling since 0.12. Newer minor versions are tried out before they are added here.
OLDEST, NEWEST = (0, 12), (0, 33)
VERSION = re.compile(r"(\d+)\.(\d+)")
PROBE_TEXT = "Question: What colour is it?\nAnswer: "
PROBE_REGEX = r"\{\"n\":[1-9][0-9]\}"


class UnknownEngine(Exception):
    """vLLM of another version, or started without an option that we need; the message names it."""


async def check_version(engine: VllmClient) -> str:
    """Raises UnknownEngine, EngineAway."""
    answer = (await engine.get("/version")).settled()
    try:
        version = str(answer.json()["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownEngine(
            f"The engine is not vLLM: GET /version answered {answer.status} without a version."
        ) from error
    found = VERSION.match(version)
    if found is None or not OLDEST <= (int(found[1]), int(found[2])) <= NEWEST:
        wanted = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
        raise UnknownEngine(f"vLLM {version} is not supported: run {wanted}.")
    return version


async def context_length(engine: VllmClient, model: str) -> int:
    """Context length of the model, which vLLM must serve under this name. Raises UnknownEngine, EngineAway."""
    answer = (await engine.get("/v1/models")).settled()
    try:
        entries = {entry["id"]: entry for entry in answer.json()["data"]}
        return int(entries[model]["max_model_len"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownEngine(f"vLLM does not serve {model}: start it with --served-model-name {model}.") from error


async def try_generation(engine: VllmClient, model: str) -> None:
    """Generates one typed answer. Raises UnknownEngine, EngineAway."""
    body = {
        "model": model,
        "prompt": PROBE_TEXT,
        "max_tokens": 16,
        "temperature": 0,
        "structured_outputs": {"regex": PROBE_REGEX},
    }
    answer = (await engine.post("/v1/completions", body)).settled()
    if answer.status != 200:
        raise UnknownEngine(f"vLLM refused a test generation with {model}: {answer.message()}")
    text = str(answer.json()["choices"][0]["text"])
    if not re.fullmatch(PROBE_REGEX, text):
        raise UnknownEngine(f"{model} did not follow structured_outputs.regex: it answered {text[:100]!r}.")
