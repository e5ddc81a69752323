"""Runs the trainer on a file of rows, without the service, and prints its seconds: trainer_by_hand.py ROWS ARGS_JSON"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

root = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "runtime"), str(root / "runtime/tests")]
from support.assignments import assign  # noqa: E402
from support.fake_anneal import FakeAnneal  # noqa: E402

rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
fake = FakeAnneal(assignment={}).start()
assign(fake, rows, evaluation=rows[:10], save_steps=60, r_value=64, lora_alpha=64, **json.loads(sys.argv[2]))
with tempfile.TemporaryDirectory() as work_dir:
    pod = {"ANNEAL_INTERNAL_URL": fake.url, "ANNEAL_TOKEN": fake.token, "ANNEAL_MODELS_DIR": str(root)}
    environment = {
        **os.environ,
        **pod,
        "ANNEAL_WORK_DIR": work_dir,
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
    }
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "anneal_runtime.trainer"], env=environment, check=True, stdout=sys.stderr)
    print(time.perf_counter() - started)
fake.stop()
