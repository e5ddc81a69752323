"""LangChain by the quick start of langchain-openai."""

from features import EMBEDDER, MODEL, QUESTION, Product, feature
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

llm = ChatOpenAI(model=MODEL, max_tokens=200)


@tool
def price_of(product: str) -> float:
    """Look up the price of a product."""
    return len(product)


@feature("chat")
def _() -> None:
    answer = llm.invoke([("system", "Be brief."), ("human", QUESTION)])
    assert isinstance(answer.content, str) and answer.usage_metadata["output_tokens"] > 0


@feature("stream")
def _() -> None:
    assert len(list(llm.stream(QUESTION))) > 1


@feature("batch of prompts")
def _() -> None:
    assert len(llm.batch([QUESTION, QUESTION])) == 2


@feature("tools")
def _() -> None:
    answer = llm.bind_tools([price_of], tool_choice="price_of").invoke(QUESTION)
    assert answer.tool_calls[0]["name"] == "price_of" and isinstance(answer.tool_calls[0]["args"]["product"], str)
    llm.bind_tools([price_of]).invoke(QUESTION)


@feature("structured output")
def _() -> None:
    assert isinstance(llm.with_structured_output(Product).invoke(QUESTION), Product)
    assert isinstance(llm.with_structured_output(Product, method="function_calling").invoke(QUESTION), Product)
    assert isinstance(llm.with_structured_output(Product, method="json_schema", strict=True).invoke(QUESTION), Product)


@feature("log-probabilities")
def _() -> None:
    answer = llm.bind(logprobs=True).invoke(QUESTION)
    assert answer.response_metadata["logprobs"]["content"]


@feature("completions")
def _() -> None:
    assert isinstance(OpenAI(model=MODEL, max_tokens=8).invoke(QUESTION), str)


@feature("responses")
def _() -> None:
    answer = ChatOpenAI(model=MODEL, use_responses_api=True, max_tokens=20).invoke(QUESTION)
    assert answer.text is not None


@feature("embeddings")
def _() -> None:
    embeddings = OpenAIEmbeddings(model=EMBEDDER, check_embedding_ctx_length=False)
    assert len(embeddings.embed_documents(["a cat", "a dog"])[1]) == 384
