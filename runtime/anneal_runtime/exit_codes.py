"""Exit codes of the pods' programs by cause, as docs/internal-api.md explains them."""

from anneal_runtime.contract import EXIT_CODES

FINISHED = EXIT_CODES["finished"]
DATA_ERROR = EXIT_CODES["data_error"]
MODEL_UNAVAILABLE = EXIT_CODES["model_unavailable"]
CODE_ERROR = EXIT_CODES["code_error"]
OUT_OF_MEMORY = EXIT_CODES["out_of_memory"]
# Another process of the run is gone or silent; this one has no error of its own.
PEER_LOST = EXIT_CODES["peer_lost"]
FENCED = EXIT_CODES["fenced"]
UNSUPPORTED_RUNTIME = EXIT_CODES["unsupported_runtime"]
TERMINATED = EXIT_CODES["killed"]
