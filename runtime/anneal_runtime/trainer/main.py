"""The story of an attempt. Heavy imports come after the claim: they take seconds, and LOADING DATA starts with it."""

from __future__ import annotations

import socket
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from anneal_runtime import __version__, exit_codes
from anneal_runtime.internal_api import Fenced, InternalApi, Refused, UnsupportedRuntime
from anneal_runtime.log import log
from anneal_runtime.model_source import is_out_of_memory
from anneal_runtime.settings import BadSettings, TrainerSettings
from anneal_runtime.trainer.assignment import Assignment
from anneal_runtime.trainer.failures import EvaluationFailed, report
from anneal_runtime.trainer.reporter import Reporter
from anneal_runtime.trainer.termination import Termination, exit_now


def main() -> NoReturn:
    termination = Termination()
    termination.install()
    # Libraries warn their own developers about next year's names; the log is for users.
    warnings.simplefilter("ignore", FutureWarning)
    try:
        settings = TrainerSettings.from_environment()
    except BadSettings as error:
        log(str(error))
        exit_now(exit_codes.CODE_ERROR)
    api = InternalApi(settings.internal_url, settings.token)
    claim = claims(api)
    try:
        assignment = claim()
        log(f"Job {assignment.job_id}, attempt {assignment.attempt}: {assignment.mode} {assignment.base_model.name}")
        run_attempt(Attempt(settings, api, claim, termination, Reporter(api)), assignment)
    except BaseException as error:
        exit_now(report(api, error))
    exit_now(exit_codes.FINISHED)


def claims(api: InternalApi) -> Callable[[], Assignment]:
    """Claims as one process, however often: a lost answer or an expired address is asked for again."""
    claim_id = str(uuid.uuid4())
    # Asking torch would take seconds; this only informs.
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


@dataclass(frozen=True)
class Attempt:
    """What every part of an attempt works with."""

    settings: TrainerSettings
    api: InternalApi
    claim: Callable[[], Assignment]
    termination: Termination
    reporter: Reporter


def run_attempt(attempt: Attempt, assignment: Assignment) -> None:
    from anneal_runtime.trainer.phases import evaluate_model, load, load_saved_model, train_and_save

    loaded, origin = load(attempt, assignment)
    if assignment.mode == "evaluate":
        model = load_saved_model(attempt, assignment, loaded)
    else:
        model = train_and_save(attempt, assignment, loaded, origin)
    try:
        evaluate_model(attempt, assignment, model, loaded)
        attempt.reporter.flush()
    except (Fenced, Refused):
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise EvaluationFailed(f"The evaluation failed: {error}") from error
