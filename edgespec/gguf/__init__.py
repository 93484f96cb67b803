"""GGUF files as untrusted input: headers, shapes, vocabularies; nothing is loaded."""
