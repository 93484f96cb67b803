"""A GBNF grammar as a `core.Constraint`: llama.cpp's own automaton in immutable states.

Knows tokens and their texts, no logits and no requests. llama.cpp ends the process on a token
that a grammar does not allow and on some malformed grammars, so both are refused before.
"""

import ctypes
import weakref
from collections import deque
from functools import cached_property
from typing import Any

import numpy as np

from edgespec.core import Mask, Tokens
from edgespec.engine import binding
from edgespec.engine.gbnf import ROOT, check_gbnf
from edgespec.engine.gbnf_reader import Grammar
from edgespec.engine.token_bytes import NO_TEXT, TokenBytes, token_bytes
from edgespec.errors import UsageError

_FEW = 1024
"""Up to so many tokens, to ask about them costs less than to find out which could be allowed."""

_N_RECENT = 64
"""States kept for their parents: a draft's, until the draft was verified."""

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama.h, llama_token_data."""


class Grammars:
    """Makes grammar states for one model's native vocabulary, which must outlive them."""

    def __init__(self, vocab: Any) -> None:
        self._vocab = vocab
        self._recent: deque[GrammarState] = deque(maxlen=_N_RECENT)

    def start(self, gbnf: str) -> "GrammarState":
        """The state before an answer's first token. Raises: `UsageError` naming the mistake."""
        return GrammarState(self, check_gbnf(gbnf), self._parsed(gbnf))

    def keep(self, state: "GrammarState") -> None:
        """Hold `state` for a while."""
        self._recent.append(state)

    def _parsed(self, gbnf: str) -> Any:
        sampler = binding.lib().llama_sampler_init_grammar(
            self._vocab, gbnf.encode(), ROOT.encode()
        )
        if not sampler:
            raise UsageError("llama.cpp refuses the grammar, its log (edgespec.llama) says why")
        return sampler

    @cached_property
    def vocabulary(self) -> TokenBytes:
        """What tokens begin with; ends of generation count as if they had no text."""
        found = token_bytes(self._vocab)
        found.first[self.is_end] = NO_TEXT
        return found

    @cached_property
    def is_end(self) -> Mask:
        """[n_vocab]: which tokens end a generation: all that may come after the whole text."""
        n_vocab = binding.lib().llama_vocab_n_tokens(self._vocab)
        sampler = self._parsed(f'{ROOT} ::= ""')
        is_end = _applied(sampler, np.arange(n_vocab, dtype=np.int32))
        binding.lib().llama_sampler_free(sampler)
        return is_end

    @cached_property
    def is_barred(self) -> Mask:
        """[n_vocab]: control tokens, which have no place in a text.

        llama.cpp would take their names, "<|im_start|>" for example, for text.
        """
        barred: Mask = (self.vocabulary.first == NO_TEXT) & ~self.is_end
        return barred


class GrammarState:
    """Implements `core.Constraint`; a draft and its verification share the states they pass.

    The end of a generation leaves the state as it is. One thread at a time.
    """

    def __init__(self, grammars: Grammars, grammar: Grammar, sampler: Any) -> None:
        """Takes over the native `sampler`."""
        self._grammars = grammars
        self._grammar = grammar
        self._sampler = sampler
        self._followers: weakref.WeakValueDictionary[int, GrammarState] = (
            weakref.WeakValueDictionary()
        )
        weakref.finalize(self, binding.lib().llama_sampler_free, sampler)

    def allowed(self, ids: Tokens) -> Mask:
        """Which of `ids` may come next, [len(ids)]."""
        if len(ids) <= _FEW:
            mask = _applied(self._sampler, ids)
        else:
            mask = np.zeros(len(ids), np.bool_)
            possible = np.flatnonzero(self._first_bytes[self._grammars.vocabulary.first[ids]])
            mask[possible] = _applied(self._sampler, ids[possible])
        mask &= ~self._grammars.is_barred[ids]
        return mask

    def advanced(self, token: int) -> "GrammarState":
        """The state after `token`, which must be allowed."""
        follower = self._followers.get(token)
        if follower is None:
            if not self.allowed(np.array([token], np.int32))[0]:
                # Not an `assert`: without this check llama.cpp would end the process.
                raise AssertionError(f"token {token} is not allowed by the grammar here")
            sampler = binding.lib().llama_sampler_clone(self._sampler)
            binding.lib().llama_sampler_accept(sampler, token)
            follower = GrammarState(self._grammars, self._grammar, sampler)
            self._followers[token] = follower
            self._grammars.keep(follower)
        return follower

    @cached_property
    def _first_bytes(self) -> Mask:
        """[257]: the bytes that an allowed token can begin with.

        If a text is allowed, so is its first byte: single bytes tell about all tokens. The one
        exception is llama.cpp's: half a character is refused by a negated class that names any
        character beginning alike, so half characters then tell nothing.
        """
        single = self._grammars.vocabulary.single
        possible = np.ones(NO_TEXT + 1, np.bool_)
        known = np.flatnonzero(single >= 0)
        if self._grammar.excludes_non_ascii:
            known = known[known < 0x80]
        possible[known] = _applied(self._sampler, single[known])
        return possible


def _applied(sampler: Any, ids: Tokens) -> Mask:
    """Which of `ids` llama.cpp leaves a logit."""
    native = binding.lib()
    data = np.zeros(len(ids), _TOKEN_DATA)
    data["id"] = ids
    pointer = ctypes.cast(data.ctypes.data, native.llama_token_data_p)
    array = native.llama_token_data_array(pointer, len(ids), -1, False)
    native.llama_sampler_apply(sampler, ctypes.byref(array))
    mask: Mask = data["logit"] == 0.0
    return mask
