"""Batched greedy decoding with cached keys and values: rows padded on the left, finished rows dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from transformers import DynamicCache

from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.trainer.forward import autocast

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.answer_form import AnswerForm

# Rows times positions that one batch may hold in its cache.
POSITIONS_AT_ONCE = 32_768


class Answer(NamedTuple):
    """New tokens, without the end token. `is_cut`: the limit came before the end."""

    tokens: list[int]
    is_cut: bool


def generate(
    model: PeftModel, prompts: list[list[int]], *, end: int | None, most_new: int, form: AnswerForm | None = None
) -> list[Answer]:
    """The answer to each prompt, which has the `form`. A batch that does not fit into memory is halved."""
    answers = [Answer([], is_cut=True) for _ in prompts]
    waiting = _batches(prompts, most_new)
    while waiting:
        batch = waiting.pop()
        try:
            found = _decode(model, [prompts[i] for i in batch], end, most_new, form)
            for index, answer in zip(batch, found, strict=True):
                answers[index] = answer
            continue
        except RuntimeError as error:
            if not is_out_of_memory(error) or len(batch) == 1:
                raise
        torch.cuda.empty_cache()
        waiting += [batch[: len(batch) // 2], batch[len(batch) // 2 :]]
    return answers


def _batches(prompts: list[list[int]], most_new: int) -> list[list[int]]:
    """Like lengths together, so that little is padded."""
    batches: list[list[int]] = []
    for index in sorted(range(len(prompts)), key=lambda i: -len(prompts[i])):
        width = len(prompts[batches[-1][0]]) + most_new if batches else 0
        if batches and (len(batches[-1]) + 1) * width <= POSITIONS_AT_ONCE:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _decode(
    model: PeftModel, prompts: list[list[int]], end: int | None, most_new: int, form: AnswerForm | None
) -> list[Answer]:
    device = next(model.parameters()).device
    width = max(map(len, prompts))
    tokens = torch.tensor([[0] * (width - len(ids)) + ids for ids in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts], device=device)
    position = (mask.cumsum(1) - 1).clamp(min=0)
    cache, live = DynamicCache(config=model.config), list(range(len(prompts)))
    answers: list[list[int]] = [[] for _ in prompts]
    typed = None if form is None else form.begin(len(prompts))
    for _ in range(most_new):
        with autocast(model):
            logits = model(
                input_ids=tokens, attention_mask=mask, position_ids=position, past_key_values=cache, logits_to_keep=1
            ).logits
        last = logits[:, -1]
        if form is not None and typed is not None:
            form.restrict(last, typed)
        chosen = last.argmax(-1)
        chosen_tokens = chosen.tolist()
        kept = [line for line, token in enumerate(chosen_tokens) if token != end]
        for line in kept:
            answers[live[line]].append(chosen_tokens[line])
        if typed is not None:
            kept = [line for line in kept if typed[line].takes(chosen_tokens[line])]
            typed = [typed[line] for line in kept]
        if not kept:
            live = []
            break
        if len(kept) < len(live):
            lines = torch.tensor(kept, device=device)
            cache.batch_select_indices(lines)
            chosen, mask, position = chosen[lines], mask[lines], position[lines]
            live = [live[line] for line in kept]
        tokens, position = chosen.unsqueeze(1), position[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(live), 1)], dim=1)
    cut = set(live)
    return [Answer(ids, is_cut=line in cut) for line, ids in enumerate(answers)]
