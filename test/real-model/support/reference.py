"""Greedy answers, probabilities and embeddings by plain transformers and PEFT, without a line of our package.

In: {"folder", "adapter", "cases": [{"messages" or "prompt" (and "marks") or "ids", "most"
(and "repetition_penalty")}], "texts"}. Out: {"cases", "vectors"}.
"""

import json
import sys
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

asked = json.load(sys.stdin)
tokenizer = AutoTokenizer.from_pretrained(asked["folder"])
# In float32, as our engine computes on a CPU.
model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32)
if asked.get("adapter"):
    model = PeftModel.from_pretrained(model, asked["adapter"])
model.eval()


def ids_of(case: dict[str, Any]) -> list[int]:
    if "ids" in case:
        return case["ids"]
    if "prompt" in case:
        return tokenizer(case["prompt"], split_special_tokens=not case.get("marks", True))["input_ids"]
    return tokenizer.apply_chat_template(case["messages"], add_generation_prompt=True, return_dict=True)["input_ids"]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    ids = ids_of(case)
    given = torch.tensor([ids])
    whole = model.generate(
        input_ids=given,
        attention_mask=torch.ones_like(given),
        max_new_tokens=case["most"],
        do_sample=False,
        repetition_penalty=case.get("repetition_penalty", 1.0),
    )[0]
    said = whole[len(ids) :].tolist()
    scores = torch.log_softmax(model(whole[None]).logits[0, :-1], dim=-1)
    logprobs = scores.gather(1, whole[1:, None])[:, 0].tolist()
    ended = said[-1] == tokenizer.eos_token_id
    return {
        "ids": ids,
        "said": said[:-1] if ended else said,
        "ended": ended,
        "text": tokenizer.decode(said, skip_special_tokens=True),
        "prompt_logprobs": logprobs[: len(ids) - 1],
        "logprobs": logprobs[len(ids) - 1 :],
        "rendered": tokenizer.decode(ids),
    }


def vector(text: str) -> list[float]:
    states = model.base_model(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
    return torch.nn.functional.normalize(states.mean(0), dim=0).tolist()


with torch.no_grad():
    vectors = [vector(text) for text in asked.get("texts", [])]
    print(json.dumps({"cases": [answer(case) for case in asked["cases"]], "vectors": vectors}))
