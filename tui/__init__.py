"""The terminal chat. Start it with `edgespec.tui.app.run_chat`; nothing here imports llama.cpp."""
