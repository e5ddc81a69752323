"""Checks that this vLLM is supported: by its version, and by a generation for each way of writing a shape."""

from __future__ import annotations

import re

from anneal_runtime.vllm_sidecar.engine import EngineAnswer, VllmClient

# `structured_outputs` is the only spelling since 0.12. Newer minor versions are tried out before they are added here.
OLDEST, NEWEST = (0, 12), (0, 33)
VERSION = re.compile(r"(\d+)\.(\d+)")
PROBE_TEXT = "Question: What colour is it?\nAnswer: "
PROBE_REGEX = r"\{\"n\":[1-9][0-9]\}"
PROBE_GRAMMAR = '%llguidance {}\nstart: "{\\"n\\":" /[1-9][0-9]/ "}"\n'


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
    answer = (await _ask(engine, model, {"regex": PROBE_REGEX})).settled()
    if answer.status != 200:
        raise UnknownEngine(f"vLLM refused a test generation with {model}: {answer.message()}")
    _check_shape(answer, model, "regex")


async def try_grammar(engine: VllmClient, model: str) -> None:
    """As `try_generation`, with a grammar as JSON schemas and calls need it. Raises UnknownEngine, EngineAway."""
    answer = await _ask(engine, model, {"grammar": PROBE_GRAMMAR})
    # The other backends fail on it, where the same request with a regex has just succeeded.
    if answer.status in (400, 500):
        raise UnknownEngine(
            f"vLLM does not read our grammars: start it with --structured-outputs-config.backend guidance. "
            f"It answered: {answer.message()}"
        )
    _check_shape(answer.settled(), model, "grammar")


async def _ask(engine: VllmClient, model: str, shape: dict[str, str]) -> EngineAnswer:
    asked = {"model": model, "prompt": PROBE_TEXT, "max_tokens": 16, "temperature": 0, "structured_outputs": shape}
    return await engine.post("/v1/completions", asked)


def _check_shape(answer: EngineAnswer, model: str, kind: str) -> None:
    text = str(answer.json()["choices"][0]["text"])
    if not re.fullmatch(PROBE_REGEX, text):
        raise UnknownEngine(f"{model} did not follow structured_outputs.{kind}: it answered {text[:100]!r}.")
