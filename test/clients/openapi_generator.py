"""The main job by the client that openapi-generator has made of the document in OpenAPI 3.0."""

import os
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import openapi_client as anneal
from openapi_client.exceptions import NotFoundException

base = os.environ["BASE_MODEL"]
settings = anneal.Configuration(host=os.environ["ANNEAL_URL"], access_token=os.environ["ANNEAL_API_KEY"])
with anneal.ApiClient(settings) as client:
    training = anneal.TrainingApi(client)
    place = anneal.DataApi(client).data(anneal.DataRequest(dataset_id="openapi-generator"))
    rows = Path(os.environ["SAMPLE_FILE"]).read_bytes()
    urllib.request.urlopen(urllib.request.Request(place.dataset_location, data=rows, method="PUT")).close()

    request = anneal.TrainRequest(
        model_name=base,
        dataset_id=place.dataset_id,
        finetune_args=anneal.FinetuneArgs(max_steps=20),
    )
    job_id = int(training.train(request).job_id)
    for _ in range(600):
        job = training.get_training_job(job_id)
        if job.status in ("COMPLETED", "FAILED"):
            break
        time.sleep(0.2)
    assert job.status == "COMPLETED", job
    assert [each.job_id for each in training.list_training_jobs(limit=1)] == [job_id]

    first = training.get_evaluation(job_id).eval_results[0]
    assert [output.model_name for output in first.outputs] == [job.model_name, base], first
    question = anneal.CompletionRequest(model_name=job.model_name, prompt="Who?", max_tokens=8)
    answer = anneal.CompletionsApi(client).completions(question)
    assert isinstance(answer["output"], str), answer
    vector = anneal.EmbeddingsApi(client).embedding(anneal.EmbeddingRequest(prompt="a cat")).embedding
    assert len(vector) == 384

    try:
        training.train(anneal.TrainRequest(model_name="no-such-model", dataset_id=place.dataset_id))
        raise AssertionError("an unknown model was accepted")
    except NotFoundException as error:
        assert error.data.code == "model_not_found", error
