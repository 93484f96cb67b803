"""A GGUF file taken apart into its fields, changed anywhere, and put together again.

The counts and offsets stay right unless a mutation wants them wrong, so that a mutant gets as far
into a reader as possible. Reads sound files only.
"""

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from edgespec.gguf.part import NUMBER_CODES, STRING
from edgespec.gguf.tables import TENSOR_TYPES

ARRAY = 9
WORDS = (0, 1, 2, 3, 7, 8, 31, 127, 128, 255, 256, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
         2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
"""Numbers near the borders that programs get wrong."""
_TEXTS = (b"", b"\0", b"a\0b", b"\xff\xfe", b"<0x0A>", b"<0x", b"<s>", b"[PAD1]", b"llama",
          b"gpt2", b"bert", b"t5", b"rwkv", b"plamo2", b"none", b"test", b"clip", b"qwen2",
          b"gemma3", b"lfm2", b"mamba", b"yarn", b"x" * 5000, "é日".encode(),
          b"\x1b[2J\n")  # fmt: skip


@dataclass(frozen=True)
class Key:
    name: bytes
    kind: int
    payload: bytes
    """As it lies in the file behind the type."""
    is_odd: bool = False
    """The type is not the payload's."""


@dataclass(frozen=True)
class Entry:
    name: bytes
    dims: tuple[int, ...]
    kind: int
    data: bytes
    offset: int | None = None
    """None: where the one before it ends."""


@dataclass(frozen=True)
class Anatomy:
    keys: tuple[Key, ...]
    entries: tuple[Entry, ...]
    version: int = 3
    alignment: int = 32
    n_keys: int | None = None
    n_entries: int | None = None

    def build(self) -> bytes:
        """The file's bytes."""
        head, _ = self.hollow()
        padding = (one.data + bytes(-len(one.data) % self.alignment) for one in self.entries)
        return head + b"".join(padding)

    def hollow(self) -> tuple[bytes, int]:
        """The bytes up to the data section, and the size of the whole file."""
        n_keys = len(self.keys) if self.n_keys is None else self.n_keys
        n_entries = len(self.entries) if self.n_entries is None else self.n_entries
        out = [b"GGUF", struct.pack("<I", self.version), _u64(n_entries), _u64(n_keys)]
        for key in self.keys:
            out += [_u64(len(key.name)), key.name, struct.pack("<I", key.kind), key.payload]
        at = 0
        for one in self.entries:
            offset = at if one.offset is None else one.offset
            out += [_u64(len(one.name)), one.name, struct.pack("<I", len(one.dims))]
            out += [*map(_u64, one.dims), struct.pack("<I", one.kind & 0xFFFFFFFF), _u64(offset)]
            at += -(-len(one.data) // self.alignment) * self.alignment
        head = b"".join(out)
        head += bytes(-len(head) % self.alignment)
        return head, len(head) + at


def _u64(n: int) -> bytes:
    return struct.pack("<Q", n & 0xFFFFFFFFFFFFFFFF)


@dataclass
class _Reader:
    raw: bytes
    at: int = 8

    def take(self, n: int) -> bytes:
        self.at += n
        return self.raw[self.at - n : self.at]

    def number(self, code: str) -> int:
        value: int = struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]
        return value

    def text(self) -> bytes:
        return self.take(self.number("Q"))

    def payload(self, kind: int) -> bytes:
        start = self.at
        if kind == ARRAY:
            item, count = self.number("I"), self.number("Q")
            for _ in range(count if item == STRING else 0):
                self.text()
            if item != STRING:
                self.take(count * struct.calcsize(NUMBER_CODES[item]))
        elif kind == STRING:
            self.text()
        else:
            self.take(struct.calcsize(NUMBER_CODES[kind]))
        return self.raw[start : self.at]


def dissect(raw: bytes) -> Anatomy:
    """The fields of a sound file with the usual alignment."""
    reader = _Reader(raw)
    n_entries, n_keys = reader.number("Q"), reader.number("Q")
    keys = []
    for _ in range(n_keys):
        name, kind = reader.text(), reader.number("I")
        keys.append(Key(name, kind, reader.payload(kind)))
    heads = []
    for _ in range(n_entries):
        name, n_dims = reader.text(), reader.number("I")
        dims = tuple(reader.number("Q") for _ in range(n_dims))
        heads.append((name, dims, reader.number("I"), reader.number("Q")))
    data_at = -(-reader.at // 32) * 32
    entries = []
    for name, dims, kind, offset in heads:
        n = 1
        for dim in dims:
            n *= dim
        size = n // TENSOR_TYPES[kind].block * TENSOR_TYPES[kind].block_bytes
        start = data_at + offset
        entries.append(Entry(name, dims, kind, raw[start : start + size]))
    return Anatomy(tuple(keys), tuple(entries))


def number_key(name: bytes, value: int, kind: int = 4) -> Key:
    """A whole number in any of the number types, cut to fit."""
    code = NUMBER_CODES[kind]
    if code in "fd":
        return Key(name, kind, struct.pack("<" + code, float(value % 2**60)))
    size = struct.calcsize("<" + code)
    return Key(name, kind, (value % 2 ** (8 * size)).to_bytes(size, "little"))


def text_key(name: bytes, value: bytes) -> Key:
    return Key(name, STRING, _u64(len(value)) + value)


def texts_key(name: bytes, texts: list[bytes]) -> Key:
    items = b"".join(_u64(len(text)) + text for text in texts)
    return Key(name, ARRAY, struct.pack("<IQ", STRING, len(texts)) + items)


def texts_of(key: Key) -> list[bytes]:
    """The items of an array of texts."""
    reader = _Reader(key.payload, 4)
    return [reader.text() for _ in range(reader.number("Q"))]


Mutation = Callable[[Anatomy, random.Random], Anatomy]


def _with_key(file: Anatomy, at: int, *new: Key) -> Anatomy:
    return replace(file, keys=(*file.keys[:at], *new, *file.keys[at + 1 :]))


def _key_at(file: Anatomy, rng: random.Random) -> int:
    return rng.randrange(len(file.keys))


def _change_value(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _key_at(file, rng)
    key = file.keys[at]
    if key.is_odd:
        return file
    if key.kind == STRING:
        return _with_key(file, at, text_key(key.name, rng.choice(_TEXTS)))
    if key.kind == ARRAY:
        return _with_key(file, at, _changed_array(key, rng))
    small = rng.randrange(300)
    return _with_key(file, at, number_key(key.name, rng.choice((*WORDS, small)), key.kind))


def _changed_array(key: Key, rng: random.Random) -> Key:
    item = struct.unpack_from("<I", key.payload)[0]
    if item == STRING:
        texts = texts_of(key)
        for _ in range(rng.choice((1, 1, 3, 40))):
            if texts and (what := rng.randrange(4)) < 2:
                texts[rng.randrange(len(texts))] = rng.choice((*_TEXTS, *texts[:3]))
            elif texts and what == 2:
                del texts[rng.randrange(len(texts))]
            else:
                texts.insert(rng.randrange(len(texts) + 1), rng.choice(_TEXTS))
        return texts_key(key.name, texts)
    body = bytearray(key.payload)
    for _ in range(rng.choice((1, 1, 3, 40))):
        at = rng.randrange(12, len(body)) if len(body) > 12 else 0
        body[at : at + 4] = rng.choice(WORDS).to_bytes(8, "little")[:4]
    return Key(key.name, key.kind, bytes(body[: len(key.payload)]))


def _change_type(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _key_at(file, rng)
    name = file.keys[at].name
    kind = rng.choice((*NUMBER_CODES, STRING, ARRAY))
    if kind == STRING:
        return _with_key(file, at, text_key(name, rng.choice(_TEXTS)))
    if kind == ARRAY:
        item, n = rng.choice(tuple(NUMBER_CODES)), rng.choice((0, 1, 2, 3, 30, 513))
        items = b"".join(number_key(b"", rng.choice(WORDS), item).payload for _ in range(n))
        return _with_key(file, at, Key(name, ARRAY, struct.pack("<IQ", item, n) + items))
    return _with_key(file, at, number_key(name, rng.choice(WORDS[:14]), kind))


def _raw_type(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _key_at(file, rng)
    return _with_key(file, at, replace(file.keys[at], kind=rng.randrange(15), is_odd=True))


def _drop_key(file: Anatomy, rng: random.Random) -> Anatomy:
    return _with_key(file, _key_at(file, rng))


def _double_key(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _key_at(file, rng)
    return _with_key(file, at, file.keys[at], file.keys[at])


_MORE_KEYS = (
    "attention.key_length", "attention.value_length", "attention.key_length_swa", "expert_count",
    "attention.value_length_swa", "expert_used_count", "expert_group_count", "vocab_size",
    "expert_group_used_count", "nextn_predict_layers", "rope.dimension_count",
    "rope.dimension_count_swa", "rope.freq_base", "rope.scaling.factor", "embedding_length_out",
    "rope.scaling.original_context_length", "attention.sliding_window", "pooling_type",
    "attention.sliding_window_pattern", "attention.causal", "attention.head_count_kv",
    "feed_forward_length", "attention.scale", "full_attention_interval", "logit_scale",
    "attention.max_alibi_bias", "attention.clamp_kqv", "attention.temperature_length",
    "attention.layer_norm_epsilon", "ssm.conv_kernel", "ssm.inner_size", "ssm.state_size",
    "ssm.time_step_rank", "ssm.group_count", "shortconv.l_cache", "expert_feed_forward_length",
    "attention.shared_kv_layers", "attn_logit_softcapping", "final_logit_softcapping",
)  # fmt: skip
_MORE_GENERAL = (
    b"general.alignment", b"general.file_type", b"split.count", b"split.no",
    b"split.tensors.count", b"general.type", b"tokenizer.ggml.add_bos_token",
    b"tokenizer.ggml.add_eos_token", b"tokenizer.ggml.add_sep_token", b"tokenizer.ggml.pre",
    b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.eos_token_id", b"tokenizer.ggml.merges",
    b"tokenizer.ggml.scores", b"tokenizer.ggml.token_type", b"tokenizer.ggml.token_type_count",
    b"tokenizer.ggml.suppress_tokens", b"tokenizer.ggml.remove_extra_whitespaces",
    b"tokenizer.ggml.add_space_prefix", b"tokenizer.ggml.precompiled_charsmap",
)  # fmt: skip


def _add_key(file: Anatomy, rng: random.Random) -> Anatomy:
    if rng.random() < 0.3:
        name = rng.choice(_MORE_GENERAL)
    else:
        arch = next((k.payload[8:] for k in file.keys if k.name == b"general.architecture"), b"x")
        name = arch + b"." + rng.choice(_MORE_KEYS).encode()
    if any(key.name == name for key in file.keys):
        file = replace(file, keys=tuple(key for key in file.keys if key.name != name))
    kind = rng.choice((4, 4, 4, 4, 6, 7, *NUMBER_CODES))
    value = rng.choice((*WORDS, *range(12), 16, 64))
    return replace(file, keys=(*file.keys, number_key(name, value, kind)))


def _entry_at(file: Anatomy, rng: random.Random) -> int:
    return rng.randrange(len(file.entries))


def _with_entry(file: Anatomy, at: int, *new: Entry) -> Anatomy:
    return replace(file, entries=(*file.entries[:at], *new, *file.entries[at + 1 :]))


def _change_entry(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _entry_at(file, rng)
    entry = file.entries[at]
    what = rng.randrange(6)
    if what == 0:
        dims = list(entry.dims) or [1]
        dims[rng.randrange(len(dims))] = rng.choice(WORDS)
        entry = replace(entry, dims=tuple(dims))
    elif what == 1:
        entry = replace(entry, dims=(*entry.dims, *(1,) * rng.randrange(1, 5)))
    elif what == 2:
        entry = replace(entry, kind=rng.choice((*range(45), 2**31, 2**32 - 1)))
    elif what == 3:
        entry = replace(entry, offset=rng.choice(WORDS))
    elif what == 4:
        entry = replace(entry, name=rng.choice((*_TEXTS, b"x" * 64, b"output.weight")))
    else:
        entry = replace(entry, dims=entry.dims[::-1])
    return _with_entry(file, at, entry)


def _reshape_entry(file: Anatomy, rng: random.Random) -> Anatomy:
    """Another shape with the right number of bytes: it passes every check of sizes."""
    at = _entry_at(file, rng)
    entry = file.entries[at]
    dims = tuple(rng.choice((1, 2, 32, 64, 256)) for _ in range(rng.randrange(1, 5)))
    kind = rng.choice((0, 0, 0, 1, 8, 24, 26, 28, 30))
    n = 1
    for dim in dims:
        n *= dim
    size = n // TENSOR_TYPES[kind].block * TENSOR_TYPES[kind].block_bytes
    if dims[0] % TENSOR_TYPES[kind].block or size > 1 << 22:
        return file
    return _with_entry(file, at, replace(entry, dims=dims, kind=kind, data=bytes(size)))


def _drop_entry(file: Anatomy, rng: random.Random) -> Anatomy:
    return _with_entry(file, _entry_at(file, rng))


def _double_entry(file: Anatomy, rng: random.Random) -> Anatomy:
    at = _entry_at(file, rng)
    name = file.entries[at].name[:40] + rng.choice((b"", b".x"))
    return _with_entry(file, at, file.entries[at], replace(file.entries[at], name=name))


def _swap_entries(file: Anatomy, rng: random.Random) -> Anatomy:
    entries = list(file.entries)
    rng.shuffle(entries)
    return replace(file, entries=tuple(entries))


def _change_counts(file: Anatomy, rng: random.Random) -> Anatomy:
    what, value = rng.randrange(4), rng.choice((*WORDS, len(file.keys) + 1, len(file.keys) - 1))
    if what == 0:
        return replace(file, n_keys=value)
    if what == 1:
        return replace(file, n_entries=value)
    if what == 2:
        return replace(file, version=rng.choice((0, 1, 2, 4, 0x03000000, 2**32 - 1)))
    alignment = rng.choice((1, 2, 8, 64, 4096))
    key = number_key(b"general.alignment", alignment, rng.choice((4, 4, 4, 10, 5)))
    return replace(file, keys=(*file.keys, key), alignment=alignment)


MUTATIONS: tuple[Mutation, ...] = (
    _change_value, _change_value, _change_value, _change_type, _raw_type, _drop_key, _double_key,
    _add_key, _add_key, _add_key, _change_entry, _reshape_entry, _drop_entry, _double_entry,
    _swap_entries, _change_counts,
)  # fmt: skip


def mutated(file: Anatomy, rng: random.Random, *, n_most: int = 4) -> Anatomy:
    """One to `n_most` changes of the fields."""
    for _ in range(rng.randint(1, n_most)):
        if file.keys and file.entries:
            file = rng.choice(MUTATIONS)(file, rng)
    return file


def hollow_mutant(file: Anatomy, rng: random.Random) -> tuple[bytes, int]:
    """The header of a mutant, its bytes changed too now and then, and the size of its file."""
    head, size = mutated(file, rng).hollow()
    raw = bytearray(head)
    if rng.random() < 0.25:
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(raw))
            raw[at : at + 8] = rng.choice(WORDS).to_bytes(8, "little")[: rng.choice((1, 4, 8))]
    if rng.random() < 0.1:
        del raw[rng.randrange(len(raw)) :]
        size = len(raw)
    return bytes(raw), size
