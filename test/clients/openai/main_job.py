"""The main job with the official openai SDK, unchanged: a base URL, a key, and nothing that knows of us."""

import csv
import hashlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
from pydantic import BaseModel

BASE = os.environ["BASE_MODEL"]
CHAT_FILE = Path(os.environ["CHAT_FILE"])
ROWS = [json.loads(line)["messages"] for line in CHAT_FILE.read_text().splitlines()]
# The rows fit into one step, so each epoch is one step.
EPOCHS = 50
client = openai.OpenAI()


def check(work: Callable[[], Any]) -> Callable[[], Any]:
    error = None
    try:
        work()
    except Exception as failure:  # noqa: BLE001
        line = traceback.extract_tb(failure.__traceback__)[1].lineno
        error = f"{type(failure).__name__}: {failure} (line {line})"
    print(json.dumps({"check": work.__name__.replace("_", " "), "error": error}), flush=True)
    return work


def until(job_id: str, *wanted: str) -> Any:
    for _ in range(4000):
        job = client.fine_tuning.jobs.retrieve(job_id)
        if job.status in wanted:
            return job
        assert job.status not in ("succeeded", "failed", "cancelled"), (job.status, job.error)
        time.sleep(0.1)
    raise AssertionError(f"{job_id} is not {wanted}")


def refusal(kind: type[openai.APIStatusError], work: Callable[[], Any]) -> Any:
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


training_file = client.files.create(file=CHAT_FILE, purpose="fine-tune")
job = client.fine_tuning.jobs.create(
    model=BASE,
    training_file=training_file.id,
    suffix="python",
    seed=7,
    metadata={"team": "blue"},
    method={"type": "supervised", "supervised": {"hyperparameters": {"n_epochs": EPOCHS, "batch_size": "auto"}}},
)


@check
def files() -> None:
    assert (training_file.object, training_file.filename) == ("file", CHAT_FILE.name)
    assert training_file.bytes == CHAT_FILE.stat().st_size
    assert client.files.retrieve(training_file.id) == training_file
    assert client.files.content(training_file.id).read() == CHAT_FILE.read_bytes()
    spare = client.files.create(file=("spare.jsonl", b'{"prompt": "a", "completion": "b"}\n'), purpose="fine-tune")
    assert [file.id for file in client.files.list(limit=1)] == [spare.id, training_file.id]
    assert client.files.delete(spare.id).deleted
    refusal(openai.NotFoundError, lambda: client.files.retrieve(spare.id))


@check
def a_job_is_paused_and_cancelled() -> None:
    other = client.fine_tuning.jobs.create(model=BASE, training_file=training_file.id)
    assert [each.id for each in client.fine_tuning.jobs.list(limit=1)] == [other.id, job.id]
    client.fine_tuning.jobs.pause(other.id)
    assert until(other.id, "paused").finished_at is None
    assert client.fine_tuning.jobs.cancel(other.id).status == "cancelled"
    assert client.fine_tuning.jobs.retrieve(other.id).finished_at is not None
    commands = [event for event in client.fine_tuning.jobs.list_events(other.id) if event.data["kind"] == "command"]
    assert [event.data["reason"] for event in commands] == ["cancel", "pause"]


@check
def the_job_succeeds() -> None:
    global job
    assert (job.object, job.status) == ("fine_tuning.job", "validating_files")
    job = until(job.id, "succeeded")
    assert (job.user_provided_suffix, job.seed, job.metadata) == ("python", 7, {"team": "blue"})
    assert (job.hyperparameters.n_epochs, job.hyperparameters.learning_rate_multiplier) == (EPOCHS, 1)
    assert job.training_file == training_file.id and job.error is None and job.finished_at is not None


@check
def events_and_checkpoints() -> None:
    everything = list(client.fine_tuning.jobs.list_events(job.id, limit=7))
    events = [event for event in everything if event.type == "message"]
    steps = [event.data["step"] for event in everything if event.type == "metrics"]
    assert steps == sorted(steps, reverse=True) and steps[0] == EPOCHS and len(set(steps)) == len(steps)
    metrics = next(event for event in everything if event.type == "metrics")
    assert metrics.data["total_steps"] == EPOCHS and metrics.data["train_loss"] > 0
    assert f"{EPOCHS}/{EPOCHS}" in metrics.message
    assert len(events) > 6 and len({event.id for event in events}) == len(events)
    assert "succeeded" in events[0].message and "validating_files" in events[-1].message
    checkpoints = list(client.fine_tuning.jobs.checkpoints.list(job.id))
    assert checkpoints[0].fine_tuned_model_checkpoint == job.fine_tuned_model
    assert checkpoints[0].step_number == EPOCHS and checkpoints[0].metrics.train_loss is not None


@check
def the_result_file_holds_the_steps() -> None:
    (file_id,) = job.result_files
    file = client.files.retrieve(file_id)
    content = client.files.content(file_id).read()
    assert (file.purpose, file.bytes) == ("fine-tune-results", len(content))
    rows = list(csv.DictReader(content.decode().splitlines()))
    events = [event.data for event in client.fine_tuning.jobs.list_events(job.id, limit=100) if event.type == "metrics"]
    assert [(int(row["step"]), float(row["train_loss"])) for row in rows] == [
        (data["step"], data["train_loss"]) for data in reversed(events)
    ]
    assert job.trained_tokens > 0 and job.estimated_finish is None
    refusal(openai.ConflictError, lambda: openai.OpenAI(max_retries=0).files.delete(file_id))


@check
def the_tuned_model_answers_as_it_was_taught() -> None:
    answers = []
    for question, _ in ROWS:
        answer = client.chat.completions.create(model=job.fine_tuned_model, messages=[question], temperature=0)
        answers.append(answer.choices[0].message.content)
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    right = sum(said == expected["content"] for said, (_, expected) in zip(answers, ROWS, strict=True))
    assert right >= len(ROWS) * 0.9, f"{right} of {len(ROWS)}"


@check
def a_stream_has_the_same_text_in_pieces() -> None:
    asked = {"model": job.fine_tuned_model, "messages": [ROWS[0][0]], "temperature": 0}
    whole = client.chat.completions.create(**asked)
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    pieces = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert "".join(pieces) == whole.choices[0].message.content and len(pieces) > 3, pieces
    assert chunks[-1].usage == whole.usage


class Product(BaseModel):
    name: str
    year: int
    price: float
    in_stock: bool


@check
def a_schema_is_kept() -> None:
    answer = client.chat.completions.parse(model=job.fine_tuned_model, messages=[ROWS[0][0]], response_format=Product)
    assert isinstance(answer.choices[0].message.parsed, Product)


@check
def prompts_are_completed() -> None:
    answer = client.completions.create(model=BASE, prompt=["a", "b"], max_tokens=8, temperature=0)
    assert [choice.index for choice in answer.choices] == [0, 1] and answer.usage.completion_tokens <= 16
    chunks = client.completions.create(model=BASE, prompt="a", max_tokens=8, temperature=0, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == answer.choices[0].text


@check
def choices_and_probabilities() -> None:
    asked = {"model": BASE, "messages": [ROWS[0][0]], "max_tokens": 6}
    several = client.chat.completions.create(**asked, n=3, seed=5, presence_penalty=0.5, logit_bias={"40": -5})
    assert [choice.index for choice in several.choices] == [0, 1, 2]
    alone = client.chat.completions.create(**asked, seed=6, presence_penalty=0.5, logit_bias={"40": -5})
    assert several.choices[1].message.content == alone.choices[0].message.content
    scored = client.chat.completions.create(**asked, logprobs=True, top_logprobs=2, temperature=0)
    content = scored.choices[0].logprobs.content
    assert content and all(len(each.top_logprobs) == 2 and each.logprob <= 0 for each in content)
    chunks = client.chat.completions.create(**asked, logprobs=True, top_logprobs=2, temperature=0, stream=True)
    choices = [choice for chunk in chunks for choice in chunk.choices if choice.logprobs]
    assert [each for choice in choices for each in choice.logprobs.content] == content
    echo = client.completions.create(model=BASE, prompt=[[5, 6, 7], [8]], max_tokens=0, echo=True, logprobs=1)
    assert [len(choice.logprobs.token_logprobs) for choice in echo.choices] == [3, 1]


@check
def responses() -> None:
    asked = {"model": BASE, "instructions": "Be brief.", "input": ROWS[0][0]["content"], "max_output_tokens": 6}
    answer = client.responses.create(**asked, temperature=0)
    assert answer.object == "response" and answer.store and answer.usage.output_tokens <= 6
    events = list(client.responses.create(**asked, temperature=0, stream=True))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert events[-1].response.output_text == answer.output_text == "".join(pieces)
    asked["input"] = "And then?"
    following = client.responses.create(**asked, temperature=0, previous_response_id=answer.id)
    assert following.previous_response_id == answer.id
    assert following.usage.input_tokens > answer.usage.input_tokens
    assert client.responses.retrieve(following.id).output_text == following.output_text
    asked_items = list(client.responses.input_items.list(following.id, order="asc", limit=2))
    assert [item.role for item in asked_items] == ["user", "assistant", "user"], asked_items
    assert asked_items[1].content[0].text == answer.output_text and asked_items[2].content[0].text == "And then?"
    for kept in (answer, following):
        client.responses.delete(kept.id)
    refusal(openai.NotFoundError, lambda: client.responses.retrieve(answer.id))
    with client.responses.stream(model=BASE, input="Which product?", text_format=Product) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Product)


@check
def a_batch_of_requests() -> None:
    def line(name: str, body: Any) -> str:
        return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})

    good = {"model": BASE, "messages": [ROWS[0][0]], "max_tokens": 6, "temperature": 0}
    lines = [line("a", good), line("b", {**good, "temperature": 9}), line("c", good)]
    file = client.files.create(file=("requests.jsonl", "\n".join(lines).encode()), purpose="batch")
    assert file.purpose == "batch" and [each.id for each in client.files.list(purpose="batch")] == [file.id]
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"team": "blue"}
    )
    assert batch.object == "batch" and batch.metadata == {"team": "blue"}
    assert [each.id for each in client.batches.list(limit=1)] == [batch.id]
    for _ in range(4000):
        if (batch := client.batches.retrieve(batch.id)).status == "completed":
            break
        assert batch.status in ("validating", "in_progress", "finalizing"), batch
        time.sleep(0.1)
    assert batch.request_counts.model_dump() == {"total": 3, "completed": 2, "failed": 1}
    answers = [json.loads(each) for each in client.files.content(batch.output_file_id).text.splitlines()]
    alone = client.chat.completions.create(**good).choices[0].message.content
    assert [(each["custom_id"], each["response"]["status_code"]) for each in answers] == [("a", 200), ("c", 200)]
    assert all(each["response"]["body"]["choices"][0]["message"]["content"] == alone for each in answers)
    (error,) = [json.loads(each) for each in client.files.content(batch.error_file_id).text.splitlines()]
    assert (error["custom_id"], error["response"]["body"]["error"]["param"]) == ("b", "temperature")
    refusal(openai.ConflictError, lambda: openai.OpenAI(max_retries=0).batches.cancel(batch.id))
    assert client.files.delete(batch.output_file_id).deleted


@check
def a_file_arrives_in_parts() -> None:
    content = CHAT_FILE.read_bytes()
    asked = {"filename": "parts.jsonl", "mime_type": "application/jsonl", "purpose": "fine-tune"}
    upload = client.uploads.upload_file_chunked(
        file=content, bytes=len(content), part_size=1000, md5=hashlib.md5(content).hexdigest(), **asked
    )
    assert upload.status == "completed" and client.files.content(upload.file.id).read() == content
    assert upload.file.filename == "parts.jsonl" and client.files.delete(upload.file.id).deleted
    other = client.uploads.create(bytes=4, **asked)
    parts = [client.uploads.parts.create(other.id, data=piece).id for piece in (b"cd", b"ab", b"xy")]
    wrong = refusal(openai.BadRequestError, lambda: client.uploads.complete(other.id, part_ids=parts))
    assert wrong.param == "part_ids" and "6 bytes" in wrong.message
    sums = refusal(
        openai.BadRequestError, lambda: client.uploads.complete(other.id, part_ids=parts[:2], md5="0" * 32)
    )
    assert sums.param == "md5"
    joined = client.uploads.complete(other.id, part_ids=[parts[1], parts[0]])
    assert client.files.content(joined.file.id).read() == b"abcd" and client.files.delete(joined.file.id).deleted
    assert client.uploads.cancel(client.uploads.create(bytes=4, **asked).id).status == "cancelled"


@check
def an_eval_judges_two_models() -> None:
    answer, model = "{{sample.output_text}}", job.fine_tuned_model
    schema = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question", "answer"]}
    judge = {"model": BASE, "input": [{"role": "user", "content": f"Is {answer} right?"}]}
    made = client.evals.create(
        name="products",
        metadata={"team": "blue"},
        data_source_config={"type": "custom", "item_schema": schema, "include_sample_schema": True},
        testing_criteria=[
            {"type": "string_check", "name": "same", "input": answer, "reference": "{{item.answer}}", "operation": "eq"},
            {
                **{"type": "text_similarity", "name": "alike", "input": answer, "reference": "{{item.answer}}"},
                **{"evaluation_metric": "fuzzy_match", "pass_threshold": 0.9},
            },
            {"type": "score_model", "name": "score", **judge, "range": [0, 10], "pass_threshold": 0},
            {"type": "label_model", "name": "label", **judge, "labels": ["yes", "no"], "passing_labels": ["yes", "no"]},
        ],
    )
    found = client.evals.retrieve(made.id)
    assert found.model_dump() == made.model_dump() and made.data_source_config.type == "custom"
    assert client.evals.update(made.id, name="goods").name == "goods"
    assert [each.id for each in client.evals.list(order="desc", limit=1)][0] == made.id

    def ended(run_id: str) -> Any:
        for _ in range(4000):
            run = client.evals.runs.retrieve(run_id, eval_id=made.id)
            if run.status not in ("queued", "in_progress"):
                return run
            time.sleep(0.1)
        raise AssertionError("the run does not end")

    items = [{"item": {"question": q["content"], "answer": a["content"]}} for q, a in ROWS]
    messages = {"type": "template", "template": [{"role": "user", "content": "{{item.question}}"}]}
    asked = {"type": "completions", "input_messages": messages, "sampling_params": {"temperature": 0}}
    source = {"type": "file_content", "content": items}
    started = client.evals.runs.create(made.id, name="t", data_source={**asked, "model": model, "source": source})
    run = ended(started.id)
    assert (run.status, run.error, run.model, run.name) == ("completed", None, model, "t"), run
    counts = run.result_counts
    assert (counts.total, counts.errored) == (len(ROWS), 0) and counts.passed >= len(ROWS) * 0.9, counts
    assert [each.testing_criteria for each in run.per_testing_criteria_results] == ["same", "alike", "score", "label"]
    assert run.per_model_usage[0].invocation_count == len(ROWS)
    listed = list(client.evals.runs.output_items.list(run.id, eval_id=made.id, limit=7))
    assert [item.datasource_item_id for item in listed] == list(range(len(ROWS)))
    found = client.evals.runs.output_items.retrieve(listed[3].id, eval_id=made.id, run_id=run.id)
    assert found.model_dump() == listed[3].model_dump()
    assert listed[3].sample.output[0].content and listed[3].sample.input[0].content == items[3]["item"]["question"]
    passed = client.evals.runs.output_items.list(run.id, eval_id=made.id, status="pass")
    assert len(list(passed)) == counts.passed

    lines = "\n".join(json.dumps(item) for item in items).encode()
    file = client.files.create(file=("items.jsonl", lines), purpose="evals")
    base = {"type": "responses", "model": BASE, "source": {"type": "file_id", "id": file.id}}
    sampling = {"temperature": 0, "max_completion_tokens": 12}
    other = client.evals.runs.create(
        made.id, data_source={**base, "input_messages": messages, "sampling_params": sampling}
    )
    assert ended(other.id).result_counts.passed < counts.passed
    given = [{**item, "sample": {"output_text": item["item"]["answer"]}} for item in items]
    third = client.evals.runs.create(
        made.id, data_source={"type": "jsonl", "source": {"type": "file_content", "content": given}}
    )
    assert ended(third.id).result_counts.passed == len(ROWS)
    assert [each.id for each in client.evals.runs.list(made.id, status="completed")] == [run.id, other.id, third.id]
    refusal(openai.ConflictError, lambda: openai.OpenAI(max_retries=0).evals.runs.cancel(run.id, eval_id=made.id))
    assert client.evals.runs.delete(third.id, eval_id=made.id).deleted
    assert client.evals.delete(made.id).deleted
    refusal(openai.NotFoundError, lambda: client.evals.runs.retrieve(run.id, eval_id=made.id))


@check
def graders_score_a_sample() -> None:
    graders = client.fine_tuning.alpha.graders
    answer = {"input": "{{sample.output_json.name}}", "reference": "{{item.name}}"}
    same: Any = {"type": "string_check", "name": "same", "operation": "eq", **answer}
    alike = {"type": "text_similarity", "name": "alike", "evaluation_metric": "fuzzy_match", **answer}
    asked = [{"role": "user", "content": "How good is {{sample.output_text}}?"}]
    judge: Any = {"type": "score_model", "name": "judge", "model": BASE, "range": [0, 10], "input": asked}
    both: Any = {"type": "multi", "name": "both", "calculate_output": "(same + alike) / 2"}
    both["graders"] = {"same": same, "alike": alike}
    validated = graders.validate(grader=both).grader
    assert validated is not None and validated.name == "both"
    sample: Any = {"model_sample": '{"name": "Anne"}', "item": {"name": "Ann"}}
    run = graders.run(grader=both, **sample)
    assert 0 == run.sub_rewards["same"] < run.reward < run.sub_rewards["alike"] < 1, run
    assert run.metadata.type == "multi" and not run.metadata.errors.other_error
    assert graders.run(grader=same, model_sample='{"name": "Ann"}', item={"name": "Ann"}).reward == 1
    unparsed = graders.run(grader=same, model_sample="Ann", item={"name": "Ann"})
    assert unparsed.reward == 0 and unparsed.metadata.errors.sample_parse_error
    scored = graders.run(grader=judge, model_sample="Ann.")
    assert 0 <= scored.reward <= 10 and scored.metadata.sampled_model_name == BASE
    assert scored.metadata.token_usage == scored.api_model_grader_token_usage_per_model[BASE]
    python: Any = {"type": "python", "name": "p", "source": "def grade(sample, item):\n    return 1.0"}
    try:
        assert graders.run(grader=python, model_sample="Ann").reward == 1
    except openai.BadRequestError as error:  # a machine without a sandbox
        assert "Python graders" in str(error), error


def paused_on_its_way(method: Any, *rows: Any) -> tuple[Any, list[Any]]:
    """A job that is followed by its events, paused after a step, resumed, and read: itself and its steps."""
    lines = "\n".join(json.dumps(row) for row in rows)
    file = client.files.create(file=("rows.jsonl", lines.encode()), purpose="fine-tune")
    tuning = client.fine_tuning.jobs.create(model=BASE, training_file=file.id, validation_file=file.id, method=method)

    def steps() -> list[Any]:
        events = client.fine_tuning.jobs.list_events(tuning.id, limit=100)
        return [event.data for event in events if event.type == "metrics"][::-1]

    for _ in range(4000):
        if steps():
            break
        time.sleep(0.1)
    client.fine_tuning.jobs.pause(tuning.id)
    until(tuning.id, "paused")
    assert client.fine_tuning.jobs.resume(tuning.id).status in ("queued", "running")
    ended = until(tuning.id, "succeeded")
    assert ended.method.type == method["type"] and ended.result_files and ended.trained_tokens > 0
    (newest, *_) = client.fine_tuning.jobs.checkpoints.list(tuning.id)
    assert newest.fine_tuned_model_checkpoint == ended.fine_tuned_model
    found = steps()
    numbers = [data["step"] for data in found]
    assert numbers == sorted(set(numbers)) and numbers[-1] == found[-1]["total_steps"], numbers
    return ended, found


@check
def a_job_of_preferences_is_paused_resumed_and_read() -> None:
    asked = {"messages": [{"role": "user", "content": "Who?"}], "tools": [], "parallel_tool_calls": True}
    answers = {"preferred_output": "Me.", "non_preferred_output": "Nobody."}
    method: Any = {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.2, "n_epochs": 30, "batch_size": 4}}}
    said = {name: [{"role": "assistant", "content": text}] for name, text in answers.items()}
    ended, steps = paused_on_its_way(method, *[{"input": asked, **said}] * 4)
    assert ended.method.dpo.hyperparameters.beta == 0.2
    assert steps[-1]["train_loss"] < steps[0]["train_loss"] and "train_rewards/accuracies" in steps[0], steps


@check
def a_job_of_reinforcement_is_paused_resumed_and_read() -> None:
    rows = [{"messages": [{"role": "user", "content": f"Who is {row}?"}], "name": "Ann"} for row in range(2)]
    template = {"input": "{{sample.output_text}}", "reference": "{{item.name}}"}
    grader: Any = {"type": "text_similarity", "name": "alike", "evaluation_metric": "fuzzy_match", **template}
    knobs: Any = {"compute_multiplier": 0.5, "eval_interval": "auto", "reasoning_effort": "default", "n_epochs": 12}
    extra: Any = {"max_completion_tokens": 8}
    method: Any = {
        "type": "reinforcement",
        "reinforcement": {"grader": grader, "hyperparameters": {**knobs, **extra, "batch_size": 2}},
    }
    ended, steps = paused_on_its_way(method, *rows)
    found = ended.method.reinforcement
    assert found.grader.name == "alike"
    read = (found.hyperparameters.compute_multiplier, found.hyperparameters.batch_size, found.hyperparameters.eval_samples)
    assert read == (0.5, 2, 1), found
    for step in steps:
        assert 0 <= step["train_mean_reward"] <= 1 and step["usage"] and step["timing"], step
        assert [each["name"] for each in step["scores"]["graders"]] == ["alike"], step["scores"]
    assert steps[-1]["full_valid_mean_reward"] is not None


@check
def texts_are_embedded() -> None:
    as_bytes = client.embeddings.create(model="all-MiniLM-L6-v2", input=["a cat", "a dog"], encoding_format="base64")
    as_numbers = client.embeddings.create(model="all-MiniLM-L6-v2", input=["a cat", "a dog"], encoding_format="float")
    assert len(as_numbers.data[1].embedding) == 384 and isinstance(as_bytes.data[0].embedding, str)
    assert as_numbers.usage.prompt_tokens > 3
    usual = client.embeddings.create(model="all-MiniLM-L6-v2", input="a cat").data[0].embedding
    assert max(abs(a - b) for a, b in zip(usual, as_numbers.data[0].embedding, strict=True)) < 1e-6


@check
def models() -> None:
    assert {model.id for model in client.models.list()} >= {BASE, job.fine_tuned_model}
    assert client.models.retrieve(job.fine_tuned_model).owned_by == "account"


@check
def refusals_are_their_exceptions() -> None:
    message = [{"role": "user", "content": "a"}]
    kept = refusal(
        openai.BadRequestError, lambda: client.chat.completions.create(model=BASE, messages=message, store=True)
    )
    assert (kept.param, kept.type) == ("store", "invalid_request_error"), kept.body
    unknown = refusal(openai.NotFoundError, lambda: client.chat.completions.create(model="none", messages=message))
    assert unknown.code == "model_not_found"
    wrong = openai.OpenAI(api_key="sk-wrong", max_retries=0)
    assert refusal(openai.AuthenticationError, lambda: wrong.models.list()).code == "invalid_api_key"
    once = openai.OpenAI(max_retries=0)
    refusal(openai.ConflictError, lambda: once.fine_tuning.jobs.resume(job.id))
    no_file = refusal(
        openai.BadRequestError, lambda: client.fine_tuning.jobs.create(model=BASE, training_file="file-none")
    )
    assert no_file.param == "training_file"
    wandb = {"type": "wandb", "wandb": {"project": "p"}}
    tracker = refusal(
        openai.BadRequestError,
        lambda: client.fine_tuning.jobs.create(model=BASE, training_file=training_file.id, integrations=[wandb]),
    )
    assert tracker.param == "integrations[0].type" and "result_files" in tracker.message
    purpose = refusal(openai.BadRequestError, lambda: client.files.create(file=("a", b"{}"), purpose="assistants"))
    assert purpose.param == "purpose"
    bad = client.files.create(
        file=("bad.jsonl", b'{"messages": [{"role": "robot", "content": "x"}]}\n'), purpose="fine-tune"
    )
    failed = until(client.fine_tuning.jobs.create(model=BASE, training_file=bad.id).id, "failed")
    assert "messages[0].role" in failed.error.message and failed.error.param == "training_file"


@check
def what_was_made_is_deleted() -> None:
    assert client.models.delete(job.fine_tuned_model).deleted
    refusal(openai.NotFoundError, lambda: client.models.retrieve(job.fine_tuned_model))
    assert client.files.delete(training_file.id).deleted
    assert list(client.files.list()) and training_file.id not in {file.id for file in client.files.list()}


sys.exit(0)
