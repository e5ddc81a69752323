"""Prints where a source of models.json lies: {"folder", "file"}, the converted model and its GGUF file."""

import json
import sys

from anneal_runtime.model_source import gguf_file, locate
from anneal_runtime.settings import models_dir

source = json.loads(sys.argv[1])
folder = locate(source, models_dir())
print(json.dumps({"folder": str(folder), "file": str(gguf_file(source, models_dir(), folder))}))
