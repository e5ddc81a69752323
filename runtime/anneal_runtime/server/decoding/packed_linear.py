"""Linear layers on a CPU, with weights in the order in which oneDNN multiplies fastest."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

import torch
from torch import nn

# Smaller layers fit into the cache. There the call itself costs more than the packed product saves, unless many tokens
# share the call, as those of texts to embed do.
LEAST_WEIGHTS, LEAST_WEIGHTS_OF_TEXTS = 1 << 18, 1 << 17
DTYPES = (torch.float32, torch.bfloat16)


class PackedLinear(nn.Linear):
    """A loaded layer becomes one by `pack`. It keeps its name, its bias and its hooks."""

    packed: torch.Tensor

    @property
    def weight(self) -> torch.Tensor:  # type: ignore[override]
        """A copy in the usual order, for the few models that read the weights of a layer themselves."""
        return self.packed.to_dense()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return _product(inputs, self.packed, self.bias, "none", [], "")  # type: ignore[no-any-return]


def pack(model: nn.Module, *, for_texts: bool = False) -> None:
    """Packs the large linear layers of a model on a CPU. Call once, before the first hook is registered."""
    if not is_supported():
        return
    least_weights = LEAST_WEIGHTS_OF_TEXTS if for_texts else LEAST_WEIGHTS
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    for layer in list(model.modules()):
        if type(layer) is not nn.Linear or layer.weight.device.type != "cpu" or layer.weight.dtype not in DTYPES:
            continue
        # A weight that another layer shares would be held twice.
        if layer.weight.numel() < least_weights or uses[id(layer.weight)] > 1:
            continue
        packed = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), None)
        del layer.weight
        layer.__class__ = PackedLinear
        layer.packed = packed


def place_of(linear: nn.Linear) -> dict[str, Any]:
    """Device and dtype of the weights, without a copy of them."""
    weight = linear.packed if isinstance(linear, PackedLinear) else linear.weight
    return {"device": weight.device, "dtype": weight.dtype}


def is_supported() -> bool:
    """Measured on x86 only. Older processors have no bfloat16 in oneDNN, so neither dtype is packed there."""
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def _product(*arguments: Any) -> Any:
    return torch.ops.mkldnn._linear_pointwise.default(*arguments)
