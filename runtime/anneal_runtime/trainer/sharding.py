"""FSDP2 of the frozen base: every rank holds a share of it, and a layer is gathered while it computes.

The adapter stays whole on every rank, so steps, gradients, checkpoints and resumes are those of a base that is not
sharded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from anneal_runtime.model_source import default_dtype, stored_dtype
from anneal_runtime.trainer.adapter import base_of, trainable
from anneal_runtime.trainer.distributed import Ranks
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.forward import autocast

if TYPE_CHECKING:
    from peft import PeftModel

# A base that fills more of a GPU leaves too little for activations.
LARGEST_SHARE_OF_GPU = 0.5


def is_wanted(asked: bool | str, folder: Path, device: torch.device) -> bool:
    """`asked` is True, False or "auto", which shards a base that would fill half of a GPU."""
    if asked != "auto" or device.type != "cuda":
        return asked is True
    stored = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    size = stored * default_dtype(device, folder).itemsize / stored_dtype(folder).itemsize
    return size > LARGEST_SHARE_OF_GPU * torch.cuda.get_device_properties(device).total_memory


def shard_base(model: PeftModel, ranks: Ranks) -> float:
    """`model` is on the CPU, and every rank has the same base. Afterwards every rank must call the same methods of
    `ranks`; passes between two calls may differ in number. Returns which part of the base this rank holds.
    """
    base, whole = base_of(model), set(trainable(model).values())
    names = set(base._no_split_modules or ())
    layers = [module for module in base.modules() if module.__class__.__name__ in names]
    if not layers:
        raise DataError("shard_base: this model does not say what its layers are, so its base cannot be sharded.")
    for parameter in whole:
        parameter.data = parameter.data.to(ranks.device)
    mesh = DeviceMesh.from_group(ranks.group, ranks.device.type)
    for part in (*layers, base):
        # A part that stayed gathered after some passes would stay so on some ranks only.
        sharded = fully_shard(part, mesh=mesh, reshard_after_forward=True, ignored_params=whole)
        sharded.set_custom_all_gather(_Gather(ranks))
    _Lockstep(model, ranks)
    shares = [parameter for parameter in base.parameters() if isinstance(parameter, DTensor)]
    return sum(each.to_local().numel() for each in shares) / sum(each.numel() for each in shares)


class _Gather:
    """torch's own way, but that it notices lost peers."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def allocate(self, size: Any, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup, async_op: bool = False
    ) -> dist.Work | None:
        return self._ranks.gather(output_tensor, input_tensor, group, waits=not async_op)


class _Lockstep:
    """A gathered layer needs every rank, and ranks have different numbers of passes. So every pass is announced, and a
    rank that has no pass left before its next common call takes part with a pass over a single token.
    """

    def __init__(self, model: PeftModel, ranks: Ranks) -> None:
        self._model, self._ranks = model, ranks
        self._token = torch.zeros(1, 1, dtype=torch.long, device=ranks.device)
        self._is_idle, self._is_open = False, False
        # Before torch's own hook, which gathers.
        base_of(model).register_forward_pre_hook(self._announce, prepend=True)
        base_of(model).register_forward_hook(self._close)
        ranks.keep_up, ranks.makes_same_passes = self._keep_up, True

    def _announce(self, _base: nn.Module, _inputs: tuple[Any, ...]) -> None:
        if self._is_idle:
            return
        if self._is_open:
            raise torch.OutOfMemoryError("A pass over a sharded base did not fit, and cannot be repeated in parts.")
        self._is_open = True
        self._under_way([1.0, 0.0] if torch.is_grad_enabled() else [0.0, 1.0])

    def _close(self, _base: nn.Module, _inputs: tuple[Any, ...], _outputs: Any) -> None:
        self._is_open = False

    def _keep_up(self) -> None:
        while any(counts := self._under_way([0.0, 0.0])):
            self._pass(with_gradient=counts[0] > 0)

    def _under_way(self, own: list[float]) -> list[float]:
        """The ranks that begin a pass with a gradient now, and those without one."""
        counts = self._ranks.count(own)
        if all(counts):
            raise RuntimeError("Some ranks begin a pass with a gradient, and others one without.")
        return counts

    def _pass(self, *, with_gradient: bool) -> None:
        """Draws from the generator of dropout like any pass. Steps begin with another state."""
        self._is_idle = True
        try:
            with torch.set_grad_enabled(with_gradient), autocast(self._model):
                logits: torch.Tensor = self._model(input_ids=self._token, use_cache=False).logits
            if with_gradient:
                # Leaves the gradients of the rank's own passes as they are.
                torch.autograd.grad(logits.sum(), list(trainable(self._model).values()), allow_unused=True)
        finally:
            self._is_idle = False
