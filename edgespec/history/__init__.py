"""Chats on disk: a SQLite file with every prompt, answer and branch, and its search.

Owns the file, its schema, and what happens when it cannot be written. Knows no models, no
conversation logic and no screen; `edgespec.chat` gives it records.
"""
