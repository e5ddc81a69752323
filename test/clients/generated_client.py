"""The main job by the client that openapi-python-client has generated: upload, train, follow, evaluate, ask."""

import os
import sys
import time
from pathlib import Path

import httpx

sys.path.insert(0, sys.argv[1])

from anneal_client import AuthenticatedClient
from anneal_client.api.completions import completions
from anneal_client.api.data import data
from anneal_client.api.embeddings import embedding
from anneal_client.api.training import get_evaluation, get_training_job, list_training_jobs, train
from anneal_client.models import (
    CompletionRequest,
    DataRequest,
    EmbeddingRequest,
    FinetuneArgs,
    TrainRequest,
)

base = os.environ["BASE_MODEL"]
client = AuthenticatedClient(os.environ["ANNEAL_URL"], os.environ["ANNEAL_API_KEY"], timeout=httpx.Timeout(90))

place = data.sync(client=client, body=DataRequest("generated"))
httpx.put(place.dataset_location, content=Path(os.environ["SAMPLE_FILE"]).read_bytes()).raise_for_status()

arguments = FinetuneArgs(max_steps=20)
accepted = train.sync(client=client, body=TrainRequest(base, dataset_id="generated", finetune_args=arguments))
job_id = int(accepted.job_id)
for _ in range(600):
    job = get_training_job.sync(job_id, client=client)
    if job.status in ("COMPLETED", "FAILED"):
        break
    time.sleep(0.2)
assert job.status == "COMPLETED", job
assert [each.job_id for each in list_training_jobs.sync(client=client, limit=1)] == [job_id]

first = get_evaluation.sync(job_id, client=client).eval_results[0]
assert [output.model_name for output in first.outputs] == [job.model_name, base], first
answer = completions.sync(client=client, body=CompletionRequest(job.model_name, "Who?", max_tokens=8))
assert isinstance(answer["output"], str), answer
vector = embedding.sync(client=client, body=EmbeddingRequest("a cat")).embedding
assert len(vector) == 384

refused = train.sync_detailed(client=client, body=TrainRequest("no-such-model", dataset_id="generated"))
assert (refused.status_code, refused.parsed.code) == (404, "model_not_found"), refused
