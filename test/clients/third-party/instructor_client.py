"""instructor by its quick start: the client of OpenAI's SDK, patched."""

from collections.abc import Iterable

import instructor
from features import MODEL, QUESTION, Product, feature
from openai import OpenAI

MESSAGES = [{"role": "user", "content": QUESTION}]
ASKED = {"model": MODEL, "messages": MESSAGES, "max_tokens": 200}


@feature("structured output")
def _() -> None:
    client = instructor.from_openai(OpenAI())
    assert isinstance(client.chat.completions.create(response_model=Product, **ASKED), Product)


@feature("structured output by schema")
def _() -> None:
    client = instructor.from_openai(OpenAI(), mode=instructor.Mode.JSON_SCHEMA)
    assert isinstance(client.chat.completions.create(response_model=Product, **ASKED), Product)


@feature("structured output, provider string")
def _() -> None:
    client = instructor.from_provider(f"openai/{MODEL}")
    assert isinstance(client.create(response_model=Product, messages=MESSAGES, max_tokens=200), Product)


@feature("stream of a structure")
def _() -> None:
    client = instructor.from_openai(OpenAI())
    parts = list(client.chat.completions.create_partial(response_model=Product, **ASKED))
    assert parts[-1].name is not None and isinstance(parts[-1].year, int)


@feature("list of structures")
def _() -> None:
    client = instructor.from_openai(OpenAI())
    found = client.chat.completions.create(response_model=Iterable[Product], **{**ASKED, "max_tokens": 600})
    assert all(isinstance(each, Product) for each in found)
