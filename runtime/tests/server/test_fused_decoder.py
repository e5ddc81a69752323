"""The fused decoder computes what transformers' own does, for each kind of model that it takes."""

import copy
from typing import Any

import pytest
import torch
import transformers
from transformers import PreTrainedModel

from anneal_runtime.server.decoding.cache import RowCache
from anneal_runtime.server.decoding.fused_decoder import FusedDecoder, fuse

SMALL: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "initializer_range": 0.2,
}
SMOLLM2 = transformers.LlamaConfig(**SMALL, tie_word_embeddings=True, rope_theta=100000.0)
BASES = {
    "llama": SMOLLM2,
    "qwen2": transformers.Qwen2Config(**SMALL),
    "qwen3": transformers.Qwen3Config(**SMALL),
    "mistral": transformers.MistralConfig(**SMALL, sliding_window=None),
}


def pair(config: Any) -> tuple[PreTrainedModel, PreTrainedModel]:
    torch.manual_seed(0)
    plain = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, parameter in plain.named_parameters():
        if name.endswith(("bias", "norm.weight", "layernorm.weight")):
            torch.nn.init.normal_(parameter, mean=1.0, std=0.3)
    fused = copy.deepcopy(plain)
    fuse(fused)
    return plain, fused


@pytest.mark.parametrize("name", BASES)
@torch.inference_mode()
def test_logits_equal_those_of_transformers(name: str) -> None:
    plain, fused = pair(BASES[name])
    assert isinstance(fused.base_model, FusedDecoder)
    caches = RowCache(), RowCache()
    # Prompts of 9, 6 and 2 tokens, then steps of one token and of several.
    lengths = torch.tensor([9, 6, 2])
    for width, counted in ((9, torch.arange(9) >= 9 - lengths[:, None]), *((w, None) for w in (1, 3, 1, 1))):
        lengths = lengths if counted is not None else lengths + width
        counts = torch.ones(3, width, dtype=torch.bool) if counted is None else counted
        tokens = torch.randint(0, 256, (3, width))
        positions = (lengths[:, None] - width + torch.arange(width)).clamp(min=0)
        logits = [
            model(
                input_ids=tokens,
                attention_mask=cache.extend_mask(counts.clone()),
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits
            for model, cache in zip((plain, fused), caches, strict=True)
        ]
        torch.testing.assert_close(logits[1], logits[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", BASES)
@torch.inference_mode()
def test_hidden_states_of_texts_equal_those_of_transformers(name: str) -> None:
    plain, fused = pair(BASES[name])
    tokens = torch.randint(0, 256, (2, 8))
    for mask in (None, torch.arange(8) < torch.tensor([[8], [3]])):
        states = [
            model.base_model(input_ids=tokens, attention_mask=None if mask is None else mask.long()).last_hidden_state
            for model in (plain, fused)
        ]
        real = torch.ones(2, 8, dtype=torch.bool) if mask is None else mask
        torch.testing.assert_close(states[1][real], states[0][real], rtol=1e-4, atol=1e-4)


def test_a_model_whose_layers_look_back_only_so_far_stays_as_it_is() -> None:
    window = transformers.MistralConfig(**SMALL, sliding_window=8)
    assert not isinstance(pair(window)[1].base_model, FusedDecoder)
    mixed = transformers.Qwen2Config(**SMALL, sliding_window=8, use_sliding_window=True, max_window_layers=1)
    assert not isinstance(pair(mixed)[1].base_model, FusedDecoder)


@torch.inference_mode()
def test_hooks_of_a_layer_see_its_own_inputs_and_change_its_own_outputs() -> None:
    plain, fused = pair(SMOLLM2)
    tokens = torch.randint(0, 256, (2, 5))
    for model in (plain, fused):
        for layer in ("q_proj", "v_proj"):
            hooked = model.get_submodule(f"model.layers.1.self_attn.{layer}")
            hooked.register_forward_hook(lambda _layer, inputs, output: output.add_(inputs[0].sum(-1, keepdim=True)))
        model.get_submodule("model.layers.2.mlp.up_proj").register_forward_hook(
            lambda _layer, _inputs, output: output.mul_(2)
        )
    logits = [model(input_ids=tokens).logits for model in (plain, fused)]
    torch.testing.assert_close(logits[1], logits[0], rtol=1e-4, atol=1e-4)
