"""`python -m anneal_runtime.server`: a model-server pod. Its environment is in docs/internal-api.md."""

import sys

from anneal_runtime import exit_codes
from anneal_runtime.log import exit_now, log
from anneal_runtime.server.process import ReportingServer, ServerProcess
from anneal_runtime.server.replicas import ReplicaGroup
from anneal_runtime.settings import BadSettings, ServerSettings
from anneal_runtime.vllm_sidecar.process import SidecarProcess

# The decoding thread asks for the interpreter after each operation of a forward pass. By default another thread, which
# reads requests or compiles a grammar, keeps the interpreter for 5 ms each time, and a pass has hundreds of operations.
SWITCH_INTERVAL_S = 0.00005


def main() -> int:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        settings = ServerSettings.from_environment()
        return program_of(settings).run()
    except (BadSettings, OSError) as error:
        log(f"The model server cannot start: {error}")
        return exit_codes.CODE_ERROR


def program_of(settings: ServerSettings) -> ReplicaGroup | ReportingServer:
    if settings.replicas > 1:
        return ReplicaGroup(settings)
    return SidecarProcess(settings) if settings.spec.engine == "vllm" else ServerProcess(settings)


if __name__ == "__main__":
    # The decoding thread may be in the middle of a forward pass.
    exit_now(main())
