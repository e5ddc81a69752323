"""One attempt of one fine-tune: claim, load, train a LoRA adapter, save it, evaluate it, exit with a meaningful code.

`main` tells the story, `failures` says what its ends mean to Anneal, `phases` are its parts, `training_run` is the
training itself and `step` one optimizer step.
"""

import sys
from types import ModuleType
from typing import cast

# PEFT imports bitsandbytes wherever it is installed, for a second. four_bit.py shows it to the trainings that need it.
sys.modules.setdefault("bitsandbytes", cast(ModuleType, None))
