"""The engine `llama.cpp`: a model in GGUF, computed by llama.cpp's library instead of torch."""
