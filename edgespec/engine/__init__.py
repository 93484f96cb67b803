"""llama.cpp behind Python: models, caches, devices. Only `binding` imports llama_cpp."""
