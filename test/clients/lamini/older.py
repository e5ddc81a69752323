"""lamini 2.1, 2.5 and 3.0: their main calls."""

import lamini
from checks import BASE_MODEL, DOCUMENTED_ARGS, SHORT_RUN, check, rows, run, wait_for
from lamini.api.embedding import Embedding
from lamini.api.lamini import Lamini

llm = Lamini(model_name=BASE_MODEL)


@check
def generate_answers_one_prompt() -> None:
    assert isinstance(llm.generate("Who?", max_new_tokens=8), str)


@check
def generate_answers_a_list_in_order() -> None:
    prompts = [f"prompt {number}" for number in range(12)]
    answers = llm.generate(prompts, max_new_tokens=8)
    assert len(answers) == 12 and all(isinstance(answer, str) for answer in answers), answers
    assert answers[3] == llm.generate(prompts[3], max_new_tokens=8)


@check
def generate_keeps_types() -> None:
    answer = llm.generate("Who?", output_type={"age": "int", "name": "str"})
    assert type(answer["age"]) is int and type(answer["name"]) is str, answer


@check
def embeddings_are_vectors() -> None:
    assert len(Embedding().generate("a cat")[0]) == 384
    assert [len(vector[0]) for vector in Embedding().generate(["a cat", "a dog"])] == [384, 384]


@check
def train_and_wait_completes_and_its_model_answers() -> None:
    status = llm.train_and_wait(rows(), finetune_args=SHORT_RUN)
    assert status["status"] == "COMPLETED", status
    assert isinstance(Lamini(model_name=status["model_name"]).generate("Who?", max_new_tokens=8), str)
    evaluation = llm.evaluate(status["job_id"])
    assert len(evaluation["eval_results"][0]["outputs"]) == 2


@check
def documented_finetune_args_are_taken() -> None:
    for args in DOCUMENTED_ARGS:
        llm.cancel_job(llm.train(rows(), finetune_args=args)["job_id"])


@check
def a_job_is_cancelled_and_listed() -> None:
    job_id = llm.train(rows(), finetune_args=SHORT_RUN)["job_id"]
    assert str(job_id) in [str(job["job_id"]) for job in llm.get_jobs()]
    llm.cancel_job(job_id)
    wait_for(lambda: llm.check_job_status(job_id), "CANCELLED")
    assert lamini.api_url


run()
