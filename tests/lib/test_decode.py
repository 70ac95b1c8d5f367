"""Content codings: what a Content-Encoding header means for the bytes of a body, cut anywhere."""

import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli  # type: ignore[import-untyped]  # it ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtkeep.decode import MAX_CODINGS, STEP, Undecodable, decoder, pack, unpack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b'data: {"text": "h\xc3\xa9 \xe2\x80\xa8 there"}\n\n' * 40
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"


def raw_deflate(body: bytes) -> bytes:
    return zlib.compress(body, wbits=-zlib.MAX_WBITS)


def flushed_gzip(body: bytes) -> bytes:
    """As a server writes a stream: what there is is flushed after every event."""
    engine = zlib.compressobj(wbits=31)
    pieces = [engine.compress(event) + engine.flush(zlib.Z_SYNC_FLUSH) for event in body.splitlines(keepends=True)]
    return b"".join(pieces) + engine.flush()


HALF = len(TEXT) // 2
BODIES: dict[str, tuple[str, bytes]] = {
    "no header": ("", TEXT),
    "identity": ("identity", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "gzip flushed after every event": ("gzip", flushed_gzip(TEXT)),
    "gzip by its old name, upper case, with spaces": ("  X-GZIP ", gzip.compress(TEXT)),
    "two gzip members": ("gzip", gzip.compress(TEXT[:HALF]) + gzip.compress(TEXT[HALF:])),
    "an empty gzip member between two": (
        "gzip",
        gzip.compress(TEXT[:HALF]) + gzip.compress(b"") + gzip.compress(TEXT[HALF:]),
    ),
    "zero padding after gzip": ("gzip", gzip.compress(TEXT) + bytes(100)),
    "zero padding between gzip members": (
        "gzip",
        gzip.compress(TEXT[:HALF]) + bytes(7) + gzip.compress(TEXT[HALF:]) + b"\0",
    ),
    "zlib deflate": ("deflate", zlib.compress(TEXT)),
    "zlib deflate, fastest": ("deflate", zlib.compress(TEXT, 1)),
    "raw deflate": ("deflate", raw_deflate(TEXT)),
    "raw deflate that begins with a zero byte": (
        "deflate",
        b"\x00\x05\x00\xfa\xff" + TEXT[:5] + raw_deflate(TEXT[5:]),
    ),
    "br": ("br", brotli.compress(TEXT)),
    "zstd": ("zstd", zstd.compress(TEXT)),
    "two zstd frames": ("zstd", zstd.compress(TEXT[:HALF]) + zstd.compress(TEXT[HALF:])),
    "a skippable zstd frame": ("zstd", SKIPPABLE_FRAME + zstd.compress(TEXT)),
    "gzip, then br": ("gzip, br", brotli.compress(gzip.compress(TEXT))),
    "deflate, then zstd, then identity": ("deflate,zstd , identity", zstd.compress(zlib.compress(TEXT))),
    "as many as allowed": (",".join(["gzip"] * MAX_CODINGS), pack(TEXT, ",".join(["gzip"] * MAX_CODINGS))),
}
each_body = pytest.mark.parametrize(("encoding", "body"), BODIES.values(), ids=BODIES)
COMPRESSED = {name: case for name, case in BODIES.items() if case[1] != TEXT and "padding" not in name}

# By name: gzip writes the time into its bodies, and the workers of a test run must agree on what there is to test.
each_compressed_body = pytest.mark.parametrize(("encoding", "body"), COMPRESSED.values(), ids=COMPRESSED)


def decode_in(pieces: list[bytes], encoding: str) -> bytes:
    undoing = decoder(encoding)
    decoded = [piece for each in pieces for piece in undoing.feed(each)]
    assert all(0 < len(piece) <= STEP for piece in decoded)
    assert not undoing.truncated
    return b"".join(decoded)


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    edges = [0, *sorted(border % (len(data) + 1) for border in borders), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@each_body
def test_a_body_decodes_whole_and_byte_by_byte(encoding: str, body: bytes) -> None:
    assert decode_in([body], encoding) == TEXT
    assert decode_in([body[i : i + 1] for i in range(len(body))], encoding) == TEXT


@settings(deadline=None)
@given(case=st.sampled_from(list(BODIES.values())), borders=st.lists(st.integers(0, 10_000), max_size=12))
def test_where_a_body_is_cut_makes_no_difference(case: tuple[str, bytes], borders: list[int]) -> None:
    encoding, body = case
    assert decode_in(cut(body, borders), encoding) == TEXT


@each_body
def test_a_whole_body_unpacks_to_the_same(encoding: str, body: bytes) -> None:
    assert unpack(body, encoding, limit=len(TEXT)) == TEXT


@pytest.mark.parametrize(
    "encoding", ["", "identity", "gzip", "X-Gzip", "deflate", "br", "zstd", "deflate, BR", "br,zstd"]
)
@given(body=st.binary(max_size=2000))
@settings(max_examples=20, deadline=None)
def test_what_is_packed_unpacks_to_itself(encoding: str, body: bytes) -> None:
    assert unpack(pack(body, encoding), encoding, limit=2000) == body


@pytest.mark.parametrize("size", [1, STEP - 1, STEP, STEP + 1, 2 * STEP])
@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd", "gzip, zstd"])
def test_a_body_may_end_where_a_piece_does(encoding: str, size: int) -> None:
    for body in (bytes(size), random.Random(size).randbytes(size)):
        packed = pack(body, encoding)
        assert decode_in([packed], encoding) == body
        assert decode_in([packed[:-1], packed[-1:]], encoding) == body


@pytest.mark.parametrize(
    ("encoding", "undo"),
    [("gzip", gzip.decompress), ("deflate", zlib.decompress), ("br", brotli.decompress), ("zstd", zstd.decompress)],
)
def test_what_is_packed_is_what_the_name_says(encoding: str, undo: Callable[[bytes], bytes]) -> None:
    assert undo(pack(TEXT, encoding)) == TEXT


@pytest.mark.parametrize("encoding", ["compress", "gzip, exi", "gzip;q=1", "*", ",".join(["gzip"] * (MAX_CODINGS + 1))])
def test_an_unknown_coding_or_too_many_are_undecodable_before_any_byte(encoding: str) -> None:
    with pytest.raises(Undecodable, match="coding"):
        decoder(encoding)
    with pytest.raises(Undecodable, match="coding"):
        unpack(b"", encoding, limit=10)
    with pytest.raises(Undecodable, match="coding"):
        pack(b"", encoding)


LIES = {
    "plain text under gzip": ("gzip", TEXT),
    "plain text under deflate": ("deflate", b"\xff" + TEXT),
    "plain text under br": ("br", TEXT),
    "plain text under zstd": ("zstd", TEXT),
    "zlib under gzip": ("gzip", zlib.compress(TEXT)),
    "gzip under zstd": ("zstd", gzip.compress(TEXT)),
    "the codings of a list in the wrong order": ("gzip, zstd", gzip.compress(zstd.compress(TEXT))),
    "garbage after gzip": ("gzip", gzip.compress(TEXT) + b"garbage"),
    "garbage after zero padding": ("gzip", gzip.compress(TEXT) + b"\0\0garbage"),
    "garbage after zlib": ("deflate", zlib.compress(TEXT) + b"garbage"),
    "garbage after raw deflate": ("deflate", raw_deflate(TEXT) + b"garbage"),
    "a second zlib stream": ("deflate", zlib.compress(TEXT) + zlib.compress(TEXT)),
    "garbage after br": ("br", brotli.compress(TEXT) + b"garbage"),
    "garbage after zstd": ("zstd", zstd.compress(TEXT) + b"garbage"),
    "a wrong checksum": ("gzip", gzip.compress(TEXT)[:-8] + bytes(8)),
    "a zstd window of more than 8 MB": ("zstd", zstd.compress(bytes(20_000_000), 22)),
}


@pytest.mark.parametrize(("encoding", "body"), LIES.values(), ids=LIES)
def test_a_lying_or_broken_body_is_undecodable_whole_and_byte_by_byte(encoding: str, body: bytes) -> None:
    with pytest.raises(Undecodable):
        unpack(body, encoding, limit=30_000_000)
    with pytest.raises(Undecodable):
        decode_in([body[i : i + 1] for i in range(len(body))], encoding)


@each_compressed_body
def test_a_body_without_its_end_is_truncated(encoding: str, body: bytes) -> None:
    undoing = decoder(encoding)
    got = b"".join(undoing.feed(body[:-1]))
    assert undoing.truncated
    assert TEXT.startswith(got)
    with pytest.raises(Undecodable, match="ends before"):
        unpack(body[:-1], encoding, limit=len(TEXT))


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br", "zstd", "gzip, br"])
def test_a_body_without_any_byte_is_whole_and_empty(encoding: str) -> None:
    assert decode_in([], encoding) == b""
    assert decode_in([b"", b""], encoding) == b""
    assert unpack(b"", encoding, limit=0) == b""


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br"])
def test_an_event_comes_out_as_soon_as_its_flushed_bytes_came_in(encoding: str) -> None:
    pieces: dict[str, Callable[[bytes], bytes]] = {}
    gzipping, zstding, brotling = zlib.compressobj(wbits=31), zstd.ZstdCompressor(), brotli.Compressor()
    pieces["gzip"] = lambda event: gzipping.compress(event) + gzipping.flush(zlib.Z_SYNC_FLUSH)
    pieces["zstd"] = lambda event: zstding.compress(event, zstding.FLUSH_BLOCK)
    pieces["br"] = lambda event: brotling.process(event) + brotling.flush()
    undoing = decoder(encoding)
    for number in range(20):
        event = b'data: {"number": %d}\n\n' % number
        assert b"".join(undoing.feed(pieces[encoding](event))) == event


BOMB = 200_000_000


def bomb(encoding: str) -> bytes:
    """200 MB of zeros, written a MB at a time."""
    zeros = bytes(1_000_000)
    if encoding == "zstd":
        writer = zstd.ZstdCompressor()
        return b"".join(writer.compress(zeros) for _ in range(BOMB // len(zeros))) + writer.flush()
    if encoding == "br":
        engine = brotli.Compressor(quality=1)
        return b"".join(engine.process(zeros) for _ in range(BOMB // len(zeros))) + bytes(engine.finish())
    deflating = zlib.compressobj(1, wbits={"gzip": 31, "deflate": -15}[encoding])
    return b"".join(deflating.compress(zeros) for _ in range(BOMB // len(zeros))) + deflating.flush()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "br"])
def test_a_bomb_is_decoded_only_as_far_as_it_is_asked_for(encoding: str) -> None:
    body = bomb(encoding)
    assert len(body) < BOMB // 200
    pieces = decoder(encoding).feed(body)
    tracemalloc.start()
    some = [len(next(pieces)) for _ in range(10)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(some) <= STEP
    assert peak < 10 * STEP
    with pytest.raises(Undecodable, match="more than 1000000 bytes"):
        unpack(body, encoding, limit=1_000_000)


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br"])
def test_all_of_a_bomb_comes_in_bounded_pieces(encoding: str) -> None:
    undoing, total, largest = decoder(encoding), 0, 0
    for piece in undoing.feed(bomb(encoding)):
        total += len(piece)
        largest = max(largest, len(piece))
    assert (total, undoing.truncated) == (BOMB, False)
    assert largest <= STEP


def test_a_bomb_within_a_bomb_is_decoded_only_as_far_as_it_is_asked_for() -> None:
    body = gzip.compress(bomb("gzip"))
    assert len(body) < 10_000
    assert len(next(decoder("gzip, gzip").feed(body))) <= STEP
    with pytest.raises(Undecodable, match="more than"):
        unpack(body, "gzip, gzip", limit=1_000_000)


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_the_limit_is_the_largest_size_allowed(encoding: str) -> None:
    assert unpack(pack(b"12345", encoding), encoding, limit=5) == b"12345"
    with pytest.raises(Undecodable, match="more than 4 bytes"):
        unpack(pack(b"12345", encoding), encoding, limit=4)


def test_a_piece_without_coding_is_cut_too() -> None:
    assert [len(piece) for piece in decoder("").feed(bytes(2 * STEP + 1))] == [STEP, STEP, 1]
