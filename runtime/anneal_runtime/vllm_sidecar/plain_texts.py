"""Keeps special tokens in users' texts from acting in vLLM, which reads them wherever they stand. A request whose texts
spell one is tokenized here, and vLLM gets token ids. Other requests go to vLLM as they are.

The tokenizer comes from the model's files, which both containers can read. Without these files the texts go to vLLM as
they are.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anneal_runtime.log import log
from anneal_runtime.server import request_bodies
from anneal_runtime.server.account_turns import AccountThreads, Sharing
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.text_threads import pieces
from anneal_runtime.tokenization import ChatRefused, TextEncoder
from anneal_runtime.vllm_sidecar.version_probe import PROBE_TEXT

if TYPE_CHECKING:
    from anneal_runtime.row_preview import Preview
    from anneal_runtime.settings import ServerSettings
    from anneal_runtime.vllm_sidecar.engine import VllmClient

# A completion of token ids takes none of these fields of a chat.
OF_CHATS = ("messages", "tools", "tool_choice", "top_logprobs", "add_generation_prompt", "chat_template_kwargs")


class PlainTexts:
    def __init__(self, encoder: TextEncoder | None, sharing: Sharing | None = None) -> None:
        self._encoder, self._turns = encoder, AccountThreads("text", sharing=sharing)

    async def prompts(self, account: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a completion without `text_before`. Raises ApiError."""
        if "text_before" not in body:
            return body
        prompts, encoder = request_bodies.prompts(body), self._encoder
        rest = {key: value for key, value in body.items() if key != "text_before"}
        if encoder is None:
            joined = [each.before + each.text for each in prompts]
            return {**rest, "prompt": joined[0] if isinstance(body["prompt"], str) else joined}
        texts = [each.before + encoder.prompt(each.text) for each in prompts]
        return {**rest, "prompt": await self._turns.run(account, encoder.prompts, texts)}

    async def chat(self, account: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a chat, or of a completion of its tokens. Raises ApiError."""
        encoder, messages = self._encoder, request_bodies.messages(body)
        if encoder is None or not encoder.spells(messages):
            return body
        if body.get("logprobs"):
            message = "logprobs are not available for messages that spell a special token of a model that vLLM serves."
            raise ApiError(400, message, param="logprobs")
        try:
            tokens = await self._turns.run(account, encoder.chats, [messages])
        except ChatRefused as error:
            raise ApiError(400, str(error), param="messages") from error
        return {**{key: value for key, value in body.items() if key not in OF_CHATS}, "prompt": tokens}

    async def texts(self, account: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a request for embeddings. Raises ApiError."""
        encoder, texts = self._encoder, request_bodies.texts(body, "input")
        if encoder is None or not encoder.spells(texts):
            return body
        tokens = await self._turns.run(account, lambda: [encoder.whole(text) for text in texts])
        return {**body, "input": tokens}

    async def previews(self, account: str, preview: Preview, rows: list[str]) -> list[dict[str, Any]]:
        """The rows as a training would learn them. Raises ApiError."""
        if self._encoder is None:
            raise ApiError(400, "Tokens cannot be shown, because the server cannot read the model's tokenizer.")
        run, encoder = self._turns.run, self._encoder
        return [each for piece in pieces(rows) for each in await run(account, preview.of, encoder, piece)]


async def plain_texts(settings: ServerSettings, engine: VllmClient, sharing: Sharing | None) -> PlainTexts:
    """Raises EngineAway."""
    try:
        encoder = await asyncio.to_thread(_load_encoder, settings)
        await _check(encoder, engine, settings.spec.name)
    except (OSError, ValueError, KeyError) as error:
        log(f"Special tokens act in users' texts, because the sidecar cannot read the model's tokenizer: {error}")
        return PlainTexts(None)
    return PlainTexts(encoder, sharing)


def _load_encoder(settings: ServerSettings) -> TextEncoder:
    # Unlike AutoTokenizer this class does not import torch.
    from transformers import PreTrainedTokenizerFast

    source = settings.spec.source
    folder = settings.models_dir / str(source["path"]) if "path" in source else _in_cache(source, settings.work_dir)
    return TextEncoder(PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True))


def _in_cache(source: dict[str, Any], work_dir: Path) -> Path:
    """Where vLLM has put the files of a hub's model. Raises ValueError."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(
        source["hub"],
        "tokenizer.json",
        cache_dir=work_dir / "huggingface" / "hub",
        revision=source.get("revision"),
    )
    if not isinstance(found, str):
        raise ValueError(f"{source['hub']} has no tokenizer.json in the folder that both containers share")
    return Path(found).parent


async def _check(encoder: TextEncoder, engine: VllmClient, model: str) -> None:
    """Raises ValueError when vLLM reads another tokenizer, EngineAway."""
    answer = (await engine.post("/tokenize", {"model": model, "prompt": PROBE_TEXT})).settled()
    (tokens,) = encoder.prompts([PROBE_TEXT])
    if answer.status != 200 or answer.json()["tokens"] != tokens:
        raise ValueError("vLLM reads a text as other tokens")
