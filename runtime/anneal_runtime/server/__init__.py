"""The model server: one base model and its adapters behind vLLM's OpenAI routes (docs/internal-api.md, "Model server").

`process` owns the sockets and the life of the program, `app` and its routes speak HTTP, `decoding` is the engine:
one thread (`decoding.scheduler`) owns torch and takes work from the routes. Nothing on the HTTP side imports torch,
so that the server listens seconds before the model is loaded.
"""
