"""The Python API: a loaded model, chats as streams of events, statistics. See `types`."""
