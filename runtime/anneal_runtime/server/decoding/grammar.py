"""Structured output: a regex or a grammar becomes a matcher that says at each step which tokens may come next."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, cast

import llguidance.hf
import llguidance.numpy
import numpy as np
import torch
from llguidance import LLMatcher, LLParserLimits

from anneal_runtime.server.decoding.rows import check_matcher

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

CACHED_GRAMMARS = 256
# A second of compiling, or of slow masks, makes at most about 130 MB of automaton: so these are a gigabyte.
CACHED_COMPILE_SECONDS = 8.0
# The first line of a grammar that the service writes. The service sends no grammar of a caller with this beginning.
OPTIONS = "%llguidance {}\n"
# The last such line of a grammar counts, so this one stands at the end.
NO_FORCING = '\n%llguidance {"no_forcing": true}\n'
# A mask takes microseconds, and longer where it makes states.
SLOW_MASK_S = 0.001
MAX_CHARACTERS = 1_048_576
MAX_REGEX_CHARACTERS = 262_144


@dataclass(frozen=True)
class Source:
    """A regex, or a grammar in Lark's or GBNF's syntax, as vLLM names them."""

    kind: Literal["regex", "grammar"]
    text: str


@dataclass(frozen=True)
class Compiled:
    matcher: LLMatcher
    account: str
    # The share of the cache's room: of its number of grammars or of its memory, whichever is larger.
    weight: float


class TypedRequest(Protocol):
    @property
    def grammar(self) -> LLMatcher | None: ...


class Typed(Protocol):
    """A row, with its own copy of its request's matcher."""

    @property
    def matcher(self) -> LLMatcher | None: ...

    @property
    def request(self) -> TypedRequest: ...


class BadGrammar(Exception):
    """The grammar cannot be compiled within the limits; the message is for the caller."""


class Grammars:
    """Compiled grammars, the most recently used ones kept. Safe to call from several threads."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        vocabulary: int,
        end_tokens: Sequence[int],
        count: Callable[[str], None] = lambda _result: None,
    ) -> None:
        self._count = count
        self._vocabulary = max(vocabulary, len(tokenizer))
        self._special = tokenizer.all_special_tokens
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer,
            n_vocab=self._vocabulary,
            eos_token=list(end_tokens),
        )
        self._limits = LLParserLimits(max_lexer_states=50_000, verbose_errors=False)
        # Each with the account that asked for it first, the least recently used one first.
        self._compiled: OrderedDict[Source, Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, source: Source) -> LLMatcher | None:
        """A matcher that is compiled already, at its start, to be copied for each row."""
        with self._lock:
            known = self._compiled.get(source)
            if known is None:
                return None
            self._compiled.move_to_end(source)
        self._count("hit")
        return known.matcher

    def compile(self, source: Source, account: str = "") -> LLMatcher:
        """As find, compiled if need be, which may take a second. Raises BadGrammar."""
        if (known := self.find(source)) is not None:
            return known
        self._count("miss")
        begun = time.thread_time()
        matcher = self._compile(source)
        weight = max(1 / CACHED_GRAMMARS, (time.thread_time() - begun) / CACHED_COMPILE_SECONDS)
        with self._lock:
            self._compiled[source] = Compiled(matcher, account, weight)
            self._make_room()
        return matcher

    def forget(self, matcher: LLMatcher) -> None:
        """All copies share the states of the automaton: once these are too many, every later copy would fail, too."""
        with self._lock:
            for source in [source for source, each in self._compiled.items() if each.matcher is matcher]:
                del self._compiled[source]

    def spelling(self, token: int) -> bytes:
        """The token's bytes, which may be a part of a character."""
        spelt: bytes = self._tokenizer.decode_bytes([token])
        return spelt

    def _make_room(self) -> None:
        while len(self._compiled) > 1 and sum(each.weight for each in self._compiled.values()) > 1:
            del self._compiled[self._one_too_many()]

    def _one_too_many(self) -> Source:
        """The least recently used grammar of the account that has most: nobody's types drive out another's few."""
        weights: defaultdict[str, float] = defaultdict(float)
        for each in self._compiled.values():
            weights[each.account] += each.weight
        greediest = max(weights, key=weights.__getitem__)
        return next(source for source, each in self._compiled.items() if each.account == greediest)

    def restrict(self, logits: torch.Tensor, rows: Sequence[Typed]) -> Iterator[None]:
        """Sets what a row's matcher forbids to minus infinity, in place, row by row; logits are [rows, vocabulary]."""
        masked = [(row.matcher, index, row) for index, row in enumerate(rows) if row.matcher is not None]
        if not masked:
            return
        bits = llguidance.numpy.allocate_token_bitmask(len(masked), self._vocabulary)
        for place, (matcher, _, row) in enumerate(masked):
            begun = time.thread_time()
            llguidance.numpy.fill_next_token_bitmask(matcher, bits, place)
            if (seconds := time.thread_time() - begun) > SLOW_MASK_S:
                self._count_growth(row.request.grammar, seconds)
            yield
        forbidden = _forbidden(bits, logits.shape[1]).to(logits.device)
        if len(masked) == len(rows):
            logits[:, : forbidden.shape[1]].masked_fill_(forbidden, -torch.inf)
        else:
            typed = torch.tensor([index for _, index, _ in masked], device=logits.device)
            logits[typed] = logits[typed].masked_fill(forbidden, -torch.inf)

    def along(self, start: LLMatcher, answer: Sequence[int], width: int) -> torch.Tensor:
        """[tokens, width]: what the grammar forbids at each place of an answer. Raises GrammarFailed."""
        matcher = start.deep_copy()
        bits = llguidance.numpy.allocate_token_bitmask(len(answer), self._vocabulary)
        for place, token in enumerate(answer):
            llguidance.numpy.fill_next_token_bitmask(matcher, bits, place)
            matcher.consume_token(token)
        check_matcher(matcher)
        return _forbidden(bits, width)

    def _count_growth(self, matcher: LLMatcher | None, seconds: float) -> None:
        """A slow mask makes states of the automaton, as compiling does."""
        with self._lock:
            for source, each in self._compiled.items():
                if each.matcher is matcher:
                    self._compiled[source] = replace(each, weight=each.weight + seconds / CACHED_COMPILE_SECONDS)
                    break
            self._make_room()

    def _compile(self, source: Source) -> LLMatcher:
        most = MAX_REGEX_CHARACTERS if source.kind == "regex" else MAX_CHARACTERS
        if len(source.text) > most:
            raise BadGrammar(f"The {source.kind} is longer than {most} characters.")
        matcher = LLMatcher(self._tokenizer, self._grammar_of(source), log_level=0, limits=self._limits)
        if not matcher.is_error():
            # The first mask builds most of the automaton. Building it here keeps that off the decoding thread.
            matcher.compute_bitmask()
        if matcher.is_error():
            raise BadGrammar(f"The {source.kind} cannot be used: {_first_line(matcher.get_error())}")
        return matcher

    def _grammar_of(self, source: Source) -> str:
        # Forced text goes through the tokenizer, which reads "</s>" in it as the special token, and the matcher then
        # refuses that. Without forcing it goes byte by byte.
        literal = source.text.replace("\\", "")
        forces = not any(token in literal for token in self._special)
        if source.kind == "grammar":
            return self._lark(source.text, forces=forces and source.text.startswith(OPTIONS))
        grammar: str = LLMatcher.grammar_from_regex(source.text)
        if forces:
            return grammar
        document = json.loads(grammar)
        (rules,) = document["grammars"]
        rules["lark_grammar"] += NO_FORCING
        return json.dumps(document)

    def _lark(self, text: str, *, forces: bool) -> str:
        """Only grammars of the service force text. llguidance writes out all that is forced before it returns, and
        `start: item{20000}` of a caller forces as many items, gigabytes of them.
        """
        try:
            lark = cast(str, llguidance.grammar_from("grammar", text))
        except ValueError as error:
            raise BadGrammar(f"The grammar cannot be used: {_first_line(str(error))}") from error
        return lark if forces else lark + NO_FORCING


def _forbidden(bits: NDArray[np.int32], width: int) -> torch.Tensor:
    flags = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :width]
    return torch.from_numpy(flags == 0)


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else "the engine cannot read the grammar."
