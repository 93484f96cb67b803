"""The user's own texts as a source of drafts: what was written before is often written again.

REST (He et al. 2023, arXiv 2311.08252) with suffix arrays that numpy sorts. `documents` reads
files, `store` keeps their texts and builds shards for a vocabulary, `shard` searches them.
Nothing here leaves the machine, and every file is its owner's alone.
"""
