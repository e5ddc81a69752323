import os

# Before torch is imported by anyone: spinning threads on busy cores cost 3x.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
# Asks the driver without starting it, which the fork server's children could not use then.
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
