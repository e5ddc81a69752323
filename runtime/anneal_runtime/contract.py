"""The contract between pods and the service: calls, exit codes, default arguments.

contract.json is written from the service's own schemas (`npm run contract`); nothing in it is edited by hand.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema

_contract: dict[str, Any] = json.loads(Path(__file__).with_name("contract.json").read_text())

EXIT_CODES: dict[str, int] = _contract["exit_codes"]
# The arguments of a request that names none, for tests and benchmarks. A trainer gets all arguments with its claim.
DEFAULT_ARGS: dict[str, Any] = _contract["default_args"]
# Each method has the defaults of its hyperparameters, and other defaults for some losses.
METHODS: dict[str, dict[str, Any]] = _contract["methods"]
CALLS: dict[str, dict[str, Any]] = _contract["calls"]


class ContractBroken(Exception):
    """A body is not as the contract says; the message names the field."""


def check_request(call: str, body: object) -> None:
    """Raises ContractBroken."""
    _check(call, "request", body)


def check_answer(call: str, body: object) -> None:
    """Raises ContractBroken."""
    _check(call, "answer", body)


def _check(call: str, side: str, body: object) -> None:
    try:
        _validator(call, side)(body)
    except fastjsonschema.JsonSchemaValueException as error:
        versions = "Service and runtime image may be of different releases: deploy both from one."
        raise ContractBroken(f"The {side} of the call {call} is not valid: {error.message}. {versions}") from error


@cache
def _validator(call: str, side: str) -> Any:
    return fastjsonschema.compile(CALLS[call][side])
