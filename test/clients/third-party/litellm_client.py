"""LiteLLM by its quick start for an endpoint that speaks OpenAI's API."""

import json

import litellm
from features import API_KEY, BASE_URL, EMBEDDER, MODEL, QUESTION, Product, feature

ASKED = {"model": f"openai/{MODEL}", "api_base": BASE_URL, "api_key": API_KEY, "max_tokens": 200}
MESSAGES = [{"role": "user", "content": QUESTION}]
TOOL = {
    "type": "function",
    "function": {
        "name": "price_of",
        "parameters": {"type": "object", "properties": {"product": {"type": "string"}}, "required": ["product"]},
    },
}


@feature("chat")
def _() -> None:
    answer = litellm.completion(messages=MESSAGES, **ASKED)
    assert isinstance(answer.choices[0].message.content, str) and answer.usage.completion_tokens > 0


@feature("stream")
def _() -> None:
    assert len(list(litellm.completion(messages=MESSAGES, stream=True, **ASKED))) > 1


@feature("completions")
def _() -> None:
    asked = {**ASKED, "model": f"text-completion-openai/{MODEL}", "max_tokens": 8}
    assert isinstance(litellm.text_completion(prompt=QUESTION, **asked).choices[0].text, str)


@feature("tools")
def _() -> None:
    choice = {"type": "function", "function": {"name": "price_of"}}
    answer = litellm.completion(messages=MESSAGES, tools=[TOOL], tool_choice=choice, **ASKED)
    assert "product" in json.loads(answer.choices[0].message.tool_calls[0].function.arguments)


@feature("structured output")
def _() -> None:
    answer = litellm.completion(messages=MESSAGES, response_format=Product, **ASKED)
    Product.model_validate_json(answer.choices[0].message.content)


@feature("responses")
def _() -> None:
    asked = {key: value for key, value in ASKED.items() if key != "max_tokens"}
    assert litellm.responses(input=QUESTION, max_output_tokens=20, **asked).output


@feature("embeddings")
def _() -> None:
    asked = {**ASKED, "model": f"openai/{EMBEDDER}"}
    asked.pop("max_tokens")
    assert len(litellm.embedding(input=["a cat"], **asked).data[0]["embedding"]) == 384


@feature("a model that does not exist")
def _() -> None:
    try:
        litellm.completion(messages=MESSAGES, **{**ASKED, "model": "openai/none"})
    except litellm.NotFoundError as error:
        assert 'There is no model "none"' in str(error)
        return
    raise AssertionError("no NotFoundError")
