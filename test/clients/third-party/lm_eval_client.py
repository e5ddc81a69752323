"""lm-eval by its page on models behind an API, with tasks on the machine: the Hub cannot be reached from everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

from features import BASE_URL, MODEL, feature

TOKENIZER = os.environ["TOKENIZER"]
folder = Path("tasks").absolute()
folder.mkdir()
rows = [{"question": f"Is {n} even?", "choices": ["yes", "no"], "answer": n % 2} for n in range(6)]
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
generation_kwargs: {until: ["\\n"], max_gen_toks: 8}
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


def run(task: str, model: str, path: str, *more: str) -> dict:
    output = Path(f"results-{task}-{model}")
    arguments = f"model={MODEL},base_url={BASE_URL}/{path},num_concurrent=2,max_length=1024"
    tokens = f"tokenizer_backend=huggingface,tokenizer={TOKENIZER}" if path == "completions" else "tokenizer_backend=None"
    command = [str(Path(sys.executable).parent / "lm_eval"), "--model", model, "--model_args", f"{arguments},{tokens}"]
    done = subprocess.run(
        [*command, "--tasks", task, "--include_path", str(folder), "--output_path", str(output), *more],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    (result,) = output.glob("**/results_*.json")
    return json.loads(result.read_text())["results"][task]


@feature("generation")
def _() -> None:
    assert "exact_match,none" in run("local_text", "local-completions", "completions")


@feature("generation by chat")
def _() -> None:
    found = run("local_text", "local-chat-completions", "chat/completions", "--apply_chat_template")
    assert "exact_match,none" in found


@feature("multiple choice")
def _() -> None:
    assert 0 <= run("local_choice", "local-completions", "completions")["acc,none"] <= 1


@feature("perplexity")
def _() -> None:
    assert run("local_perplexity", "local-completions", "completions")["word_perplexity,none"] > 1
