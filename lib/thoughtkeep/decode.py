"""HTTP content codings: what a Content-Encoding header means for the bytes of a body.

Every rule about gzip, deflate, br and zstd lives here and nowhere else: which names there are, in which order a list of
them is undone, where one compressed member ends and the next begins, and how little of a bomb is ever in memory.

A body passes through one layer a coding. A layer is a row of members (RFC 1952 lets gzip members follow one another,
RFC 8878 zstd frames), each undone by an engine of its own. Layers are generators: no byte is decoded before the caller
asks for it, so who stops asking has stopped the bomb.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types

if sys.version_info >= (3, 14):  # pragma: no cover - one side for each version of Python
    from compression import zstd
else:  # pragma: no cover - the other side
    from backports import zstd

STEP = 65536
"""The most bytes a decoded piece has."""

MAX_CODINGS = 5
"""The most codings a body may be wrapped in: real ones have one, and each costs a layer of generators a piece."""

# RFC 9659: a zstd window over HTTP is 8 MB at most. The library would allow 128 MB a body.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}

# The default quality, 11, takes seconds for a request of some MB.
_BROTLI_QUALITY = 4


class Undecodable(ValueError):
    """The body is not what its Content-Encoding says, or says something unknown, or is larger than allowed."""


class _Engine(Protocol):
    """What undoes one member: an object of zlib or zstd as it is, or `_Brotli`."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class _Brotli:
    unused_data = b""  # the library itself raises on bytes behind the end

    def __init__(self) -> None:
        self._engine = brotli.Decompressor()

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return bytes(self._engine.process(data, output_buffer_limit=max_length))

    @property
    def eof(self) -> bool:
        return bool(self._engine.is_finished())


def _deflate(first: int) -> _Engine:
    """Servers send both zlib (RFC 9110) and raw deflate under this name; the first byte tells which.

    A zlib header has 8 in its low half. In raw deflate that is a stored block with a padding bit set, which no
    compressor writes.
    """
    return zlib.decompressobj(zlib.MAX_WBITS if first & 0x0F == 8 else -zlib.MAX_WBITS)


class _Coding(NamedTuple):
    opened: Callable[[int], _Engine]  # takes the first byte of the member
    packed: Callable[[bytes], bytes]
    repeats: bool = False  # whether another member may follow


_GZIP_BITS = zlib.MAX_WBITS | 16
_GZIP = _Coding(lambda _: zlib.decompressobj(_GZIP_BITS), lambda body: zlib.compress(body, wbits=_GZIP_BITS), True)
_CODINGS = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,  # RFC 9110, 8.4.1.3: the same as gzip
    "deflate": _Coding(_deflate, zlib.compress),
    "br": _Coding(lambda _: _Brotli(), lambda body: bytes(brotli.compress(body, quality=_BROTLI_QUALITY))),
    "zstd": _Coding(lambda _: zstd.ZstdDecompressor(options=_ZSTD_OPTIONS), zstd.compress, True),
}


class _Layer:
    """Undoes one coding."""

    def __init__(self, coding: _Coding) -> None:
        self._coding = coding
        self._engine: _Engine | None = None  # of the newest member

    @property
    def truncated(self) -> bool:
        return self._engine is not None and not self._engine.eof

    def decoded(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for data in pieces:
            while data:
                if self._engine is not None and self._engine.eof:
                    data = data.lstrip(b"\0")  # padding, as gzip files have it
                    if not data:
                        break
                    if not self._coding.repeats:
                        raise Undecodable("bytes after the end of the compressed body")
                    self._engine = None
                engine = self._engine = self._engine or self._coding.opened(data[0])
                yield from _run(engine, data)
                data = engine.unused_data


class Decoder:
    """Undoes the codings of one body that arrives in pieces. Made by `decoder`."""

    def __init__(self, codings: list[_Coding]) -> None:
        self._layers = [_Layer(coding) for coding in reversed(codings)]

    @property
    def truncated(self) -> bool:
        """Whether a body that ended here would lack its end. A body without any byte is whole."""
        return any(layer.truncated for layer in self._layers)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` adds to the decoded body, in pieces of 1 to STEP bytes, decoded as they are asked for.

        Everything that can be decoded by now is yielded: there is nothing to flush at the end. A decoder whose iterator
        was not exhausted, or raised, must not be used again.

        Raises Undecodable where the bytes are not of the coding they should be.
        """
        pieces = _cut(data)  # since zlib copies the input that it has not taken at every step
        for layer in self._layers:
            pieces = layer.decoded(pieces)
        try:
            yield from pieces
        except (zlib.error, brotli.error, zstd.ZstdError) as fault:
            raise Undecodable(str(fault)) from fault


def _run(engine: _Engine, data: bytes) -> Iterator[bytes]:
    due = False
    while (data or due) and not engine.eof:
        piece = engine.decompress(data, STEP)
        data = getattr(engine, "unconsumed_tail", b"")  # only zlib gives input back
        # Output can be due when all input is taken; brotli 1.2.1 then wrongly says that it wants more input.
        due = len(piece) >= STEP
        yield from _cut(piece)  # brotli checks the limit between blocks: pieces of 98 kB were seen


def _cut(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), STEP):
        yield data[start : start + STEP]


def _codings(content_encoding: str) -> list[_Coding]:
    names = [name for each in content_encoding.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    if len(names) > MAX_CODINGS:
        raise Undecodable(f"{len(names)} content codings, more than {MAX_CODINGS}")
    unknown = [name for name in names if name not in _CODINGS]
    if unknown:
        raise Undecodable(f"unknown content coding {unknown[0]!r}")
    return [_CODINGS[name] for name in names]


def decoder(content_encoding: str) -> Decoder:
    """A decoder for a body with this Content-Encoding header: "", "gzip", "br, gzip"; in any case.

    Raises Undecodable for an unknown coding or more than MAX_CODINGS.
    """
    return Decoder(_codings(content_encoding))


def unpack(body: bytes, content_encoding: str, limit: int) -> bytes:
    """The whole decoded body, of `limit` bytes at most.

    Raises Undecodable for an unknown coding, a broken or truncated body, and one that decodes to more.
    """
    if content_encoding.strip().lower() in ("", "identity") and len(body) <= limit:
        return body
    undoing, whole = decoder(content_encoding), bytearray()
    for piece in undoing.feed(body):
        whole += piece
        if len(whole) > limit:
            raise Undecodable(f"more than {limit} bytes when decoded")
    if undoing.truncated:
        raise Undecodable("the body ends before its compressed data does")
    return bytes(whole)


def pack(body: bytes, content_encoding: str) -> bytes:
    """The body encoded as the header says. Raises Undecodable for an unknown coding or more than MAX_CODINGS."""
    for coding in _codings(content_encoding):
        body = coding.packed(body)
    return body
