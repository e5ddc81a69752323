"""llm by its page on models that speak OpenAI's API: a file with the model, then its command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

from features import API_KEY, BASE_URL, MODEL, QUESTION, feature

home = Path("llm-home").absolute()
home.mkdir()
(home / "extra-openai-models.yaml").write_text(
    f"""- model_id: anneal
  model_name: {MODEL}
  api_base: {BASE_URL}
  api_key_name: anneal
  supports_tools: true
  supports_schema: true
- model_id: anneal-completion
  model_name: {MODEL}
  api_base: {BASE_URL}
  api_key_name: anneal
  completion: true
"""
)
ENV = {**os.environ, "LLM_USER_PATH": str(home)}


def llm(*words: str) -> str:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "llm"), *words], env=ENV, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


llm("keys", "set", "anneal", "--value", API_KEY)


@feature("chat")
def _() -> None:
    llm("-m", "anneal", QUESTION, "--no-stream", "-o", "max_tokens", "20")


@feature("stream")
def _() -> None:
    llm("-m", "anneal", QUESTION, "-o", "max_tokens", "20")


@feature("conversation")
def _() -> None:
    llm("-m", "anneal", "-c", "And then?", "-o", "max_tokens", "20")


@feature("structured output")
def _() -> None:
    answer = json.loads(llm("-m", "anneal", "--schema", "name, year int", QUESTION, "--no-stream"))
    assert isinstance(answer["year"], int)


@feature("tools")
def _() -> None:
    llm("-m", "anneal", "-T", "llm_version", QUESTION, "--no-stream", "--chain-limit", "0", "-o", "max_tokens", "100")


@feature("completions")
def _() -> None:
    llm("-m", "anneal-completion", QUESTION, "-o", "max_tokens", "8")
