"""The fields of a request that few send: penalties, biases, filters, log-probabilities, and prompts as token ids."""

from __future__ import annotations

from typing import Any

from anneal_runtime.server.decoding.extras import Extras
from anneal_runtime.server.errors import ApiError
from anneal_runtime.server.request_numbers import number

# As vLLM's own default.
MAX_LOGPROBS = 20
MAX_BIASES = 1024
NEUTRAL = Extras()


def extras(body: dict[str, Any]) -> Extras | None:
    """None if the body asks for nothing of this. Raises ApiError."""
    found = Extras(
        presence_penalty=number(body, "presence_penalty", 0.0, low=-2, high=2),
        frequency_penalty=number(body, "frequency_penalty", 0.0, low=-2, high=2),
        repetition_penalty=number(body, "repetition_penalty", 1.0, low=0.01, high=100),
        logit_bias=_logit_bias(body.get("logit_bias")),
        # vLLM writes -1 for all tokens.
        top_k=max(0, int(number(body, "top_k", 0, low=-1, high=1 << 31, whole=True))),
        min_p=number(body, "min_p", 0.0, low=0, high=1),
        logprobs=_logprobs(body),
        echo=_flag(body, "echo"),
        include_stop=_flag(body, "include_stop_str_in_output"),
        at_temperature=_flag(body, "logprobs_at_temperature"),
        restricted=_flag(body, "logprobs_restricted"),
    )
    return None if found == NEUTRAL else found


def returns_tokens(body: dict[str, Any]) -> bool:
    """Raises ApiError where the tokens would not be known."""
    is_wanted = _flag(body, "return_token_ids")
    if is_wanted and (body.get("stream") or _logprobs(body) is None):
        raise ApiError(400, "return_token_ids needs logprobs, and no stream.", param="return_token_ids")
    return is_wanted


def token_prompts(body: dict[str, Any]) -> list[list[int]] | None:
    """The prompts if they are lists of token ids, else None. Raises ApiError."""
    value = body.get("prompt")
    if not isinstance(value, list) or not value or isinstance(value[0], str):
        return None
    prompts = value if isinstance(value[0], list) else [value]
    for index, ids in enumerate(prompts):
        if not isinstance(ids, list) or not ids or not all(type(token) is int and token >= 0 for token in ids):
            message = f"The prompt at position {index} must be a list of token ids, at least one."
            raise ApiError(400, message, param="prompt_token_ids", index=index)
    return prompts


def check_vocabulary(body: dict[str, Any], prompts: list[list[int]] | None, size: int) -> None:
    """Raises ApiError for a token id that the model lacks."""
    for index, ids in enumerate(prompts or []):
        if max(ids) >= size:
            message = f"The prompt at position {index} has a token id above {size - 1}, the model's largest."
            raise ApiError(400, message, param="prompt_token_ids", index=index)
    if any(int(token) >= size for token in body.get("logit_bias") or {}):
        message = f"logit_bias has a token id above {size - 1}, the model's largest."
        raise ApiError(400, message, param="logit_bias")


def _logprobs(body: dict[str, Any]) -> int | None:
    """A number for completions. A chat says whether, and how many in `top_logprobs`."""
    value = body.get("logprobs")
    if value is None or value is False:
        return None
    if value is True:
        return int(number(body, "top_logprobs", 0, low=0, high=MAX_LOGPROBS, whole=True))
    return int(number(body, "logprobs", 0, low=0, high=MAX_LOGPROBS, whole=True))


def _logit_bias(value: object) -> tuple[tuple[int, float], ...]:
    if value is None:
        return ()
    refusal = ApiError(
        400, f"logit_bias must map at most {MAX_BIASES} token ids to numbers from -100 to 100.", param="logit_bias"
    )
    if not isinstance(value, dict) or len(value) > MAX_BIASES:
        raise refusal
    for token, bias in value.items():
        is_number = isinstance(bias, (int, float)) and not isinstance(bias, bool)
        if not token.isascii() or not token.isdigit() or not is_number or not -100 <= bias <= 100:
            raise refusal
    return tuple((int(token), float(bias)) for token, bias in value.items())


def _flag(body: dict[str, Any], field: str) -> bool:
    value = body.get(field)
    if value is not None and not isinstance(value, bool):
        raise ApiError(400, f"{field} must be true or false.", param=field)
    return bool(value)
