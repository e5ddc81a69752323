"""pydantic-ai by its quick start for an endpoint that speaks OpenAI's API."""

import contextlib

from features import API_KEY, BASE_URL, MODEL, QUESTION, Product, feature
from pydantic_ai import Agent, NativeOutput, UsageLimitExceeded, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url=BASE_URL, api_key=API_KEY)
model = OpenAIChatModel(MODEL, provider=provider)
SETTINGS = {"max_tokens": 300}


@feature("chat")
def _() -> None:
    assert isinstance(Agent(model, model_settings=SETTINGS).run_sync(QUESTION).output, str)


@feature("stream")
async def _() -> None:
    async with Agent(model, model_settings=SETTINGS).run_stream(QUESTION) as result:
        assert len([piece async for piece in result.stream_text(delta=True)]) > 0


@feature("structured output")
def _() -> None:
    assert isinstance(Agent(model, output_type=Product, model_settings=SETTINGS).run_sync(QUESTION).output, Product)


@feature("structured output by schema")
def _() -> None:
    agent = Agent(model, output_type=NativeOutput(Product), model_settings=SETTINGS)
    assert isinstance(agent.run_sync(QUESTION).output, Product)


@feature("tools")
def _() -> None:
    agent = Agent(model, output_type=Product, model_settings=SETTINGS)
    asked = []

    @agent.tool_plain
    def price_of(product: str) -> float:
        """Look up the price of a product."""
        asked.append(product)
        return len(product)

    # A model that was not trained on tools may call for ever.
    with contextlib.suppress(UsageLimitExceeded):
        agent.run_sync(QUESTION, usage_limits=UsageLimits(request_limit=2))
    assert all(isinstance(product, str) for product in asked)


@feature("responses")
def _() -> None:
    agent = Agent(OpenAIResponsesModel(MODEL, provider=provider), model_settings=SETTINGS)
    assert isinstance(agent.run_sync(QUESTION).output, str)
