"""How an attempt can fail, and what that means to Anneal: a cause, an exit code, one sentence for the user."""

import traceback

from anneal_runtime import exit_codes
from anneal_runtime.contract import EXIT_CODES, ContractBroken
from anneal_runtime.internal_api import Fenced, InternalApi, UnsupportedRuntime
from anneal_runtime.log import log
from anneal_runtime.model_source import ModelUnavailable, is_out_of_memory


class DataError(Exception):
    """The data cannot be trained on; the message is for the user."""


class RowsRefused(DataError):
    """Rows are too long, and the job asks to fail then."""


class Diverged(Exception):
    """The loss is no longer a number."""


class EvaluationFailed(Exception):
    """The model is saved, its evaluation is not: Anneal tries that again alone."""


class EndsBetweenSteps(Exception):
    """The attempt ends before its next step, and saves the steps before it."""


class Stopped(EndsBetweenSteps):
    """By SIGTERM, while answers are sampled or graded."""


class GraderAway(EndsBetweenSteps):
    """Nothing but graders was waited for. The next attempt goes on with them."""


class SamplerAway(EndsBetweenSteps):
    """Nothing but a model server was waited for. The next attempt goes on with it."""


class GraderFailed(EndsBetweenSteps):
    """The rewards say too little to learn from."""


class RolloutsLost(Exception):
    """The run needs answers that were committed, and finds none or others."""


class PeerLost(EndsBetweenSteps):
    """Another process of the run is gone, or silent for too long. Nothing is wrong with this one."""

    @classmethod
    def of(cls, error: BaseException) -> "PeerLost":
        detail = (str(error).strip() or error.__class__.__name__).splitlines()[0]
        return cls(f"Another process of this run is gone or does not answer: {detail}")


CAUSES: dict[type[Exception], str] = {
    Fenced: "fenced",
    UnsupportedRuntime: "unsupported_runtime",
    PeerLost: "peer_lost",
    DataError: "data_error",
    ModelUnavailable: "model_unavailable",
    Diverged: "code_error",
    ContractBroken: "code_error",
    EvaluationFailed: "evaluation_error",
    Stopped: "killed",
    GraderAway: "grader_away",
    SamplerAway: "sampler_away",
    GraderFailed: "grader_failed",
    RolloutsLost: "code_error",
}


def report(api: InternalApi, error: BaseException) -> int:
    """Tells Anneal and the log why; the exit code."""
    cause, code, message = explain(error)
    log(message)
    if code in (exit_codes.FENCED, exit_codes.UNSUPPORTED_RUNTIME, exit_codes.PEER_LOST, exit_codes.TERMINATED):
        return code
    if code == exit_codes.CODE_ERROR:
        traceback.print_exception(error)
    api.report_failure(cause, message)
    return code


def explain(error: BaseException) -> tuple[str, int, str]:
    """Cause and exit code as docs/internal-api.md names them, and one sentence for the user."""
    sentence = " ".join(str(error).split())[:1000] or error.__class__.__name__
    if is_out_of_memory(error):
        needed = "Lower batch_size, max_length or r_value, or give the job more memory."
        cause, sentence = "out_of_memory", f"Out of memory: {sentence} {needed}"
    else:
        cause = next((cause for kind, cause in CAUSES.items() if isinstance(error, kind)), "")
        if not cause or isinstance(error, Fenced):
            sentence = f"{error.__class__.__name__}: {sentence}"
    # A failed evaluation has a cause of its own and the exit code of any other error.
    return cause or "code_error", EXIT_CODES.get(cause, exit_codes.CODE_ERROR), sentence
