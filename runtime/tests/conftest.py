import os

# Before torch is imported by anyone: spinning threads on busy cores cost 3x.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
