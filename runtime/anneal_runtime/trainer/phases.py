"""The parts of an attempt: load, train and save, evaluate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from anneal_runtime import exit_codes
from anneal_runtime.log import exit_now, log
from anneal_runtime.model_source import (
    LoadedModel,
    check_weights,
    choose_device,
    default_dtype,
    load_causal_lm,
    locate,
)
from anneal_runtime.retry import RetryPolicy, Unavailable, call_with_retries
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.adapter import CANNOT_WRITE, Origin, load_adapter, save_adapter
from anneal_runtime.trainer.answer_rows import items_of, read_answer_rows, rows_to_ask
from anneal_runtime.trainer.artifacts import CheckpointUploader, publish
from anneal_runtime.trainer.assignment import TRAIN_FILE, Assignment, fetch
from anneal_runtime.trainer.attempt import Attempt
from anneal_runtime.trainer.evaluation import evaluate
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.four_bit import NF4, load_in_4bit
from anneal_runtime.trainer.method import Method
from anneal_runtime.trainer.objectives.losses import BY_TOKEN
from anneal_runtime.trainer.pair_order import pair_orders
from anneal_runtime.trainer.prepare_run import prepare_run
from anneal_runtime.trainer.served_base import over_served_base
from anneal_runtime.trainer.termination import GRACE_S
from anneal_runtime.trainer.training_args import Note, TrainingArgs
from anneal_runtime.trainer.training_run import Plan, TrainingRun

if TYPE_CHECKING:
    from peft import PeftModel

REPORT_GRACE_S = 2.0
# A claim lists the rollouts of so many steps.
MOST_STEPS_TO_REPLAY = 200
UNTIL_THERE_IS_ROOM = RetryPolicy(give_up_after_s=600.0)


def load(attempt: Attempt, assignment: Assignment) -> tuple[LoadedModel, Origin] | None:
    """Data, checkpoint and base model, on the device; the base checked against the catalogue's hash. None for a process
    that an evaluation does not need.
    """
    work_dir = attempt.settings.work_dir
    if assignment.mode != "evaluate":
        fetch(lambda current: current.train, work_dir, assignment, attempt.claim)
    if attempt.reports or assignment.has_held_out_rows:
        fetch(lambda current: [current.evaluation, *current.evaluation_lines], work_dir, assignment, attempt.claim)
    base, device = assignment.base_model, choose_device(attempt.settings.placement.local_rank)
    find = partial(locate, base.source, attempt.settings.models_dir, partial(_tell_loading, attempt))
    folder = find() if attempt.reports or assignment.mode != "evaluate" else None
    shards = _shards(attempt, assignment, folder, device)
    if folder is None:
        if not shards:
            return None
        folder = find()
    in_4bit = assignment.trains_in_4bit
    sha256 = check_weights(folder, base.sha256)
    origin = Origin(base.name, sha256, assignment.spec_hash, trained_on=NF4 if in_4bit else None)
    if shards:
        loaded = load_causal_lm(folder, torch.device("cpu"), default_dtype(device, folder))
        loaded = replace(loaded, shards_on=device)
    else:
        loaded = load_in_4bit(folder, device) if in_4bit else load_causal_lm(folder, device)
    log(f"Base model {base.name} loaded on {device}{' in 4 bits' if in_4bit else ', to be shared' if shards else ''}")
    return loaded, origin


def _shards(attempt: Attempt, assignment: Assignment, folder: Path | None, device: torch.device) -> bool:
    """Whether each process gets a share of the base. Rank 0 decides."""
    asked, ranks = assignment.shard_base, attempt.ranks
    is_sampled = (assignment.method or {}).get("type") == "reinforcement"
    fixed = "reinforcement samples from a whole base" if is_sampled else "a base in 4 bits stays whole"
    if is_sampled or assignment.args.get("load_in_4bit"):
        if asked is True:
            raise DataError(f"shard_base: {fixed}. Leave shard_base out.")
        return False
    if ranks is None or asked is False:
        return False
    # Imported here: few runs need it.
    from anneal_runtime.trainer.sharding import is_wanted

    return ranks.any(attempt.reports and folder is not None and is_wanted(asked, folder, device))


def _tell_loading(attempt: Attempt, sentence: str) -> None:
    log(sentence)
    if attempt.reports:
        attempt.api.report_loading("attempt_loading", sentence)


def train_and_save(attempt: Attempt, assignment: Assignment, loaded: LoadedModel, origin: Origin) -> PeftModel:
    """The tuned model, over the base as model servers load it."""
    reporter, termination, work_dir = attempt.reporter, attempt.termination, attempt.settings.work_dir
    run = _prepare_run(attempt, assignment, loaded, origin, reporter.note)
    reporter.row_counts(run.data.rows.counts())
    if assignment.shard_base is True and attempt.ranks is None:
        reporter.note(
            "base_not_sharded", "shard_base has no effect: this run has one process, which needs the whole base."
        )
    reporter.phase("TRAINING MODEL")
    uploader = CheckpointUploader(attempt.api, before_commit=reporter.flush)
    with termination.deferred():
        finished = run.train(reporter, uploader, termination)
    if not finished:
        reporter.flush(REPORT_GRACE_S)
        exit_now(exit_codes.TERMINATED)
    reporter.phase("SAVING MODEL")
    with termination.deferred(GRACE_S):
        step = run.validation.settle()
        write = partial(_write_model, run, work_dir / "model", origin, step)
        call_with_retries(write, UNTIL_THERE_IS_ROOM, on_wait=log)
        publish(attempt.api, "model", step, work_dir / "model", before_commit=reporter.flush)
    log("Model saved")
    termination.exit_if_requested()
    if assignment.trains_in_4bit:
        return over_served_base(run, loaded, work_dir / "model", reporter.note)
    return run.model


def _write_model(run: TrainingRun, folder: Path, origin: Origin, step: int) -> None:
    try:
        save_adapter(run.model, folder, origin, step)
    except CANNOT_WRITE as error:
        raise Unavailable(f"The model cannot be written: {error}") from error


def train_along(attempt: Attempt, assignment: Assignment, loaded: LoadedModel, origin: Origin) -> None:
    """Runs the share of one rank other than 0 in each step. Rank 0 reports, saves and evaluates."""
    run, ranks = _prepare_run(attempt, assignment, loaded, origin, _silently), attempt.ranks
    assert ranks is not None
    with attempt.termination.deferred():
        finished = run.follow(lambda: ranks.stop_agreed)
    if not finished:
        exit_now(exit_codes.TERMINATED)
    ranks.serve()


def evaluate_along(attempt: Attempt, assignment: Assignment, loaded: LoadedModel) -> None:
    """Gives rank 0 this process's share of the base in each pass."""
    load_saved_model(attempt, assignment, loaded)
    assert attempt.ranks is not None
    attempt.ranks.serve()


def _prepare_run(
    attempt: Attempt, assignment: Assignment, loaded: LoadedModel, origin: Origin, note: Note
) -> TrainingRun:
    args, work_dir = TrainingArgs.from_json(assignment.args, note), attempt.settings.work_dir
    if args.finetuning_type != "lora":
        raise ValueError(f"finetuning_type {args.finetuning_type} is not offered yet: jobs train an adapter (lora).")
    held_out = work_dir / assignment.evaluation.name if assignment.has_held_out_rows else None
    checkpoint = _checkpoint(attempt, assignment)
    method = Method.from_json(assignment.method)
    start = _start(attempt, assignment, checkpoint)
    plan = Plan(
        args,
        method,
        origin,
        work_dir / TRAIN_FILE,
        held_out,
        work_dir,
        checkpoint,
        start,
        assignment.sources,
    )
    if method.type == "reinforcement":
        plan = _with_rollouts(plan, attempt, assignment)
    return prepare_run(plan, loaded, note, attempt.ranks)


def _with_rollouts(plan: Plan, attempt: Attempt, assignment: Assignment) -> Plan:
    from anneal_runtime.trainer.rollouts.prepare import RolloutPlan
    from anneal_runtime.trainer.rollouts.record import JobRecord
    from anneal_runtime.trainer.rollouts.serve import JobServers

    servers = JobServers(attempt.api) if plan.method["rollouts"] == "server" else None
    record = JobRecord(attempt.api, attempt.settings.work_dir, assignment, attempt.claim)
    args = replace(plan.args, save_steps=min(plan.args.save_steps, MOST_STEPS_TO_REPLAY))
    rollouts = RolloutPlan(record, attempt.api, assignment.graders, servers, assignment.grammar)
    return replace(plan, args=args, rollouts=rollouts)


def _silently(_code: str, _message: str) -> None:
    """Drops the note: rank 0 reports the same one."""


def load_saved_model(attempt: Attempt, assignment: Assignment, loaded: LoadedModel) -> PeftModel:
    """The model of an earlier attempt, whose evaluation is still missing."""
    if assignment.model is None:
        raise ValueError("The claim's answer has mode evaluate but no model.")
    folder = attempt.settings.work_dir / "model"
    fetch(lambda current: current.model.files if current.model else [], folder, assignment, attempt.claim)
    model = load_adapter(loaded.model, folder)
    if loaded.shards_on is not None and attempt.ranks is not None:
        from anneal_runtime.trainer.sharding import shard_base

        attempt.ranks.meet_on(loaded.shards_on)
        shard_base(model, attempt.ranks)
    return model


def evaluate_model(attempt: Attempt, assignment: Assignment, model: PeftModel, loaded: LoadedModel) -> None:
    attempt.reporter.phase("EVALUATING MODEL")
    path, method = attempt.settings.work_dir / assignment.evaluation.name, Method.from_json(assignment.method)
    rows = list(islice(rows_to_ask(path, method), assignment.evaluation_max_rows))
    if assignment.evaluation_as_chat:
        rows = [row.as_chat(assignment.evaluation_system) for row in rows]
    encoder = TextEncoder(loaded.tokenizer, special_tokens=assignment.args["special_tokens"])
    is_sampled = method.type == "reinforcement"
    most_tokens = assignment.evaluation_max_tokens or (method["max_completion_tokens"] if is_sampled else None)
    form = None
    if assignment.grammar is not None:
        from anneal_runtime.trainer.answer_form import AnswerForm

        form = AnswerForm(assignment.grammar, loaded)
    results = evaluate(model, encoder, rows, most_tokens, is_open=is_sampled, form=form)
    if is_sampled:
        # There is no answer to expect. The service has the graders score both, by the row's item.
        results = [{**result, "item": item} for result, item in zip(results, items_of(path), strict=False)]
    else:
        exact = sum(result["tuned"].strip() == result["expected"].strip() for result in results)
        log(f"The tuned model answers {exact} of {len(results)} evaluation rows exactly")
    if method.type == "dpo":
        _add_orders(results, path, method, model, encoder)
    if attempt.ranks is not None:
        attempt.ranks.keep_up()
    # The phase must arrive before the result that belongs to it.
    attempt.reporter.flush()
    attempt.api.report_evaluation(assignment.evaluation_split, results)


def _add_orders(
    results: list[dict[str, Any]], path: Path, method: Method, model: PeftModel, encoder: TextEncoder
) -> None:
    pairs = list(islice(read_answer_rows(path), len(results)))
    orders = pair_orders(model, encoder, pairs, by_token=method["loss_type"] in BY_TOKEN)
    for result, order in zip(results, orders, strict=True):
        if order is not None:
            result["prefers_chosen"] = order
    known = [order for order in orders if order is not None]
    tuned, base = (sum(order[side] for order in known) for side in ("tuned", "base"))
    log(f"Of {len(known)} pairs the tuned model orders {tuned} rightly, and its base {base}")


def _checkpoint(attempt: Attempt, assignment: Assignment) -> Path | None:
    if assignment.checkpoint is None:
        return None
    folder = attempt.settings.work_dir / "resume"
    fetch(lambda current: current.checkpoint.files if current.checkpoint else [], folder, assignment, attempt.claim)
    return folder


def _start(attempt: Attempt, assignment: Assignment, checkpoint: Path | None) -> Path | None:
    """The folder of the adapter that the training continues. A checkpoint holds the whole adapter."""
    if not assignment.start or checkpoint is not None:
        return checkpoint if assignment.start else None
    folder = attempt.settings.work_dir / "start"
    fetch(lambda current: current.start, folder, assignment, attempt.claim)
    return folder
