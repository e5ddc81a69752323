"""Serves one job to a trainer, in place of the service: fake_internal_api.py HOST ROWS ARGS_JSON

HOST is this machine's address for the trainer. Prints the URL and the token, and stops when its input ends.
"""

import json
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "runtime"), str(root / "runtime/tests")]
from support.assignments import assign  # noqa: E402
from support.fake_anneal import FakeAnneal  # noqa: E402


def open_fake_api(host: str, rows_file: str, args_json: str) -> FakeAnneal:
    """Opens a fake API with one job to claim, made from these rows and arguments."""
    rows = [json.loads(line) for line in Path(rows_file).read_text().splitlines()]
    fake = FakeAnneal(assignment={}).start()
    fake.url = fake.url.replace("127.0.0.1", host)
    assign(fake, rows, evaluation=rows[:10], save_steps=60, r_value=64, lora_alpha=64, **json.loads(args_json))
    return fake


if __name__ == "__main__":
    fake = open_fake_api(*sys.argv[1:])
    print(json.dumps({"url": fake.url, "token": fake.token}), flush=True)
    sys.stdin.read()
    fake.stop()
