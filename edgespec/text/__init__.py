"""Text around a model: prompts in, answers out, over a `core.Vocab`.

In: `template` (messages to text, in a `sandbox` with `limits`), `prompt` (text to tokens). Out:
`answer` (tokens to deltas, through `detokenise`, `reasoning` and `stops`), `clean` (what a terminal
may see).
"""
