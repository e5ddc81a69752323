"""Exit codes of the pods' programs, as docs/internal-api.md names them."""

FINISHED = 0
DATA_ERROR = 65
MODEL_UNAVAILABLE = 69
CODE_ERROR = 70
OUT_OF_MEMORY = 71
# Not this process failed: one that it works with is gone or silent.
PEER_LOST = 75
FENCED = 77
UNSUPPORTED_RUNTIME = 78
TERMINATED = 143
