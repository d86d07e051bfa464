"""_generate.py - texts by language models."""
from __future__ import annotations

from collections import namedtuple

from . import _takt
from .errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, Optional


class Generated(namedtuple("Generated", "text prompt_tokens tokens prompt_seconds seconds end")):
    """A text, how many tokens were read and written, the time of both, and why it ended."""

    __slots__ = ()

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of the generated text, without the prompt."""
        return self.tokens / self.seconds if self.seconds > 0 else float("nan")

    def __str__(self) -> str:
        return str(self.text)


class Generator:
    """A language model in GGUF with its tokenizer.

        writer = takt.Generator("model.gguf", context=4096)
        print(writer.generate("Once upon a time", max_tokens=64, temperature=0.8, seed=7))

    The text depends on model, prompt, settings and seed; not on threads.
    """

    def __init__(self, path: Any, *, tokenizer: Optional[str] = None, context: int = 0,
                 batch: int = 0, threads: int = 0, isa: Optional[str] = None,
                 activations: Optional[str] = None):
        self._raw = _takt.Generator(path, tokenizer, context, batch, threads, isa, activations)

    @property
    def context(self) -> int:
        """The number of tokens that fit."""
        return int(self._raw.facts()["context"])

    @property
    def position(self) -> int:
        """Tokens that have been read."""
        return int(self._raw.facts()["position"])

    @property
    def vocabulary(self) -> int:
        """The number of tokens."""
        return int(self._raw.facts()["vocabulary"])

    @property
    def peak_bytes(self) -> int:
        """Weights, cache and everything else that a run needs."""
        return int(self._raw.facts()["peak"])

    def reset(self) -> None:
        """Forgets what was read."""
        self._raw.reset()

    def generate(self, prompt: str, max_tokens: int = 128, *, temperature: float = 0.0,
                 top_k: int = 0, top_p: float = 0.0, min_p: float = 0.0, typical_p: float = 0.0,
                 repeat_penalty: float = 0.0, presence_penalty: float = 0.0,
                 frequency_penalty: float = 0.0, repeat_last_n: int = 0, seed: int = 0,
                 stop: Optional[str] = None, ignore_eos: bool = False,
                 samplers: Optional[str] = None, on_text: Optional[Callable[[str], Any]] = None,
                 keep: bool = False, dynatemp_range: float = 0.0, dynatemp_exponent: float = 0.0,
                 top_n_sigma: float = 0.0, xtc_probability: float = 0.0,
                 xtc_threshold: float = 0.0, dry_multiplier: float = 0.0, dry_base: float = 0.0,
                 dry_allowed_length: int = 0, dry_penalty_last_n: int = 0,
                 dry_breakers: Optional[Iterable[str]] = None) -> Generated:
        """Continues the prompt. `on_text` receives pieces as they come; returning False ends it.

        With keep=True it continues after what was read and written before. Sampler settings
        are named as in `takt generate`; 0 means off, or the default of a sampler that is on.
        """
        if max_tokens < 0:
            raise ArgumentError("max_tokens is at least 0; 0 means until the text ends")
        if not keep:
            self.reset()
        return Generated(*self._raw.generate(
            prompt, max_tokens, temperature, top_k, top_p, min_p, typical_p, repeat_penalty,
            presence_penalty, frequency_penalty, repeat_last_n, seed, stop, ignore_eos, samplers,
            on_text, dynatemp_range, dynatemp_exponent, top_n_sigma, xtc_probability, xtc_threshold,
            dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n,
            None if dry_breakers is None else tuple(dry_breakers)))

    def stream(self, prompt: str, max_tokens: int = 128, **options: Any) -> Iterator[str]:
        """The text piece by piece, as an iterator."""
        import queue
        import threading
        pieces: queue.Queue[Any] = queue.Queue()
        stopped = threading.Event()

        def write() -> None:
            try:
                self.generate(prompt, max_tokens, **options,
                              on_text=lambda piece: (pieces.put(piece), not stopped.is_set())[1])
                pieces.put(None)
            except BaseException as error:  # noqa: BLE001: it is raised where the text is read
                pieces.put(error)
        worker = threading.Thread(target=write, daemon=True)
        worker.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            stopped.set()
            worker.join()
