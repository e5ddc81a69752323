"""DSPy by its quick start. LiteLLM's list of models does not know ours, so it is told what the model can do."""

import dspy
import litellm
from features import API_KEY, BASE_URL, EMBEDDER, MODEL, QUESTION, Product, feature, refused

NAME = f"openai/{MODEL}"
HEAD = {"api_base": BASE_URL, "api_key": API_KEY}
lm = dspy.LM(NAME, max_tokens=300, temperature=0.0, cache=False, **HEAD)
dspy.configure(lm=lm)


class Find(dspy.Signature):
    """Find the product."""

    question: str = dspy.InputField()
    product: Product = dspy.OutputField()


@feature("chat")
def _() -> None:
    assert isinstance(lm(QUESTION)[0], str)


@feature("any JSON object, of a model that does not follow instructions")
def _() -> None:
    refused("Expected to find output fields in the LM response: [product]", lambda: dspy.Predict(Find)(question=QUESTION))


litellm.register_model({NAME: {"litellm_provider": "openai", "mode": "chat", "supports_response_schema": True}})


@feature("structured output")
def _() -> None:
    with dspy.context(adapter=dspy.JSONAdapter()):
        assert isinstance(dspy.Predict(Find)(question=QUESTION).product, Product)
        assert isinstance(dspy.Predict("question -> answer: str, year: int")(question=QUESTION).year, int)


@feature("structured output by the default adapter")
def _() -> None:
    assert isinstance(dspy.Predict(Find)(question=QUESTION).product, Product)


@feature("embeddings")
def _() -> None:
    embedder = dspy.Embedder(f"openai/{EMBEDDER}", caching=False, **HEAD)
    assert embedder(["a cat"]).shape == (1, 384)
