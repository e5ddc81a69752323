"""The story of an attempt. Heavy imports come after the claim: they take seconds, and LOADING DATA starts with it."""

from __future__ import annotations

import socket
import uuid
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from anneal_runtime import __version__, exit_codes
from anneal_runtime.gc_freeze import frozen_after
from anneal_runtime.internal_api import Fenced, InternalApi, Refused, UnsupportedRuntime
from anneal_runtime.log import exit_now, log, speak_as
from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.settings import BadSettings, TrainerSettings
from anneal_runtime.trainer.assignment import Assignment
from anneal_runtime.trainer.attempt import Attempt
from anneal_runtime.trainer.failures import EvaluationFailed, PeerLost, report
from anneal_runtime.trainer.launcher import LocalProcesses, start_others
from anneal_runtime.trainer.rendezvous import hear_claim, listen, meet, tell_claim
from anneal_runtime.trainer.reporter import Reporter
from anneal_runtime.trainer.termination import Termination


def main() -> NoReturn:
    termination = Termination()
    termination.install()
    # These warnings are for developers of the libraries; the log is for users.
    warnings.simplefilter("ignore", FutureWarning)
    try:
        settings = TrainerSettings.from_environment()
    except BadSettings as error:
        log(str(error))
        exit_now(exit_codes.CODE_ERROR)
    if settings.merges:
        from anneal_runtime.trainer.merge import merge_for_export

        exit_now(merge_for_export(settings))
    if settings.placement.world_size > 1:
        run_one_of_several(settings, termination)
    api = InternalApi(settings.internal_url, settings.token)
    claim = claims(api, str(uuid.uuid4()))
    try:
        run_attempt(Attempt(settings, api, claim, termination, Reporter(api)), claim())
    except BaseException as error:
        exit_now(report(api, error))
    exit_now(exit_codes.FINISHED)


def run_one_of_several(settings: TrainerSettings, termination: Termination) -> NoReturn:
    """Runs an attempt of several processes. All meet before rank 0 claims: until then nothing runs."""
    placement, listener = listen(settings.placement)
    settings, others = start_others(replace(settings, placement=placement))
    if settings.placement.rank > 0:
        speak_as(f"process {settings.placement.rank}")
    api = InternalApi(settings.internal_url, settings.token)
    check = refusing_lost(others)
    try:
        store = meet(settings.placement, listener, check)
        from anneal_runtime.trainer.distributed import Ranks

        ranks = Ranks(settings.placement, store, lambda: termination.requested)
        claim_id = str(uuid.uuid4()) if ranks.rank == 0 else hear_claim(store, check)
        claim = claims(api, claim_id)
        assignment = claim()
        if ranks.rank == 0:
            tell_claim(store, claim_id)
        run_attempt(Attempt(settings, api, claim, termination, Reporter(api), ranks), assignment)
    except BaseException as error:
        exit_now(others.code_after(report(api, error)))
    others.wait()
    exit_now(exit_codes.FINISHED)


def refusing_lost(others: LocalProcesses) -> Callable[[], None]:
    def check() -> None:
        if others.failure() is not None:
            raise PeerLost("Another process of this node has failed.")

    return check


def claims(api: InternalApi, claim_id: str) -> Callable[[], Assignment]:
    """Claims as one process, however often: a lost answer or an expired address is asked for again."""
    # For display only: asking torch would take seconds.
    device = "cuda" if Path("/dev/nvidiactl").exists() else "cpu"

    def claim() -> Assignment:
        try:
            answer = api.claim(claim_id, runtime_version=__version__, hostname=socket.gethostname(), device=device)
        except UnsupportedRuntime:
            raise
        except Refused as error:
            raise Fenced(f"the claim was refused: {error}") from error
        return Assignment.from_json(answer)

    return claim


def run_attempt(attempt: Attempt, assignment: Assignment) -> None:
    log(f"Job {assignment.job_id}, attempt {assignment.attempt}: {assignment.mode} {assignment.base_model.name}")
    with frozen_after():
        from anneal_runtime.trainer import phases

        found = phases.load(attempt, assignment)
    if found is None:
        return
    loaded, origin = found
    if not attempt.reports:
        if assignment.mode == "evaluate":
            phases.evaluate_along(attempt, assignment, loaded)
        else:
            phases.train_along(attempt, assignment, loaded, origin)
        return
    if assignment.mode == "evaluate":
        model = phases.load_saved_model(attempt, assignment, loaded)
    else:
        model = phases.train_and_save(attempt, assignment, loaded, origin)
    try:
        phases.evaluate_model(attempt, assignment, model, loaded)
        attempt.reporter.flush()
    except (Fenced, Refused, PeerLost):
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise EvaluationFailed(f"The evaluation failed: {error}") from error
