"""What a client can do with the service. Each feature is one line of JSON on stdout: its name, and null or what went wrong."""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

MODEL = os.environ["BASE_MODEL"]
BASE_URL = os.environ["OPENAI_BASE_URL"]
API_KEY = os.environ["OPENAI_API_KEY"]
EMBEDDER = "all-MiniLM-L6-v2"
QUESTION = "Which product is made in Norway?"
results = sys.stdout
# Some clients print to stdout, and some write into the folder that they run in.
sys.stdout = sys.stderr
os.chdir(Path(__file__).parent)


class Product(BaseModel):
    """A product of the shop."""

    name: str
    year: int
    tags: list[str]


class Refused(Exception):
    """The client is refused as it should be, with this sentence."""


def feature(name: str) -> Callable[[Callable[[], Any]], None]:
    """Runs the function at once. A feature that ends with Refused is shown with its sentence."""

    def run(work: Callable[[], Any]) -> None:
        error, sentence = None, None
        try:
            done = work()
            if inspect.isawaitable(done):
                asyncio.run(_await(done))
        except Refused as refusal:
            sentence = str(refusal)
        except Exception as failure:  # noqa: BLE001
            error = f"{type(failure).__name__}: {failure}"[:2000]
        print(json.dumps({"check": name, "error": error, "refused": sentence}), file=results, flush=True)

    return run


async def _await(done: Any) -> Any:
    return await done


def refused(part: str, work: Callable[[], Any]) -> None:
    """Asks for what the service does not do: the client has to show the sentence that says so."""
    try:
        work()
    except Exception as failure:  # noqa: BLE001
        message = str(failure)
        assert part in message, f"{type(failure).__name__}: {message}"
        raise Refused(part) from None
    raise AssertionError(f"not refused: {part}")
