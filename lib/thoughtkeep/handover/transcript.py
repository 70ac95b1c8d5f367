"""A conversation as plain text, for whoever is to summarise it.

User words, assistant text, calls with their arguments, results. No reasoning, no images, no signatures, no ids of
calls: nothing that only the model which made it can read.
"""

from collections.abc import Iterable

from thoughtkeep.turns import Utterance, Who

# How much of a transcript a summariser is given, in characters: about 100 000 tokens, which every current model reads.
LIMIT = 400_000

# Of one result; whole files belong into the conversation, not into its summary.
RESULT_LIMIT = 20_000

_HEADS = {Who.USER: "USER", Who.ASSISTANT: "ASSISTANT", Who.RESULT: "RESULT of", Who.CALL: "ASSISTANT called"}


def transcript(talk: Iterable[Utterance], limit: int = LIMIT) -> str:
    """The text of what was said, its middle cut out (and that said) where it is longer than `limit` characters."""
    parts = [part for uttered in talk if (part := line(uttered))]
    return cut("\n\n".join(parts), limit)


def line(uttered: Utterance, limit: int = RESULT_LIMIT) -> str:
    """One utterance; empty for what is left out (what the system says, empty texts)."""
    text = uttered.text.strip()
    if uttered.who is Who.CALL:
        return f"{_HEADS[Who.CALL]} {uttered.name} with {text}"
    if uttered.who is Who.RESULT:
        return f"{_HEADS[Who.RESULT]} {uttered.name}:\n{cut(text, limit)}"
    if uttered.who.is_system or not text:
        return ""
    return f"{_HEADS[uttered.who]}:\n{text}"


def cut(text: str, limit: int) -> str:
    """A text of at most about `limit` characters: its beginning, and (twice as much of) its end."""
    if len(text) <= limit:
        return text
    head = limit // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out here …]\n{text[-tail:]}"
