"""Who and where: the digests by which a turn is found again.

A conversation is followed by its *lineage*: a rolling digest of its first user words, then of each call and each text
that the assistant said. It is rolled call by call, not message by message, so a client that splits a parallel batch or
moves a text beside its calls arrives at the same place. It is taken from the client's own messages, and leaves out what
clients change from request to request: ids, spacing, key order, cache marks, injected reminders, the state itself.

All digests are keyed with a secret of the store: nothing that a user said can be read or guessed from them.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from thoughtkeep.jsontext import strings
from thoughtkeep.turns import Ask, Call, Json, Kind, Piece, Said, Turn

# What agents put into the user's messages beside the user's words: Claude Code, Codex (the last one with the project's
# AGENTS.md under a heading), Cline, Gemini CLI.
_REMINDERS = {
    f"</{name}>": re.compile(f"{heading}<{name}>.*?</{name}>", re.DOTALL)
    for name, heading in (
        ("system-reminder", ""),
        ("environment_context", ""),
        ("environment_details", ""),
        ("session_context", ""),
        ("user_instructions", ""),
        ("INSTRUCTIONS", r"# AGENTS\.md instructions for [^\n]*\s+"),
    )
}

# Thinking that stands in the text: some servers and some clients leave it there, others take it out.
_THINK_TAGS = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)

# What looks like an opaque value under a key that nobody knows: no spaces, long enough not to be a word.
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_.:-]{24,}")

# Keys whose values are opaque however short they are, and keys whose values only say what stands beside them.
OPAQUE_KEYS = frozenset("signature data encrypted_content thoughtSignature thought_signature reasoning_opaque".split())
_LABELS = frozenset(("type", "format", "index", "name", "status"))

# Sixteen bytes: 2**64 turns before a chance collision.
_SIZE = 16


def digest(key: bytes, *words: str) -> str:
    """A keyed digest of some words, their borders included, as 32 hex digits."""
    made = _keyed(key).copy()  # a copy costs a third of a new one
    parts: list[bytes] = []
    for word in words:
        data = word.encode("utf-8", "surrogatepass")
        parts += (len(data).to_bytes(8, "little"), data)
    made.update(b"".join(parts))
    return made.hexdigest()


@lru_cache(maxsize=8)
def _keyed(key: bytes) -> "hashlib.blake2b":
    return hashlib.blake2b(key=key[:64], digest_size=_SIZE)


def without_reminders(text: str) -> str:
    """A user's words without what an agent injected among them."""
    for closing, reminder in _REMINDERS.items():
        if closing in text:
            end = text.rfind(closing) + len(closing)  # behind it each opening would be searched to the end, for nothing
            text = reminder.sub("", text[:end]) + text[end:]
    return text.strip()


def bare(text: str) -> str:
    """A text as compared: without thinking tags before it and without white space, which clients trim and re-wrap."""
    return "".join(text[len(think_tag(text)) :].split())


def think_tag(text: str) -> str:
    """The thinking that stands in tags before a text; empty if there is none."""
    found = _THINK_TAGS.match(text)
    return found[0] if found else ""


def visible(pieces: Iterable[Piece]) -> str:
    """The visible words of a message, and digests of what else it shows."""
    return "".join(piece.text for piece in pieces if piece.kind in (Kind.TEXT, Kind.OTHER))


def content_digest(value: Json) -> str:
    """A short stand-in for content that is no text (an image, code, a result), the same in every key order."""
    leaves = "\x00".join(sorted(strings(value)))
    return "\x1b" + hashlib.blake2b(leaves.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def roll(key: bytes, lineage: str, pieces: Iterable[Piece]) -> str:
    """The lineage behind these pieces: each call in its order; where there is none, the visible words."""
    pieces = tuple(pieces)
    calls = [piece.call for piece in pieces if piece.call]
    for call in calls:
        lineage = roll_call(key, lineage, call)
    if not calls and (words := bare(visible(pieces))):
        lineage = digest(key, lineage, "text", words)
    return lineage


def roll_call(key: bytes, lineage: str, call: Call) -> str:
    """The lineage behind one more call."""
    return digest(key, lineage, "call", call.name, call.arguments)


def after(key: bytes, lineage: str, turn: Turn) -> tuple[str, ...]:
    """Every lineage that a client may arrive at by telling this turn; the plain one first.

    Some clients join the reasoning to the answer (Mistral's chunks flattened to one string), some keep of it only the
    text: that counts as told.
    """
    places = [roll(key, lineage, turn.pieces)]
    places.append(roll(key, lineage, (piece for piece in turn.pieces if piece.kind is not Kind.OTHER)))
    if not turn.calls and turn.prose:
        joined = bare(turn.prose) + bare(visible(turn.pieces))
        places.append(digest(key, lineage, "text", joined))
    return tuple(dict.fromkeys(places))


@dataclass(frozen=True, slots=True)
class Place:
    """Where an assistant turn stands: the lineage before and behind it, all said before it, the words just before it.

    `frame` is a digest of all that stands before it, empty unless the model binds its thinking to that. `values` are
    digests of the opaque values that the turn echoes.
    """

    lineage: str
    after: str
    context: str
    near: str
    frame: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trail:
    """The places of a request's assistant turns, in order, and of the answer that is asked for (`end`)."""

    root: str
    places: tuple[Place, ...]
    end: Place


def trail(key: bytes, ask: Ask, frames: Sequence[str] = (), walked: Sequence[Place] = ()) -> Trail:
    """Walk a conversation. `frames` are those of its assistant turns and of the answer (see Format.frames), or none.

    `walked` are the places of its first turns, where they are known already.
    """
    root = lineage = digest(key, "root", "".join(ask.first.split()))  # a reminder leaves the lines around it
    context = root
    places = []
    frames = frames or [""] * (len(ask.said) + 1)
    for place, frame in zip(walked, frames, strict=False):
        places.append(place if place.frame == frame else replace(place, frame=frame))
    if walked:
        lineage = walked[-1].after
        context = digest(key, walked[-1].context, lineage)
    for said, frame in zip(ask.said[len(walked) :], frames[len(walked) :], strict=False):
        near = digest(key, "near", said.words)
        context = digest(key, context, near)
        behind = roll(key, lineage, said.pieces)
        places.append(Place(lineage, behind, context, near, frame, opaque_values(key, said)))
        context = digest(key, context, behind)
        lineage = behind
    near = digest(key, "near", ask.words)
    return Trail(root, tuple(places), Place(lineage, lineage, digest(key, context, near), near, frames[-1]))


def values(key: bytes, found: Iterable[Json]) -> tuple[str, ...]:
    """Digests of the opaque strings among some values, each once.

    Base64 is read in either alphabet: google-genai re-encodes signatures url-safe on their way back (seen on the wire).
    """
    texts: dict[str, None] = {}
    stack: list[tuple[str, Json]] = [("", value) for value in reversed(list(found))]
    while stack:
        name, value = stack.pop()
        if isinstance(value, str):
            if value and (name in OPAQUE_KEYS or _OPAQUE.fullmatch(value)):
                texts[same_base64(value)] = None
        elif isinstance(value, Mapping):
            stack += [(inner, value[inner]) for inner in reversed(value) if inner not in _LABELS]
        elif isinstance(value, list):
            stack += [(name, inner) for inner in reversed(value)]
    return tuple(digest(key, "value", text) for text in texts)


def opaque_values(key: bytes, turn: Turn | Said) -> tuple[str, ...]:
    """Digests of the opaque values of a turn, or of those that a request echoes of it, and of its items' ids."""
    states: list[Mapping[str, Json]] = [piece.state for piece in turn.pieces]
    states += [turn.state] if isinstance(turn, Turn) else [message.state for message in turn.messages]
    refs = dict.fromkeys(piece.ref for piece in turn.pieces if piece.ref)
    return values(key, states) + tuple(digest(key, "ref", ref) for ref in refs)


def same_base64(text: str) -> str:
    """One spelling for the two base64 alphabets, without padding."""
    return text.replace("-", "+").replace("_", "/").rstrip("=")


def is_base64(text: str) -> bool:
    """Whether a text could be base64, in either alphabet, padded or not."""
    plain = same_base64(text)
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(plain)


# -- tenants ----------------------------------------------------------------------------------------------------------

# Bearer tokens that are replaced every hour or so and say nothing of their owner: Google and Anthropic OAuth.
_ROTATING = ("ya29.", "sk-ant-oat")

# Where a credential stands, in the order of asking (header names in lower case).
_KEY_HEADERS = ("x-api-key", "x-goog-api-key", "api-key")

# The claims of a token that name whose it is and outlive it.
_CLAIMS = ("iss", "sub", "oid", "tid", "chatgpt_account_id", "account_id", "client_id", "azp", "api_key")

# Those that name an owner: a `client_id` is an application's, and shared by its users. Zhipu's SDK signs itself a new
# token every few minutes, in which only `api_key` (the key's id) stays.
_OWN_CLAIMS = frozenset(("sub", "oid", "chatgpt_account_id", "account_id", "api_key"))

# Where a scheme stands without a token (a client with an empty key), there is no credential.
_SCHEMES = ("bearer", "basic", "token")

# What clients send to servers that want no key: everybody's, and so nobody's.
_NO_KEYS = frozenset(("empty", "none", "dummy", "ollama", "lm-studio", "sk-no-key-required", "no-key", "not-needed"))


def tenant(
    key: bytes,
    headers: Mapping[str, str],
    query: Mapping[str, str],
    *,
    user: str = "",
    client: str = "",
    host: str = "",
) -> str:
    """A digest of whose traffic this is: state never crosses from one tenant to another.

    `headers` in lower case; `user` is the one that the proxy authenticated; `client` the client's address. The proxy's
    user counts alone. Otherwise the part of the credential that stays: a static key, a JWT's issuer and subject,
    Copilot's `tid`, a SigV4 access key id, ChatGPT's account. A token of a kind that is known to rotate, or none at
    all, leaves the client's address and the host. A token of unknown kind counts as static: losing state is better than
    leaking it.
    """
    if user:
        return digest(key, "tenant", "user", user)
    token = next((headers[name] for name in _KEY_HEADERS if headers.get(name)), "") or query.get("key", "")
    kind = "key"
    if not token:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.upper().startswith("AWS4-HMAC"):
            found = re.search(r"Credential=([^/,\s]+)", token)
            token, kind = (found[1], "aws") if found else ("", "")
        elif not token and scheme.lower() not in _SCHEMES:  # a bare token without a scheme
            token = scheme
    if account := headers.get("chatgpt-account-id"):  # a workspace's, which several people may share
        person = stable_part(token)
        return digest(key, "tenant", "account", account, person if person != token else "")
    if not token or token.lower() in _NO_KEYS or token.startswith(_ROTATING):
        return digest(key, "tenant", "address", client, host)
    return digest(key, "tenant", kind, stable_part(token))


def stable_part(token: str) -> str:
    """What stays of a credential when it is renewed; the whole of it where nothing else is known."""
    if found := re.match(r"tid=([^;]+);", token):  # Copilot: tid=…;exp=…;…
        return f"tid {found[1]}"
    parts = token.split(".")
    if len(parts) == 3 and token.startswith("eyJ"):
        try:
            claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (ValueError, RecursionError):
            return token
        named = {name: claims[name] for name in _CLAIMS if claims.get(name)} if isinstance(claims, dict) else {}
        if named.keys() & _OWN_CLAIMS:
            return "jwt " + json.dumps(named, sort_keys=True)
    return token
