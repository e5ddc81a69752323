"""inspect-ai by its quick start for an endpoint that speaks OpenAI's API."""

import os

from features import API_KEY, BASE_URL, MODEL, QUESTION, feature
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice, use_tools
from inspect_ai.tool import tool
from inspect_ai.util import json_schema
from pydantic import BaseModel

os.environ.update({"ANNEAL_API_KEY": API_KEY, "ANNEAL_BASE_URL": BASE_URL})
SAMPLES = [Sample(input=QUESTION, target="a")]


class Answer(BaseModel):
    year: int


def run(task: Task, **more: object) -> None:
    (log,) = eval(task, model=f"openai-api/anneal/{MODEL}", display="none", log_dir="logs", max_tokens=40, **more)
    assert log.status == "success", log.error
    assert log.results and log.results.completed_samples == len(task.dataset)


@tool
def price_of():  # noqa: ANN201
    async def execute(product: str) -> float:
        """Look up the price of a product.

        Args:
            product: The name of the product
        """
        return len(product)

    return execute


@feature("generation and score")
def _() -> None:
    run(Task(dataset=SAMPLES, solver=generate(), scorer=includes()))


@feature("multiple choice")
def _() -> None:
    samples = [Sample(input=QUESTION, choices=["Tent", "Lamp"], target="A")]
    run(Task(dataset=samples, solver=multiple_choice(), scorer=choice()))


@feature("tools")
def _() -> None:
    run(Task(dataset=SAMPLES, solver=[use_tools(price_of()), generate()], scorer=includes()), message_limit=4)


@feature("structured output")
def _() -> None:
    schema = ResponseSchema(name="answer", json_schema=json_schema(Answer))
    config = GenerateConfig(response_schema=schema)
    run(Task(dataset=SAMPLES, solver=generate(), scorer=includes(), config=config))
