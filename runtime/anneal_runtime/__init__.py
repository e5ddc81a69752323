"""The programs that run in pods: the trainer (`anneal_runtime.trainer`) and the model server (`anneal_runtime.server`).

Both speak the internal API (docs/internal-api.md) and nothing else of Anneal. Only `settings` reads the environment.
Modules on this level import neither torch nor transformers when loaded, so that a pod answers before those do.
"""

__version__ = "0.1.0"
