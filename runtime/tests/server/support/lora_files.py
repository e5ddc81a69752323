"""Adapters made by peft with random factors, and what peft itself generates with them."""

import copy
import hashlib
import random
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save
from transformers import AutoModelForCausalLM, AutoTokenizer

from anneal_runtime.tokenization import prompt_tokens


class ReferenceAdapters:
    def __init__(self, base: Path, folder: Path) -> None:
        self._folder = folder
        self.model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(base)
        self._tuned: dict[str, PeftModel] = {}

    def make(
        self, seed: int, rank: int = 8, target_modules: str | list[str] = "all-linear", *, use_rslora: bool = False
    ) -> tuple[str, dict[str, bytes]]:
        """A name as Anneal makes them, and the files."""
        torch.manual_seed(seed)
        config = LoraConfig(
            r=rank, lora_alpha=rank, target_modules=target_modules, use_rslora=use_rslora, task_type="CAUSAL_LM"
        )
        tuned = get_peft_model(copy.deepcopy(self.model), config)
        for parameter_name, parameter in tuned.named_parameters():
            if "lora_B" in parameter_name:
                torch.nn.init.normal_(parameter, std=0.1)
        name = hashlib.sha256(f"{seed}-{rank}".encode()).hexdigest()
        tuned.save_pretrained(self._folder / name)
        self._tuned[name] = tuned.eval()
        return name, {file: (self._folder / name / file).read_bytes() for file in FILES}

    def generate(self, prompt: str, adapter: str | None = None, max_new_tokens: int = 16) -> str:
        """Greedy, one prompt at a time: what the server's batches must equal."""
        ids = torch.tensor(prompt_tokens(self.tokenizer, [prompt]))
        model = self.model if adapter is None else self._tuned[adapter]
        with torch.inference_mode():
            output = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=max_new_tokens,
                do_sample=False,
                pad_token_id=0,
            )
        return str(self.tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True))

    def tensors(self, name: str) -> dict[str, torch.Tensor]:
        return load_file(self._folder / name / FILES[1])


FILES = ("adapter_config.json", "adapter_model.safetensors")


def with_tensors(files: dict[str, bytes], tensors: dict[str, torch.Tensor]) -> dict[str, bytes]:
    return {**files, FILES[1]: save({key: value.contiguous() for key, value in tensors.items()})}


def prompts(count: int, seed: int = 0) -> list[str]:
    """Of different lengths, in the shapes that the base knows."""
    pick = random.Random(seed)
    people = ["Anna", "Ben", "Clara", "David", "Emma", "Farid", "Grace", "Hugo"]
    asked = ["colour", "price", "city", "age", "favourite number", "street"]
    subjects = [" and ".join(pick.sample(people, pick.randint(1, 6))) for _ in range(count)]
    return [f"Question: What is the {pick.choice(asked)} of {subject}?\nAnswer: " for subject in subjects]
