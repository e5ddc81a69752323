"""The objective of a method. Each is imported when a job asks for it: a trainer's start pays for one."""

from __future__ import annotations

from anneal_runtime.trainer.answer_rows import Rewarded
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.objective import Objective
from anneal_runtime.trainer.objectives.reference import ReferenceLogps, StartingModel
from anneal_runtime.trainer.training_data import DataRows


def make_objective(method: Method, forward: ForwardPass, data: DataRows, start: StartingModel | None) -> Objective:
    """`start` is None for a method without a reference."""
    if method.type == "supervised":
        from anneal_runtime.trainer.objectives.supervised import Supervised

        return Supervised(forward, data.rows)
    if method.type == "reinforcement":
        from anneal_runtime.trainer.objectives.reinforcement import Reinforcement

        assert isinstance(data.rows, Rewarded)
        return Reinforcement(forward, data.rows, method, start)
    reference = None if start is None else ReferenceLogps(start, forward, data.rows)
    if method.type == "dpo":
        from anneal_runtime.trainer.objectives.preference import Preference

        return Preference(forward, data.rows, method, reference)
    if method.type == "kto":
        from anneal_runtime.trainer.objectives.judged import Judged

        assert reference is not None
        return Judged(forward, data.rows, method, reference, is_good=data.is_good, max_length=data.max_length)
    raise ValueError(f"This trainer has no objective for {method.type}.")


def has_reference(method: Method) -> bool:
    """Whether the model is compared with the one that the job began with."""
    if method.type == "dpo":
        return bool(method["reference"] == "start")
    return method.type == "kto" or (method.type == "reinforcement" and method["kl_coefficient"] > 0)
