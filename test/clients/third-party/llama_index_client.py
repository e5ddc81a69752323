"""LlamaIndex by the quick start of llama-index-llms-openai-like."""

from features import API_KEY, BASE_URL, EMBEDDER, MODEL, QUESTION, Product, feature
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

HEAD = {"model": MODEL, "api_base": BASE_URL, "api_key": API_KEY, "max_tokens": 200, "context_window": 2048}
llm = OpenAILike(**HEAD, is_chat_model=True, is_function_calling_model=True)
MESSAGES = [ChatMessage(role="user", content=QUESTION)]


def price_of(product: str) -> float:
    """Look up the price of a product."""
    return len(product)


@feature("chat")
def _() -> None:
    assert isinstance(llm.chat(MESSAGES).message.content, str)


@feature("stream")
def _() -> None:
    assert len(list(llm.stream_chat(MESSAGES))) > 1


@feature("completions")
def _() -> None:
    assert isinstance(OpenAILike(**HEAD, is_chat_model=False).complete(QUESTION).text, str)


@feature("tools")
def _() -> None:
    answer = llm.chat_with_tools([FunctionTool.from_defaults(price_of)], user_msg=QUESTION, tool_required=True)
    calls = llm.get_tool_calls_from_response(answer)
    assert calls[0].tool_name == "price_of" and isinstance(calls[0].tool_kwargs["product"], str)


@feature("structured output")
def _() -> None:
    assert isinstance(llm.structured_predict(Product, PromptTemplate(QUESTION)), Product)
    wanted = OpenAILike(**HEAD, is_chat_model=True, should_use_structured_outputs=True)
    assert isinstance(wanted.structured_predict(Product, PromptTemplate(QUESTION)), Product)


@feature("embeddings")
def _() -> None:
    embedder = OpenAILikeEmbedding(model_name=EMBEDDER, api_base=BASE_URL, api_key=API_KEY)
    assert len(embedder.get_text_embedding("a cat")) == 384
