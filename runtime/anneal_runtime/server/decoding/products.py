"""Products with the weights of a linear layer, held in the form in which a CPU multiplies fastest."""

from __future__ import annotations

import platform
from typing import Any, Protocol

import torch
from torch.nn import functional

DTYPES = (torch.float32, torch.bfloat16)
# With more rows the product of bfloat16 is faster.
MOST_INT8_ROWS = 4


class Product(Protocol):
    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Inputs [..., in] to outputs [..., out], a new tensor."""

    def dense(self) -> torch.Tensor:
        """The weights [out, in], as they are multiplied."""


class Plain:
    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        return functional.linear(inputs, self._weight, self._bias)

    def dense(self) -> torch.Tensor:
        return self._weight


class Packed:
    """Weights in oneDNN's order."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._packed, self._bias = torch.ops.mkldnn._reorder_linear_weight(weight, None), bias

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        return _linear_pointwise(inputs, self._packed, self._bias, "none", [], "")  # type: ignore[no-any-return]

    def dense(self) -> torch.Tensor:
        return self._packed.to_dense()  # type: ignore[no-any-return]


class Int8:
    """Weights of 8 bits with a scale for each output, beside the same numbers in bfloat16 for many rows.

    One row at a time is bound by reading the weights, so it is nearly twice as fast as in bfloat16.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        exact = weight.float()
        self._scales = (exact.abs().amax(dim=1) / 127).clamp(min=1e-12).to(torch.bfloat16)
        scales = self._scales.float()[:, None]
        self._weight = (exact / scales).round().clamp(-127, 127).to(torch.int8)
        self._bias = bias
        self._for_many = product_of((self._weight * scales).to(torch.bfloat16), bias)

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        if inputs.numel() > MOST_INT8_ROWS * inputs.shape[-1]:
            return self._for_many(inputs)
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = torch.ops.aten._weight_int8pack_mm(rows, self._weight, self._scales)
        if self._bias is not None:
            outputs += self._bias
        return outputs.view(*inputs.shape[:-1], -1)  # type: ignore[no-any-return]

    def dense(self) -> torch.Tensor:
        return self._for_many.dense()


class Part:
    """Some outputs of another product."""

    def __init__(self, whole: Product, outputs: slice) -> None:
        self._whole, self._outputs = whole, outputs

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        return self._whole(inputs)[..., self._outputs]

    def dense(self) -> torch.Tensor:
        return self._whole.dense()[self._outputs]


def product_of(weight: torch.Tensor, bias: torch.Tensor | None, *, is_int8: bool = False) -> Product:
    weight = weight.detach()
    if is_int8:
        return Int8(weight, bias)
    if is_supported() and weight.device.type == "cpu" and weight.dtype in DTYPES:
        return Packed(weight, bias)
    return Plain(weight, bias)


def is_supported() -> bool:
    """Measured on x86 only. Older processors have no bfloat16 in oneDNN, so neither dtype is packed there."""
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def _linear_pointwise(*arguments: Any) -> Any:
    return torch.ops.mkldnn._linear_pointwise.default(*arguments)
