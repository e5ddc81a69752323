"""The decoder of a Llama-like model on a CPU, in fewer and larger operations than transformers' own.

With one row, half of the time of a pass goes to calls of small operations. With many rows of grouped heads, most of it
goes to copying keys and values once for each head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPast
from transformers.models.llama.modeling_llama import LlamaModel
from transformers.models.mistral.modeling_mistral import MistralModel
from transformers.models.qwen2.modeling_qwen2 import Qwen2Model
from transformers.models.qwen3.modeling_qwen3 import Qwen3Model

from anneal_runtime.server.decoding import packed_linear
from anneal_runtime.server.decoding.packed_linear import replace_weight
from anneal_runtime.server.decoding.products import Part, Plain, Product, product_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from anneal_runtime.server.decoding.cache import RowCache, RowLayer

# They differ in the biases of their linear layers, and in norms of single heads.
MODELS = (LlamaModel, MistralModel, Qwen2Model, Qwen3Model)


def fuse(model: PreTrainedModel, *, is_int8: bool = False, shares_weights: bool = False) -> None:
    """Replaces the decoder, if it is of a known kind. Call once, before the first hook is registered.

    @param shares_weights: another model holds the same parameters. They become views of the fused weights, so that
        nothing is held twice, and nothing is packed
    """
    if type(model.base_model) in MODELS and not _has_windows(model.config) and model.device.type == "cpu":
        join = _joined_in_place if shares_weights else partial(_joined, is_int8=is_int8)
        setattr(model, model.base_model_prefix, FusedDecoder(model.base_model, join))


def _has_windows(config: Any) -> bool:
    """True if some layers look back only so many tokens."""
    kinds = getattr(config, "layer_types", None)
    if kinds is None:
        return getattr(config, "sliding_window", None) is not None
    return set(kinds) != {"full_attention"}


Join = Callable[[list[nn.Linear]], Product]


def _joined(layers: list[nn.Linear], *, is_int8: bool) -> Product:
    weight, bias = _side_by_side(layers)
    is_small = weight.numel() < packed_linear.LEAST_WEIGHTS and not is_int8
    return Plain(weight, bias) if is_small else product_of(weight, bias, is_int8=is_int8)


def _joined_in_place(layers: list[nn.Linear]) -> Product:
    weight, bias = _side_by_side(layers)
    for layer, part in zip(layers, torch.split(weight, [layer.out_features for layer in layers]), strict=True):
        layer.weight.data = part
    return Plain(weight, bias)


def _side_by_side(layers: list[nn.Linear]) -> tuple[torch.Tensor, torch.Tensor | None]:
    weight = torch.cat([layer.weight.detach() for layer in layers])
    biases = [layer.bias for layer in layers]
    return weight, None if biases[0] is None else torch.cat([each.detach() for each in biases])


class FusedLinear(nn.Module):
    """Several linear layers of the same inputs, as one product. The layers keep their names and hooks."""

    def __init__(self, layers: list[nn.Linear], join: Join) -> None:
        super().__init__()
        self._product = join(layers)
        # Not as submodules: each layer is listed once, under its own name.
        self._parts: list[tuple[nn.Linear, int, int]] = []
        end = 0
        for layer in layers:
            start, end = end, end + layer.out_features
            self._parts.append((layer, start, end))
            replace_weight(layer, Part(self._product, slice(start, end)))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs = self._product(inputs)
        for layer, start, end in self._parts:
            for hook in layer._forward_hooks.values():
                hook(layer, (inputs,), outputs[..., start:end])
        return outputs


class FusedLayer(nn.Module):
    def __init__(self, layer: Any, join: Join) -> None:
        super().__init__()
        # The names of the linear layers, by which adapters find them, are those of the model.
        self.self_attn, self.mlp = layer.self_attn, layer.mlp
        attention = layer.self_attn
        self._qkv = FusedLinear([attention.q_proj, attention.k_proj, attention.v_proj], join)
        self._gate_up = FusedLinear([layer.mlp.gate_proj, layer.mlp.up_proj], join)
        self._input_norm, self._mlp_norm = layer.input_layernorm, layer.post_attention_layernorm
        self._size, self._scale = attention.head_dim, attention.scaling
        self._kv_heads = attention.k_proj.out_features // self._size
        self._heads = attention.q_proj.out_features // self._size
        self._head_norms: tuple[Any, Any] | None = None
        if hasattr(attention, "q_norm"):
            self._head_norms = attention.q_norm, attention.k_norm

    def forward(
        self, hidden: torch.Tensor, rotation: Rotation, mask: torch.Tensor | None, cache: RowLayer | None
    ) -> torch.Tensor:
        """[rows, columns, size] to the same; changes `hidden` in place. `mask` is that of `_mask`."""
        hidden += self.self_attn.o_proj(self._attention(_norm(self._input_norm, hidden), rotation, mask, cache))
        gate_up = self._gate_up(_norm(self._mlp_norm, hidden))
        gate, up = gate_up.chunk(2, dim=-1)
        hidden += self.mlp.down_proj(self.mlp.act_fn(gate) * up)
        return hidden

    def _attention(
        self, inputs: torch.Tensor, rotation: Rotation, mask: torch.Tensor | None, cache: RowLayer | None
    ) -> torch.Tensor:
        rows, columns = inputs.shape[:2]
        heads = self._qkv(inputs).view(rows, columns, -1, self._size)
        turned, values = heads[:, :, : -self._kv_heads], heads[:, :, -self._kv_heads :].transpose(1, 2)
        if self._head_norms is not None:
            queries, keys = turned[:, :, : self._heads], turned[:, :, self._heads :]
            turned = torch.cat([_norm(self._head_norms[0], queries), _norm(self._head_norms[1], keys)], dim=2)
        turned = torch.addcmul(turned * rotation.cos, turned.roll(self._size // 2, -1), rotation.sin)
        queries, keys = turned[:, :, : self._heads], turned[:, :, self._heads :].transpose(1, 2)
        if cache is not None:
            keys, values = cache.update(keys, values)
        if columns == 1:
            # The heads that share keys are like so many columns: nothing is copied, nothing is done twice.
            grouped = queries.view(rows, self._kv_heads, -1, self._size)
            mixed = functional.scaled_dot_product_attention(grouped, keys, values, mask, scale=self._scale)
            return mixed.reshape(rows, 1, -1)
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys,
            values,
            mask,
            is_causal=mask is None,
            scale=self._scale,
            enable_gqa=self._heads != self._kv_heads,
        )
        return mixed.transpose(1, 2).reshape(rows, columns, -1)


@dataclass(frozen=True)
class Rotation:
    """[rows, columns, 1, head size]. `sin` is negative in its first half, so that a roll of the head does the rest."""

    cos: torch.Tensor
    sin: torch.Tensor


class FusedDecoder(nn.Module):
    def __init__(self, decoder: Any, join: Join) -> None:
        super().__init__()
        self.embed_tokens, self.norm, self.rotary_emb = decoder.embed_tokens, decoder.norm, decoder.rotary_emb
        self.layers = nn.ModuleList(FusedLayer(layer, join) for layer in decoder.layers)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        past_key_values: RowCache | None = None,
        **_options: Any,
    ) -> BaseModelOutputWithPast:
        """`attention_mask` [rows, cached and new columns] says which columns count; None if all do."""
        hidden = self.embed_tokens(input_ids)
        rotation = self._rotation(hidden, position_ids)
        mask = _mask(attention_mask, hidden)
        caches = [None] * len(self.layers) if past_key_values is None else past_key_values.ready(len(self.layers))
        for layer, cache in zip(self.layers, caches, strict=True):
            hidden = layer(hidden, rotation, mask, cache)
        return BaseModelOutputWithPast(last_hidden_state=_norm(self.norm, hidden))

    def _rotation(self, hidden: torch.Tensor, position_ids: torch.Tensor | None) -> Rotation:
        if position_ids is None:
            position_ids = torch.arange(hidden.shape[1], device=hidden.device)[None]
        cos, sin = self.rotary_emb(hidden, position_ids)
        sin = sin.clone()
        sin[..., : sin.shape[-1] // 2].neg_()
        return Rotation(cos[:, :, None], sin[:, :, None])


def _mask(counts: torch.Tensor | None, hidden: torch.Tensor) -> torch.Tensor | None:
    """Added to the scores, [rows, 1, columns, cached columns]. None: every column sees all up to itself."""
    columns = hidden.shape[1]
    if counts is None or (columns in (1, counts.shape[1]) and bool(counts.all())):
        return None
    allowed = counts[:, None, None, :].bool()
    if columns > 1:
        allowed = allowed & torch.ones(columns, counts.shape[1], dtype=torch.bool, device=hidden.device).tril(
            counts.shape[1] - columns
        )
    # Not infinite: padding sees nothing, and its scores must stay numbers.
    least = torch.finfo(hidden.dtype).min
    return torch.zeros_like(allowed, dtype=hidden.dtype).masked_fill_(~allowed, least)


def _norm(norm: Any, hidden: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(hidden, norm.weight.shape, norm.weight, norm.variance_epsilon)
