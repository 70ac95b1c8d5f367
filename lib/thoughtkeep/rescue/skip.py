"""Google's documented stand-in for a thought signature that nobody has.

`skip_thought_signature_validator` (ai.google.dev and Vertex AI "Thought signatures"): accepted on the first call of a
step instead of a signature, at the price of a worse answer; without it the request is refused for certain. Only Gemini
3 and later want it, only Google's own surfaces and OpenRouter know it.
"""

import re
from collections.abc import Iterator

from thoughtkeep.identity import without_reminders
from thoughtkeep.profiles import Profile
from thoughtkeep.turns import Ask, Edit, Json, Op, Said, Who

SKIP = "skip_thought_signature_validator"

REASON = "documented stand-in: nobody has this signature"

# Models that refuse a call without its signature.
_DEMANDING = re.compile(r"gemini-([3-9]|\d\d)")


def demands_signature(model: str) -> bool:
    """Whether a model refuses a call of the current turn that has no signature."""
    return bool(_DEMANDING.search(model.lower()))


def open_steps(ask: Ask) -> list[int]:
    """The steps of the current turn, by number: the assistant turns with calls behind the user's newest words."""
    order = {at: number for number, (at, _) in enumerate(ask.listed)}
    spoken = [order[u.at] for u in ask.talk if u.who is Who.USER and without_reminders(u.text) and u.at in order]
    newest = max(spoken, default=-1)
    return [
        number for number, said in enumerate(ask.said) if said.calls and order.get(said.messages[0].at, -1) > newest
    ]


def put_skip(
    ask: Ask, said: Said, profile: Profile, *, replace: bool = False, demanded: bool = False
) -> Iterator[Edit]:
    """The edit that puts the stand-in on the first call of a step, in the target's own place; none where one stands.

    With `replace` also where something stands there. `demanded`: the provider has asked for a signature, whatever the
    model's name says; then a stand-in of ours goes under every key that the target may look for it.
    """
    first = next(piece for piece in said.pieces if piece.call)
    at = first.at
    if at is None or not (demanded or demands_signature(ask.model)):
        return
    if ask.format == "gemini":
        keys = ("thoughtSignature", "thought_signature")
        if replace or not any(first.state.get(key) for key in keys):
            yield Edit(Op.PUT, at, key=keys[ask.spelling == "snake"], value=SKIP, reason=REASON)
    elif profile.signature_key:
        outer, *names = profile.signature_key
        have = first.state.get(outer)
        have = have if isinstance(have, dict) and not replace else {}
        signed = [inner.get("thought_signature") for inner in have.values() if isinstance(inner, dict)]
        put = {name: {"thought_signature": SKIP} for name in (names if demanded else names[:1])}
        if not any(signed) or (demanded and signed == [SKIP] and len(put) > 1):
            yield Edit(Op.PUT, at, key=outer, value={**have, **put}, reason=REASON)
    elif profile.skip_entry:
        home = next(message for message in said.messages if at[: len(message.at)] == message.at)
        if replace or not _is_signed(home.state.get("reasoning_details")):
            entry = {
                "type": "reasoning.encrypted",
                "data": SKIP,
                "id": first.call.id if first.call else "",
                "format": "google-gemini-v1",
                "index": 0,
            }
            yield Edit(Op.PUT, home.at, key="reasoning_details", value=[entry], reason=REASON)


def _is_signed(entries: Json) -> bool:
    """Whether a list of entries holds anything opaque: words alone are no signature."""
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return any(entry.get(key) for entry in found for key in ("signature", "data"))
