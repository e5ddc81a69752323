"""lm-eval by its page on models behind an API, with tasks on the machine: the Hub cannot be reached from everywhere.

Each task also runs on the same model, loaded in transformers: by lm-eval's own backend for it, with PyTorch from the
service's environment.
"""

import json
import os
import subprocess
import sys
import sysconfig
from math import isclose
from pathlib import Path

from features import BASE_URL, MODEL, feature

TOKENIZER = os.environ["TOKENIZER"]
TORCH_PYTHON = os.environ["TORCH_PYTHON"]
folder = Path("tasks").absolute()
folder.mkdir()
rows = [{"question": f"Is {n} even?", "choices": ["yes", "no"], "answer": n % 2} for n in range(24)]
(folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
COMMON = f"""
dataset_path: json
dataset_kwargs:
  data_files: {{test: {folder / "rows.jsonl"}}}
test_split: test
"""
TASKS = {
    "local_choice": """
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{metric: acc}]
""",
    "local_text": """
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{choices[answer]}}"
generation_kwargs: {until: ["\\n\\n\\n"], max_gen_toks: 24}
metric_list: [{metric: exact_match}]
""",
    "local_perplexity": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{question}}"
metric_list: [{metric: word_perplexity}]
""",
}
for name, text in TASKS.items():
    (folder / f"{name}.yaml").write_text(f"task: {name}{COMMON}{text}")


def evaluate(task: str, program: list[str], *more: str, **env: str) -> tuple[dict, list]:
    """The scores of a task, and the model's answer to each request."""
    output = Path(f"results-{task}-{len(list(Path().glob('results-*')))}")
    done = subprocess.run(
        [
            *program,
            "--tasks",
            task,
            "--include_path",
            str(folder),
            "--output_path",
            str(output),
            "--log_samples",
            *more,
        ],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", **env},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    (result,) = output.glob("**/results_*.json")
    (samples,) = output.glob("**/samples_*.jsonl")
    lines = sorted((json.loads(line) for line in samples.read_text().splitlines()), key=lambda line: line["doc_id"])
    return json.loads(result.read_text())["results"][task], [line["resps"] for line in lines]


def served(task: str, model: str, path: str, *more: str) -> tuple[dict, list]:
    arguments = f"model={MODEL},base_url={BASE_URL}/{path},num_concurrent=2,max_length=1024"
    tokens = (
        f"tokenizer_backend=huggingface,tokenizer={TOKENIZER}" if path == "completions" else "tokenizer_backend=None"
    )
    program = str(Path(sys.executable).parent / "lm_eval")
    return evaluate(task, [program, "--model", model, "--model_args", f"{arguments},{tokens}"], *more)


def loaded(task: str) -> tuple[dict, list]:
    # The backend for APIs adds no token before a text, and this one does by default.
    arguments = f"pretrained={TOKENIZER},dtype=float32,max_length=1024,add_bos_token=False"
    program = [TORCH_PYTHON, "-m", "lm_eval", "--model", "hf", "--model_args", arguments, "--device", "cpu"]
    return evaluate(task, program, PYTHONPATH=sysconfig.get_path("purelib"))


def numbers(answers: list) -> list[float]:
    """The log-probabilities in the answers, which lm-eval writes as texts or numbers."""
    if isinstance(answers, list):
        return [number for each in answers for number in numbers(each)]
    return [] if str(answers) in ("True", "False") else [float(answers)]


def same(task: str, metric: str) -> None:
    ours, answers = served(task, "local-completions", "completions")
    theirs, expected = loaded(task)
    assert len(answers) == len(rows)
    if metric == "exact_match,none":
        assert answers == expected, (answers, expected)
    else:
        pairs = list(zip(numbers(answers), numbers(expected), strict=True))
        # In float32 the sum over a text of a real model is 1e-4 away from that in float64, on either side.
        assert pairs and all(isclose(one, other, rel_tol=1e-5, abs_tol=1e-4) for one, other in pairs), pairs
    assert abs(ours[metric] / theirs[metric] - 1 if theirs[metric] else ours[metric]) < 1e-4, (ours, theirs)


@feature("generation, as the model in transformers")
def _() -> None:
    same("local_text", "exact_match,none")


@feature("generation by chat")
def _() -> None:
    found, _answers = served("local_text", "local-chat-completions", "chat/completions", "--apply_chat_template")
    assert "exact_match,none" in found


@feature("multiple choice, as the model in transformers")
def _() -> None:
    same("local_choice", "acc,none")


@feature("perplexity, as the model in transformers")
def _() -> None:
    same("local_perplexity", "word_perplexity,none")
