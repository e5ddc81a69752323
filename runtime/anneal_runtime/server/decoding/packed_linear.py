"""Linear layers on a CPU, with weights in the form in which their products are fastest."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import nn

from anneal_runtime.server.decoding.products import DTYPES, Product, is_supported, product_of

# Smaller layers fit into the cache. There the call itself costs more than the packed product saves, unless many tokens
# share the call, as those of texts to embed do.
LEAST_WEIGHTS, LEAST_WEIGHTS_OF_TEXTS = 1 << 18, 1 << 17
# A weight that another layer shares, as the output layer the embedding's, is held twice up to this size: 256 MB.
MOST_SHARED_BYTES = 1 << 28


class PackedLinear(nn.Linear):
    """A loaded layer becomes one by `pack`. It keeps its name, its bias and its hooks."""

    product: Product
    place: dict[str, Any]

    @property
    def weight(self) -> torch.Tensor:  # type: ignore[override]
        """A copy in the usual order, for the few models that read the weights of a layer themselves."""
        return self.product.dense()

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.product(inputs)


def pack(model: nn.Module, *, for_texts: bool = False, is_int8: bool = False) -> None:
    """Packs the large linear layers of a model on a CPU. Call once, before the first hook is registered."""
    if not is_supported() and not is_int8:
        return
    least_weights = LEAST_WEIGHTS_OF_TEXTS if for_texts else LEAST_WEIGHTS
    uses = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    for layer in list(model.modules()):
        if type(layer) is not nn.Linear or layer.weight.device.type != "cpu" or layer.weight.dtype not in DTYPES:
            continue
        if layer.weight.numel() < least_weights:
            continue
        if uses[id(layer.weight)] > 1 and layer.weight.nbytes > MOST_SHARED_BYTES:
            continue
        replace_weight(layer, product_of(layer.weight, layer.bias, is_int8=is_int8))


def replace_weight(layer: nn.Linear, product: Product) -> None:
    place = place_of(layer)
    del layer.weight
    layer.__class__ = PackedLinear
    assert isinstance(layer, PackedLinear)
    layer.place, layer.product = place, product


def place_of(linear: nn.Linear) -> dict[str, Any]:
    """Device and dtype of the weights, without a copy of them."""
    if isinstance(linear, PackedLinear):
        return linear.place
    return {"device": linear.weight.device, "dtype": linear.weight.dtype}
