"""Runs the trainer alone on a file of rows and prints its seconds: trainer_baseline.py ROWS ARGS_JSON"""

import os
import subprocess
import sys
import tempfile
import time

from fake_internal_api import open_fake_api, root

service = open_fake_api(sys.argv[1], sys.argv[2])
with tempfile.TemporaryDirectory() as work_dir:
    pod = {"ANNEAL_INTERNAL_URL": service.url, "ANNEAL_TOKEN": service.token, "ANNEAL_MODELS_DIR": str(root)}
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
service.stop()
