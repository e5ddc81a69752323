"""Makes a run ready: rows, adapter, optimizer, objectives, and the checkpoint that it goes on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from anneal_runtime.log import log
from anneal_runtime.model_source import LoadedModel, context_length
from anneal_runtime.trainer.adapter import add_adapter, continue_adapter, trainable
from anneal_runtime.trainer.best_adapter import BestAdapter
from anneal_runtime.trainer.checkpoint import RunState, load_checkpoint
from anneal_runtime.trainer.forward import ForwardPass
from anneal_runtime.trainer.held_out import HeldOut
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.make import has_reference, make_objective
from anneal_runtime.trainer.objectives.objective import Objective
from anneal_runtime.trainer.objectives.reference import StartingModel, load_references
from anneal_runtime.trainer.packing import packed_line_tokens
from anneal_runtime.trainer.recomputation import Recomputation
from anneal_runtime.trainer.step import OptimizerStep
from anneal_runtime.trainer.training_args import Note, TrainingArgs, learning_rate_schedule, make_optimizer
from anneal_runtime.trainer.training_data import TrainingData, load_training_data
from anneal_runtime.trainer.training_run import Plan, TrainingRun
from anneal_runtime.trainer.validation import Measures, Validation

if TYPE_CHECKING:
    from peft import PeftModel

    from anneal_runtime.trainer.distributed import Ranks


def prepare_run(plan: Plan, base: LoadedModel, note: Note, ranks: Ranks | None = None) -> TrainingRun:
    """Encodes the rows, makes the adapter and its optimizer, and goes back to the checkpoint, if the plan has one."""
    args, method = plan.args, plan.method
    samples = plan.rollouts is not None
    data = load_training_data(plan.data, plan.held_out, args, method, base, note, plan.sources, samples=samples)
    model = _model_to_train(plan, base, note)
    if ranks is not None:
        ranks.meet_on(base.shards_on or next(model.parameters()).device)
        if base.shards_on is not None:
            # Imported here: few runs need it.
            from anneal_runtime.trainer.sharding import shard_base

            part = shard_base(model, ranks)
            note("base_sharded", f"{ranks.world_size} processes share the base model; each holds {part:.0%} of it.")
    parameters = list(trainable(model).values())
    optimizer = make_optimizer(args, parameters, note)
    learning_rate = learning_rate_schedule(args, optimizer, data.total_steps)
    line_tokens = packed_line_tokens(args.packing, model, note)
    comfortable = None if base.shards_on is None else 0
    form = None if plan.rollouts is None else plan.rollouts.form(base)
    forward = ForwardPass(
        model,
        line_tokens=line_tokens,
        temperature=method.temperature,
        comfortable_tokens=comfortable,
        form=form,
    )
    is_kept = plan.start is not None and method.runs_reference
    start = StartingModel(model, is_kept=is_kept) if has_reference(method) else None
    sampling = None if plan.rollouts is None else plan.rollouts.begin(plan, base, model, forward, data, note, ranks)
    objectives = _objectives(method, forward, data, start) if sampling is None else {"train": sampling.objective(start)}
    references = {name: each.reference for name, each in objectives.items() if each.reference is not None}
    longest = data.rows.longest() + (int(method["max_completion_tokens"]) if samples else 0)
    longest = min(longest, context_length(base.model.config)) if samples else longest
    state = RunState(token_budget=forward.token_budget(longest, args.batch_size))
    keeps_best = data.held_out is not None and args.keep == "best" and (ranks is None or ranks.rank == 0)
    best = BestAdapter(model) if keeps_best else None
    # Dropout starts from the seed, however many numbers the adapter's making took.
    torch.manual_seed(args.seed)
    if plan.checkpoint is not None:
        state = load_checkpoint(plan.checkpoint, model, optimizer, plan.origin.spec_hash)
        load_references(plan.checkpoint, references)
        if start is not None:
            start.load(plan.checkpoint)
        if best is not None:
            best.load(plan.checkpoint)
        log(f"Resuming after step {state.step}")

    if ranks is not None:
        ranks.start_together(parameters)
        _note_idle(ranks, args, note)
    if any(reference.logps is None for reference in references.values()):
        scored = {"train": data.visited, "held_out": data.held_out.used if data.held_out else []}
        for name, reference in references.items():
            reference.compute(scored[name], ranks)
        note(
            "reference_ready",
            f"The model at the start has scored the answers of {len(data.visited)} rows to compare with.",
        )
    objective, budget = objectives["train"], state.token_budget
    objective.memory = state.memory
    if plan.checkpoint is None:
        for code, message in objective.news_of_rows():
            note(code, message)
    # A pass over a sharded base cannot be repeated in parts.
    is_needed = state.recomputes or (base.shards_on is not None and args.gradient_checkpointing == "auto")
    step = OptimizerStep(
        objective,
        optimizer,
        token_budget=budget,
        max_grad_norm=args.max_grad_norm,
        ranks=ranks,
        recomputation=Recomputation(model, args.gradient_checkpointing, is_needed, note),
    )
    held_out: Measures | None = None
    if sampling is not None:
        held_out = sampling.held_out(lambda: state.step)
    elif data.held_out is not None:
        held_out = HeldOut(model, objectives["held_out"], data.held_out.used, ranks, data.held_out.parts)
    validation = Validation(args, data.total_steps, state, objective, held_out=held_out, best=best, note=note)
    return TrainingRun(
        plan, data, model, optimizer, learning_rate, step, validation, best, references, start, state, ranks
    )


def _model_to_train(plan: Plan, base: LoadedModel, note: Note) -> PeftModel:
    if plan.args.finetuning_type == "full":
        torch.manual_seed(plan.args.seed)
        return cast("PeftModel", base.model.requires_grad_(True))
    if plan.start is None:
        return add_adapter(base.model, plan.args, note)
    return continue_adapter(base.model, plan.start, plan.args)


def _objectives(
    method: Method, forward: ForwardPass, data: TrainingData, start: StartingModel | None
) -> dict[str, Objective]:
    objectives = {"train": make_objective(method, forward, data.train, start)}
    if data.held_out is not None:
        objectives["held_out"] = make_objective(method, forward, data.held_out, start)
    return objectives


def _note_idle(ranks: Ranks, args: TrainingArgs, note: Note) -> None:
    idle = ranks.world_size - args.rows_per_step
    if idle > 0:
        note("processes_idle", f"{idle} of {ranks.world_size} processes are idle, because a step has fewer rows.")
