"""`python -m anneal_runtime.pull SOURCE`: fetches a model to where trainers and model servers look for it.

SOURCE is the JSON of its `source` in models.json. The folder is printed, progress goes to standard error.
"""

import json
import sys

from anneal_runtime import exit_codes
from anneal_runtime.model_source import ModelUnavailable, locate
from anneal_runtime.settings import models_dir, prepare_threads


def main() -> int:
    prepare_threads()
    try:
        folder = locate(json.loads(sys.argv[1]), models_dir(), show)
    except ModelUnavailable as error:
        show(f"{error}\n")
        return exit_codes.MODEL_UNAVAILABLE
    if sys.stderr.isatty():
        show("")
    print(folder)
    return 0


def show(sentence: str) -> None:
    """On a terminal each sentence takes the place of the one before."""
    sys.stderr.write(f"\r\x1b[K{sentence}" if sys.stderr.isatty() else f"{sentence}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
