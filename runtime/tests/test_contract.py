"""The runtime says nothing that contract.json lacks. That the file follows the schemas is tested beside them."""

from dataclasses import fields

import pytest

from anneal_runtime.contract import CALLS, DEFAULT_ARGS, EXIT_CODES, ContractBroken, check_answer, check_request
from anneal_runtime.trainer.failures import CAUSES
from anneal_runtime.trainer.training_args import TrainingArgs


def test_the_trainer_has_an_argument_for_each_of_the_contract() -> None:
    assert [field.name for field in fields(TrainingArgs)] == list(DEFAULT_ARGS)


def test_each_cause_can_be_reported_or_has_an_exit_code() -> None:
    reported = CALLS["failure"]["request"]["properties"]["cause"]["enum"]
    assert set(CAUSES.values()) <= {*reported, *EXIT_CODES}


@pytest.mark.parametrize("call", CALLS)
def test_a_body_of_another_kind_is_refused(call: str) -> None:
    with pytest.raises(ContractBroken, match=f"{call} is not valid"):
        check_request(call, [])
    with pytest.raises(ContractBroken):
        check_answer(call, "done")


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(ContractBroken, match=r"data\.phase must be one of"):
        check_request("phase", {"phase": "RESTING"})
