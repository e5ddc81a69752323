"""transformers' generate, as a plain script uses it: generate.py FOLDER DTYPE.

Reads lines {"prompts", "max_tokens"}; writes lines {"tokens", "seconds"}. Answers are greedy.
"""

import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, dtype = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token

for line in sys.stdin:
    asked = json.loads(line)
    started = time.perf_counter()
    batch = tokenizer(asked["prompts"], return_tensors="pt", padding=True)
    with torch.inference_mode():
        answers = model.generate(**batch, max_new_tokens=asked["max_tokens"], do_sample=False)
    seconds = time.perf_counter() - started
    written = answers[:, batch["input_ids"].shape[1] :]
    # Each answer ends with its first end token; what follows is padding.
    tokens = sum(1 + int((row[:-1] != tokenizer.eos_token_id).cumprod(0).sum()) for row in written)
    print(json.dumps({"tokens": tokens, "seconds": seconds}), flush=True)
