"""lamini 3.2: what its documentation shows, with nothing set but two environment variables."""

import asyncio
import csv
import tempfile
from collections.abc import AsyncIterator, Iterator

import lamini
from checks import BASE_MODEL, DOCUMENTED_ARGS, SAMPLE_FILE, SHORT_RUN, check, rows, run, wait_for
from lamini.api.pipeline_client import PipelineClient
from lamini.api.rest_requests import make_web_request
from lamini.api.utils.batch_completions import BatchCompletions, BatchStreamingCompletionObject
from lamini.api.utils.batch_embeddings import BatchEmbeddings
from lamini.error.error import APIError, AuthenticationError, ModelNotFoundError, UserError
from lamini.generation.embedding_node import EmbeddingNode

llm = lamini.Lamini(model_name=BASE_MODEL)
tuned: dict = {}
COMPLETIONS = f"{lamini.api_url}/v1/completions"


@check
def generate_answers_one_prompt() -> None:
    assert isinstance(llm.generate("Who?", max_new_tokens=8), str)


@check
def generate_answers_a_list_in_order() -> None:
    prompts = ["one", "two", "three"]
    answers = llm.generate(prompts, max_new_tokens=8)
    assert answers == [llm.generate(prompt, max_new_tokens=8) for prompt in prompts], answers


@check
def generate_keeps_types_and_enums() -> None:
    shape = {"name": "str", "age": "int", "score": "float", "ok": "bool", "color": ["red", "white"]}
    answer = llm.generate("Who?", output_type=shape)
    assert [type(answer[name]) for name in ("name", "age", "ok")] == [str, int, bool], answer
    assert isinstance(answer["score"], int | float) and answer["color"] in ("red", "white")
    assert set(answer) == set(shape)
    assert all(set(each) == {"n"} for each in llm.generate(["a", "b"], output_type={"n": "int"}))


@check
def embeddings_are_vectors() -> None:
    embedding = lamini.Embedding()
    assert len(embedding.generate("a cat")[0]) == 384
    assert [len(vector[0]) for vector in embedding.generate(["a cat", "a dog"])] == [384, 384]


@check
def tune_and_wait_on_a_list_completes() -> None:
    status = llm.tune_and_wait(rows(), finetune_args=SHORT_RUN, custom_model_name="mine")
    assert (status["status"], status["custom_model_name"]) == ("COMPLETED", "mine"), status
    tuned.update(status)
    assert isinstance(lamini.Lamini(model_name=status["model_name"]).generate("Who?", max_new_tokens=8), str)


@check
def evaluate_compares_tuned_and_base() -> None:
    evaluation = llm.evaluate(tuned["job_id"])
    assert evaluation["job_id"] == tuned["job_id"]
    for result in evaluation["eval_results"]:
        names = [output["model_name"] for output in result["outputs"]]
        assert names == [tuned["model_name"], BASE_MODEL], names


@check
def tune_and_wait_returns_a_failure_with_its_reason() -> None:
    status = llm.tune_and_wait([{"input": "a", "wrong": "b"}], finetune_args=SHORT_RUN)
    assert status["status"] == "FAILED" and "line 1" in status["status_message"], status


@check
def tune_takes_an_uploaded_file_and_the_set_again() -> None:
    dataset_id = llm.upload_file(SAMPLE_FILE)
    first = llm.tune(dataset_id, finetune_args=SHORT_RUN)
    second = llm.tune(data_or_dataset_id=dataset_id, finetune_args=SHORT_RUN)
    assert first["dataset_id"] == second["dataset_id"] == dataset_id
    assert first["job_id"] != second["job_id"]
    for job in (first, second):
        assert llm.cancel_job(job["job_id"])["message"] == f"cancelled {job['job_id']}"


@check
def tune_takes_a_csv_file() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "answer"])
        writer.writerows((row["input"], row["output"]) for row in rows())
        file.flush()
        dataset_id = llm.upload_file(file.name, input_key="question", output_key="answer")
    job = llm.tune(dataset_id, finetune_args={"max_steps": 1})
    wait_for(lambda: llm.check_job_status(job["job_id"]), "COMPLETED")


@check
def a_cancelled_job_resumes_to_the_end() -> None:
    job_id = llm.tune(rows(), finetune_args=SHORT_RUN)["job_id"]
    llm.cancel_job(job_id)
    wait_for(lambda: llm.check_job_status(job_id), "CANCELLED")
    llm.resume_job(job_id)
    done = wait_for(lambda: llm.check_job_status(job_id), "COMPLETED")
    assert done["resume_count"] == 1


@check
def get_jobs_lists_newest_first() -> None:
    ids = [job["job_id"] for job in llm.get_jobs()]
    assert ids == sorted(ids, reverse=True) and tuned["job_id"] in ids


@check
def cancel_all_jobs_leaves_none_open() -> None:
    job_ids = [llm.tune(rows(), finetune_args=SHORT_RUN)["job_id"] for _ in range(2)]
    llm.cancel_all_jobs()
    for job_id in job_ids:
        wait_for(lambda job_id=job_id: llm.check_job_status(job_id), "CANCELLED")


def refusal(call) -> Exception:
    try:
        answer = call()
    except Exception as error:
        return error
    raise AssertionError(f"answered {answer}")


@check
def a_complete_job_does_not_resume() -> None:
    error = refusal(lambda: llm.resume_job(tuned["job_id"]))
    assert isinstance(error, APIError) and "is complete" in str(error), repr(error)


@check
def refusals_have_the_exceptions_of_the_sdk_with_the_sentence_of_the_service() -> None:
    prompt = {"model_name": BASE_MODEL, "prompt": "Who?"}
    for key, body, kind, sentence in (
        ("wrong", prompt, AuthenticationError, "invalid token"),
        (lamini.api_key, {**prompt, "prompt": 7}, UserError, "prompt must be a string or a list of strings."),
        (lamini.api_key, {**prompt, "model_name": "no-such"}, ModelNotFoundError, '"no-such"'),
    ):
        error = refusal(lambda key=key, body=body: make_web_request(key, COMPLETIONS, "post", body))
        assert type(error) is kind and sentence in str(error), repr(error)


@check
def version_names_the_server() -> None:
    assert llm.version()


@check
def list_models_has_the_base() -> None:
    assert BASE_MODEL in [model.model_name for model in llm.list_models()]


async def prompts(texts: list[str]) -> AsyncIterator[lamini.PromptObject]:
    for text in texts:
        yield lamini.PromptObject(prompt=text)


def collect(pipeline: lamini.GenerationPipeline, texts: list[str]) -> list:
    async def gather() -> list:
        return [answer.response async for answer in pipeline.call(prompts(texts))]

    return asyncio.run(gather())


@check
def a_generation_pipeline_answers_every_prompt() -> None:
    class Pipeline(lamini.GenerationPipeline):
        def __init__(self) -> None:
            super().__init__()
            self.node = lamini.GenerationNode(model_name=BASE_MODEL, max_new_tokens=8)

        def forward(self, prompt: Iterator) -> AsyncIterator:
            return self.node(prompt, output_type={"n": "int"})

    answers = collect(Pipeline(), [f"prompt {number}" for number in range(7)])
    assert len(answers) == 7 and all(isinstance(answer["n"], int) for answer in answers), answers


@check
def an_embedding_pipeline_answers_every_prompt() -> None:
    class Pipeline(lamini.GenerationPipeline):
        def __init__(self) -> None:
            super().__init__()
            self.node = EmbeddingNode()

        def forward(self, prompt: Iterator) -> AsyncIterator:
            return self.node(prompt)

    answers = collect(Pipeline(), [f"prompt {number}" for number in range(7)])
    assert len(answers) == 7 and all(len(answer) == 384 for answer in answers)


def batch_body(prompt: list[str]) -> dict:
    return {"prompt": prompt, "model_name": BASE_MODEL, "output_type": None, "max_new_tokens": 4}


@check
def batches_answer_in_order() -> None:
    completions = BatchCompletions()
    batch = completions.submit(prompt=["a", "b"], model_name=BASE_MODEL, max_new_tokens=4)
    for _ in range(600):
        result = completions.check_result(batch["id"])
        if result and all(result["finish_reason"]):
            break
        asyncio.run(asyncio.sleep(0.1))
    assert len(result["outputs"]) == 2, result
    embeddings = BatchEmbeddings()
    batch = embeddings.submit(prompt=["a", "b"], model_name=None)
    for _ in range(600):
        result = embeddings.check_result(batch["id"])
        if result:
            break
        asyncio.run(asyncio.sleep(0.1))
    assert [len(vector) for vector in result["embedding"]] == [384, 384]


@check
def a_batch_with_a_bad_prompt_answers_the_others() -> None:
    batches = BatchCompletions()
    batch = batches.submit(prompt=["a", "word " * 20_000, "b"], model_name=BASE_MODEL, max_new_tokens=4)
    result = asyncio.run(PipelineClient().batch_completions(None, batch_body(["a", "word " * 20_000, "b"])))
    assert [output is None for output in result["outputs"]] == [False, True, False], result
    assert result["finish_reason"][1] == "error" and result["errors"][0]["path"] == "prompt[1]", result
    stream = BatchStreamingCompletionObject(f"{batches.api_prefix}batch_completions", batches.api_key, batch["id"], 0.1)
    assert [each["output"] is None for each in stream] == [False, True, False]


@check
def a_batch_pipeline_passes_on_a_bad_prompt_without_an_answer() -> None:
    class Pipeline(lamini.GenerationPipeline):
        def __init__(self) -> None:
            super().__init__()
            self.node = lamini.GenerationNode(model_name=BASE_MODEL, max_new_tokens=8)

        def forward(self, prompt: Iterator) -> AsyncIterator:
            return self.node(prompt)

    lamini.gate_pipeline_batch_completions = True
    try:
        answers = collect(Pipeline(), ["a", "word " * 20_000, "b"])
    finally:
        lamini.gate_pipeline_batch_completions = False
    assert sorted(answer is None for answer in answers) == [False, False, True], answers


@check
def a_completion_streams() -> None:
    stream = lamini.StreamingCompletion()
    texts = list(stream.create(prompt="Who?", model_name=BASE_MODEL, max_new_tokens=8, polling_interval=0.05))
    assert texts, texts


@check
def documented_finetune_args_are_taken() -> None:
    for args in DOCUMENTED_ARGS:
        llm.cancel_job(llm.tune(rows(), finetune_args=args)["job_id"])


run()
