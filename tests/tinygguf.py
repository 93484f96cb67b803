"""Tiny GGUF models for tests: real architectures, random weights, under 500 KB, fixed seeds.

Every matrix has a random stream of its own, named by seed and tensor, so two files with the same
seed share every weight that both have: a padded vocabulary changes nothing but its own rows, and
`noise` makes a drafter that agrees with its target often but not always.

Greedy decoding is stable (the two best logits are well apart), sampling at temperature 1 is not
degenerate, and every logit depends on tokens far back, so that a wrong cache shows.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import gguf
import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNK, BOS, EOS, FIRST_BYTE = 0, 1, 2, 3
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_WORDS = ("th", "he", "in", "er", "an", "the", "▁t", "▁a", "▁the", "▁in", "and", "▁and")


@dataclass(frozen=True)
class TinyVocab:
    """A SentencePiece vocabulary: any text round-trips, by byte tokens where there is no piece."""

    texts: tuple[str, ...]
    types: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def id_of(self, text: str) -> int:
        return self.texts.index(text)

    def padded(self, n: int) -> "TinyVocab":
        """With `n` unused entries at the end, named as llama.cpp's converter names them."""
        pads = tuple(f"[PAD{len(self) + i}]" for i in range(n))
        return TinyVocab(self.texts + pads, self.types + (UNUSED,) * n)

    def swapped(self, a: int, b: int) -> "TinyVocab":
        """Another vocabulary: the texts of ids `a` and `b` changed places."""
        texts = list(self.texts)
        texts[a], texts[b] = texts[b], texts[a]
        return replace(self, texts=tuple(texts))


def _vocab() -> TinyVocab:
    special = ["<unk>", "<s>", "</s>"]
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    pieces = ["▁", *map(chr, range(33, 127)), *_WORDS]
    control = ["<|im_start|>", "<|im_end|>"]
    texts = (*special, *bytes_, *pieces, *control)
    types = (UNKNOWN, CONTROL, CONTROL, *(BYTE,) * 256, *(NORMAL,) * len(pieces), CONTROL, CONTROL)
    return TinyVocab(texts, types)


VOCAB = _vocab()
IM_START, IM_END = VOCAB.id_of("<|im_start|>"), VOCAB.id_of("<|im_end|>")
OTHER_VOCAB = VOCAB.swapped(VOCAB.id_of("x"), VOCAB.id_of("y"))


def _foreign() -> TinyVocab:
    first, gone = FIRST_BYTE + 256, ("th", "▁and")
    kept = [text for text in VOCAB.texts[first:-2] if text not in gone]
    pieces = ("▁of", *reversed(kept), "on")
    return TinyVocab((*VOCAB.texts[:first], *pieces, *reversed(VOCAB.texts[-2:])), VOCAB.types)


FOREIGN_VOCAB = _foreign()
"""Most pieces, in another order; two are lacking and two are new."""


@dataclass(frozen=True)
class Weights:
    """Matrices by name; the same seed and name give the same numbers."""

    seed: int
    noise: float

    def matrix(self, name: str, n_out: int, n_in: int, gain: float = 1.0) -> Matrix:
        """[n_out, n_in] that maps unit variance to a deviation of `gain`."""
        return self.normal(name, (n_out, n_in), gain * n_in**-0.5)

    def normal(self, name: str, shape: tuple[int, ...], deviation: float) -> Matrix:
        key = zlib.crc32(name.encode())
        base = np.random.default_rng([self.seed, key]).standard_normal(shape)
        if self.noise:
            base += self.noise * np.random.default_rng([self.seed, key, 1]).standard_normal(shape)
        return (base * deviation).astype(np.float32)


class TinyFile:
    """A GGUF being written: vocabulary, embedding, head and feed-forward all models share."""

    def __init__(self, path: Path, architecture: str, weights: Weights, n_embd: int) -> None:
        self.path = path
        self.meta = gguf.GGUFWriter(path, architecture)
        self.weights = weights
        self.n_embd = n_embd

    def describe(self, *, n_ctx: int, n_layer: int, n_ff: int) -> None:
        self.meta.add_name(f"tiny-{self.meta.arch}")
        self.meta.add_context_length(n_ctx)
        self.meta.add_embedding_length(self.n_embd)
        self.meta.add_block_count(n_layer)
        self.meta.add_feed_forward_length(n_ff)
        self.meta.add_layer_norm_rms_eps(1e-5)
        self.meta.add_file_type(gguf.LlamaFileType.ALL_F32)

    def add_heads(self, n_head: int, n_head_kv: int | Sequence[int]) -> None:
        self.meta.add_head_count(n_head)
        self.meta.add_head_count_kv(n_head_kv)
        self.meta.add_rope_dimension_count(self.n_embd // n_head)

    def add_vocab(self, vocab: TinyVocab, *, eos: int, add_bos: bool, template: str | None) -> None:
        meta = self.meta
        meta.add_tokenizer_model("llama")
        meta.add_token_list(list(vocab.texts))
        # Longer pieces win; among equals the earlier one.
        meta.add_token_scores([10.0 * len(t) - i / 1000 for i, t in enumerate(vocab.texts)])
        meta.add_token_types(list(vocab.types))
        meta.add_vocab_size(len(vocab))
        meta.add_unk_token_id(UNK)
        meta.add_bos_token_id(BOS)
        meta.add_eos_token_id(eos)
        meta.add_add_bos_token(add_bos)
        meta.add_add_space_prefix(False)
        if template is not None:
            meta.add_chat_template(template)

    def add_ends(
        self,
        vocab: TinyVocab,
        scale: float,
        *,
        embed: float = 1.0,
        norm: str = "output_norm.weight",
    ) -> None:
        """Embedding and output head: logits have a deviation of `scale`.

        Control tokens get the logit 0, which is next to never the best: answers end by length,
        or by the ordinary token that a test declares to be the end.
        """
        base = len(VOCAB)
        known = {text: i for i, text in enumerate(VOCAB.texts)}
        new = iter(range(base, base + len(vocab)))
        row_of = [known.get(text, -1) for text in vocab.texts]
        row_of = [next(new) if row < 0 else row for row in row_of]
        n_new = max(0, max(row_of) + 1 - base)
        tables = {}
        for name, deviation in (("token_embd", embed), ("output", scale * self.n_embd**-0.5)):
            rows = self.weights.normal(name, (base, self.n_embd), deviation)
            pads = self.weights.normal(f"{name}.pad", (n_new, self.n_embd), deviation)
            tables[name] = np.concatenate([rows, pads])
        tables["output"][[UNK, BOS, EOS, IM_START, IM_END]] = 0.0
        tables = {name: table[row_of] for name, table in tables.items()}
        self.add("token_embd.weight", tables["token_embd"])
        self.add("output.weight", tables["output"])
        self.add_norm(norm, self.n_embd)

    def add(self, name: str, tensor: Matrix) -> None:
        self.meta.add_tensor(name, tensor)

    def add_norm(self, name: str, n: int) -> None:
        self.add(name, np.ones(n, np.float32))

    def add_matrix(self, name: str, n_out: int, n_in: int, gain: float = 1.0) -> None:
        self.add(f"{name}.weight", self.weights.matrix(name, n_out, n_in, gain))

    def add_attention(self, layer: int, n_head: int, n_head_kv: int, gain: float = 1.5) -> None:
        """`gain` sharpens the attention, so that single tokens far back matter."""
        n_head_dim = self.n_embd // n_head
        n_kv = n_head_kv * n_head_dim
        self.add_matrix(f"blk.{layer}.attn_q", self.n_embd, self.n_embd, gain)
        self.add_matrix(f"blk.{layer}.attn_k", n_kv, self.n_embd, gain)
        self.add_matrix(f"blk.{layer}.attn_v", n_kv, self.n_embd, 1.5)
        self.add_matrix(f"blk.{layer}.attn_output", self.n_embd, self.n_embd)

    def add_head_norms(self, layer: int, n_head_dim: int) -> None:
        """Norms of queries and keys; their weight, not the matrices, sets the sharpness."""
        for side in "qk":
            sharp = np.full(n_head_dim, 1.5, np.float32)
            self.add(f"blk.{layer}.attn_{side}_norm.weight", sharp)

    def add_feed_forward(self, layer: int, n_ff: int) -> None:
        self.add_norm(f"blk.{layer}.ffn_norm.weight", self.n_embd)
        self.add_matrix(f"blk.{layer}.ffn_gate", n_ff, self.n_embd)
        self.add_matrix(f"blk.{layer}.ffn_up", n_ff, self.n_embd)
        self.add_matrix(f"blk.{layer}.ffn_down", self.n_embd, n_ff)

    def write(self) -> Path:
        self.meta.write_header_to_file()
        self.meta.write_kv_data_to_file()
        self.meta.write_tensors_to_file()
        self.meta.close()
        return self.path


class Write(Protocol):
    """What all writers take."""

    def __call__(
        self,
        path: Path,
        *,
        seed: int = 0,
        noise: float = 0.0,
        scale: float = 1.5,
        vocab: TinyVocab = VOCAB,
        n_ctx: int = 512,
        eos: int = EOS,
        chat_template: str | None = CHATML,
    ) -> Path: ...


def write_llama(
    path: Path,
    *,
    seed: int = 0,
    noise: float = 0.0,
    scale: float = 1.5,
    vocab: TinyVocab = VOCAB,
    n_vocab_extra: int = 0,
    n_ctx: int = 512,
    eos: int = EOS,
    add_bos: bool = True,
    chat_template: str | None = CHATML,
) -> Path:
    """A transformer with grouped-query attention. Returns `path`.

    `scale`: deviation of the logits. `noise`: relative deviation added to every weight.
    """
    vocab = vocab.padded(n_vocab_extra)
    file = TinyFile(path, "llama", Weights(seed, noise), n_embd=64)
    file.describe(n_ctx=n_ctx, n_layer=2, n_ff=96)
    file.add_heads(4, 2)
    file.add_vocab(vocab, eos=eos, add_bos=add_bos, template=chat_template)
    file.add_ends(vocab, scale)
    for layer in range(2):
        file.add_norm(f"blk.{layer}.attn_norm.weight", 64)
        file.add_attention(layer, 4, 2)
        file.add_feed_forward(layer, 96)
    return file.write()


def write_gemma3(
    path: Path,
    *,
    seed: int = 0,
    noise: float = 0.0,
    scale: float = 1.5,
    vocab: TinyVocab = VOCAB,
    n_ctx: int = 512,
    n_window: int = 16,
    eos: int = EOS,
    chat_template: str | None = CHATML,
) -> Path:
    """A sliding-window transformer: layers 0 and 1 see `n_window` tokens, layer 2 all of them."""
    file = TinyFile(path, "gemma3", Weights(seed, noise), n_embd=64)
    file.describe(n_ctx=n_ctx, n_layer=3, n_ff=64)
    file.add_heads(4, 2)
    file.meta.add_key_length(16)
    file.meta.add_value_length(16)
    file.meta.add_sliding_window(n_window)
    file.meta.add_sliding_window_pattern(3)
    file.add_vocab(vocab, eos=eos, add_bos=True, template=chat_template)
    # Gemma multiplies embeddings by sqrt(n_embd).
    file.add_ends(vocab, scale, embed=1 / 8)
    for layer in range(3):
        for norm in ("attn_norm", "post_attention_norm", "post_ffw_norm"):
            file.add_norm(f"blk.{layer}.{norm}.weight", 64)
        file.add_attention(layer, 4, 2)
        file.add_head_norms(layer, 16)
        file.add_feed_forward(layer, 64)
    return file.write()


def write_mamba(
    path: Path,
    *,
    seed: int = 0,
    noise: float = 0.0,
    scale: float = 1.5,
    vocab: TinyVocab = VOCAB,
    n_ctx: int = 512,
    eos: int = EOS,
    chat_template: str | None = CHATML,
) -> Path:
    """A recurrent model: its state cannot be cut back, only saved and restored."""
    n_embd, n_inner, n_state, n_rank, n_conv = 64, 128, 16, 4, 4
    file = TinyFile(path, "mamba", Weights(seed, noise), n_embd)
    file.describe(n_ctx=n_ctx, n_layer=2, n_ff=0)
    file.meta.add_head_count(0)
    file.meta.add_ssm_conv_kernel(n_conv)
    file.meta.add_ssm_inner_size(n_inner)
    file.meta.add_ssm_state_size(n_state)
    file.meta.add_ssm_time_step_rank(n_rank)
    file.add_vocab(vocab, eos=eos, add_bos=True, template=chat_template)
    file.add_ends(vocab, scale)
    for layer in range(2):
        block = f"blk.{layer}"
        file.add_norm(f"{block}.attn_norm.weight", n_embd)
        file.add_matrix(f"{block}.ssm_in", 2 * n_inner, n_embd)
        file.add_matrix(f"{block}.ssm_conv1d", n_inner, n_conv)
        file.add(f"{block}.ssm_conv1d.bias", np.zeros(n_inner, np.float32))
        file.add_matrix(f"{block}.ssm_x", n_rank + 2 * n_state, n_inner, 2.0)
        file.add_matrix(f"{block}.ssm_dt", n_inner, n_rank)
        # A negative bias keeps the steps small: the state forgets over tens of tokens.
        file.add(f"{block}.ssm_dt.bias", np.full(n_inner, -3.0, np.float32))
        decay = -np.tile(np.arange(1, n_state + 1, dtype=np.float32), (n_inner, 1))
        file.add(f"{block}.ssm_a", decay)
        file.add_norm(f"{block}.ssm_d", n_inner)
        file.add_matrix(f"{block}.ssm_out", n_embd, n_inner, 3.0)
    return file.write()


def write_hybrid(
    path: Path,
    *,
    seed: int = 0,
    noise: float = 0.0,
    scale: float = 1.5,
    vocab: TinyVocab = VOCAB,
    n_ctx: int = 512,
    n_window: int = 0,
    eos: int = EOS,
    chat_template: str | None = CHATML,
) -> Path:
    """LFM2: short convolutions around attention; llama.cpp can roll its state back a few tokens.

    `n_window`: the attention sees that many tokens; 0: all of them.
    """
    n_embd, n_ff, n_head_kv = 64, 48, (0, 2, 0)
    file = TinyFile(path, "lfm2", Weights(seed, noise), n_embd)
    file.describe(n_ctx=n_ctx, n_layer=3, n_ff=n_ff)
    file.add_heads(4, n_head_kv)
    file.meta.add_shortconv_l_cache(3)
    if n_window:
        file.meta.add_sliding_window(n_window)
    file.add_vocab(vocab, eos=eos, add_bos=True, template=chat_template)
    file.add_ends(vocab, scale, norm="token_embd_norm.weight")
    for layer, n_kv in enumerate(n_head_kv):
        file.add_norm(f"blk.{layer}.attn_norm.weight", n_embd)
        if n_kv:
            file.add_attention(layer, 4, n_kv)
            file.add_head_norms(layer, n_embd // 4)
        else:
            file.add_matrix(f"blk.{layer}.shortconv.conv", n_embd, 3)
            file.add_matrix(f"blk.{layer}.shortconv.in_proj", 3 * n_embd, n_embd)
            file.add_matrix(f"blk.{layer}.shortconv.out_proj", n_embd, n_embd)
        file.add_feed_forward(layer, n_ff)
    return file.write()
