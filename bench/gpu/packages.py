"""Which packages this Python has, and what is left out without them."""

from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version

# The trainer hides the package from PEFT, so the usual question is answered with no.
HAS_4BIT = PathFinder.find_spec("bitsandbytes") is not None
# By package: what needs it.
NEEDS = {
    **dict.fromkeys(("transformers", "peft", "tokenizers", "safetensors", "fastjsonschema"), "everything"),
    "llguidance": "engine, and the resumes of methods",
    "accelerate": "TRL, 4-bit bases, and the plain Trainer of trainer",
    "bitsandbytes": "4-bit bases",
    **dict.fromkeys(("trl", "datasets", "dill", "multiprocess", "pyarrow", "pandas", "xxhash"), "TRL"),
    **dict.fromkeys(("pytest", "starlette"), "tests"),
}


def tell_packages() -> None:
    found: dict[str, str] = {}
    for name in NEEDS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed: without it goes {NEEDS[name]}.")
    print(", ".join(f"{name} {number}" for name, number in found.items()), flush=True)
