"""The sidecar of a vLLM in one pod: a port with the server's token, adapters by URL, readiness after a real answer.

`process` waits for the engine, tries it out and reports; `engine` speaks to it; `routes` pass requests on, mended where
vLLM refuses what docs/internal-api.md promises. The routes for adapters are those of anneal_runtime.server.
"""
