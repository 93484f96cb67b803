"""llama.cpp's RPC backend: workers whose devices hold layers of a model that runs here."""
