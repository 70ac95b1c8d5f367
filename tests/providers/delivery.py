"""How an answer's bytes leave the server: compressed or not, and cut where a network might cut them."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Chunking = Literal["whole", "events", "bytes", "sevens", "random"]
CHUNKINGS: tuple[Chunking, ...] = ("whole", "events", "bytes", "sevens", "random")


@dataclass(frozen=True)
class Delivery:
    """How one server sends its answers.

    `chunking`: the whole body at once, one event, one byte or seven bytes a chunk, or cuts drawn from `seed`.
    `gzip` compresses, flushed behind each event. `stall` is a silence of that many seconds behind the first event.
    `hang` keeps a finished stream's connection open for that many seconds, as if its end had been forgotten.
    """

    chunking: Chunking = "events"
    gzip: bool = False
    seed: int = 0
    stall: float = 0.0
    hang: float = 0.0

    def send(self, pieces: Iterable[bytes], stopping: threading.Event) -> Iterator[bytes]:
        """Yield the body in the chunks to be written. Every wait ends when `stopping` is set."""
        encoded = _compressed(pieces) if self.gzip else iter(pieces)
        if self.chunking == "whole":
            encoded = iter([b"".join(encoded)])
        for number, piece in enumerate(encoded):
            if number == 1 and self.stall:
                stopping.wait(self.stall)
            yield from self._cut(piece)
        if self.hang:
            stopping.wait(self.hang)

    def _cut(self, piece: bytes) -> Iterator[bytes]:
        if self.chunking in ("whole", "events"):
            yield piece
            return
        sizes = random.Random(self.seed + len(piece))
        start = 0
        while start < len(piece):
            size = {"bytes": 1, "sevens": 7}.get(self.chunking) or sizes.choice((1, 2, 3, 5, 17, 64, 300, 1500))
            yield piece[start : start + size]
            start += size


def _compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()
