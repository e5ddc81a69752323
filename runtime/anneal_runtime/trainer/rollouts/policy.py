"""The model that trains, as the decoder of model servers runs it: the same weights, and the adapter as it is now."""

from __future__ import annotations

import copy
from itertools import chain
from typing import TYPE_CHECKING

import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn

from anneal_runtime.server.decoding.forward import TorchForward
from anneal_runtime.server.decoding.fused_decoder import fuse
from anneal_runtime.server.decoding.lora import Adapter, AdapterRouter
from anneal_runtime.server.decoding.packed_linear import place_of

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

NAME = "default"


class Policy:
    """Holds no weights of its own, so an update changes what is sampled next without being told."""

    def __init__(self, model: PeftModel) -> None:
        base = model.get_base_model()
        self._trained = {name: layer for name, layer in base.named_modules() if isinstance(layer, BaseTunerLayer)}
        others = [name for name, layer in self._trained.items() if not isinstance(layer.get_base_layer(), nn.Linear)]
        if others:
            raise ValueError(
                f"This trainer cannot sample from this model: its adapter changes {others[0]}, not a linear layer."
            )
        twin = _twin(base, self._trained)
        self._router = AdapterRouter(twin)
        self.forward = TorchForward(twin, self._router)

    def adapter(self) -> Adapter:
        """Views of the trained tensors where the base has their number format and the scale is 1."""
        layers = {}
        for name, layer in self._trained.items():
            down, up = (getattr(layer, part)[NAME].weight.detach().T for part in ("lora_A", "lora_B"))
            scale, dtype = layer.scaling[NAME], _dtype_of(self._router.linears[name])
            layers[name] = down.to(dtype), (up if scale == 1 else up * scale).to(dtype)
        adapter = Adapter("policy", layers)
        self._router.prepare(adapter)
        return adapter


def _twin(base: PreTrainedModel, trained: dict[str, BaseTunerLayer]) -> PreTrainedModel:
    """Modules of its own over the same tensors, without the adapter's layers and without hooks."""
    shared: dict[int, object] = {id(tensor): tensor for tensor in chain(base.parameters(), base.buffers())}
    # What a 4-bit layer knows of its weights.
    shared |= {id(state): state for layer in base.modules() if (state := getattr(layer, "quant_state", None))}
    twin = copy.deepcopy(base, shared)
    for name in trained:
        parent, _, own_name = name.rpartition(".")
        holder = twin.get_submodule(parent)
        setattr(holder, own_name, getattr(holder, own_name).get_base_layer())
    for module in twin.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    twin.eval()
    if all(type(layer.get_base_layer()) is nn.Linear for layer in trained.values()):
        fuse(twin, shares_weights=True)
    return twin


def _dtype_of(linear: nn.Linear) -> torch.dtype:
    """The number format of the layer's outputs, for which a 4-bit layer has another one than for its weights."""
    computed: torch.dtype | None = getattr(linear, "compute_dtype", None)
    stored: torch.dtype = place_of(linear)["dtype"]
    return stored if computed is None else computed
