"""What is to be done about one value that a request lacks, echoes or echoes damaged.

State that the client itself sends stays, unless it is plainly a damaged copy of what was issued: empty, cut short, a
known filler, no base64 where base64 is due, or entries made of nothing but the issued ones in another arrangement.
"""

from collections.abc import Callable, Iterator, Mapping

from thoughtkeep.identity import bare, is_base64, same_base64
from thoughtkeep.jsontext import strings
from thoughtkeep.turns import Edit, Json, Op, Path

# What clients write where they have nothing: Google's documented skip values (raw, and as python-genai and LiteLLM
# encode them), and fillers that agents invented for DeepSeek and Kimi.
FILLERS = frozenset(
    (
        "skip_thought_signature_validator",
        "context_engineering_is_the_way_to_go",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
        "(reasoning unavailable)",
        ".",
    )
)
_FILLERS = frozenset(same_base64(filler) for filler in FILLERS)

# The keys of an entry that say nothing of what it holds.
_LABELS = ("format", "index", "id")


def is_filler(text: str) -> bool:
    """Whether a value stands for state that a client did not have."""
    return not text.strip() or same_base64(text.strip()) in _FILLERS


def damaged(have: Json, issued: Json) -> bool:
    """Whether what the request has is a damaged copy of what was issued; false for an equal or another whole value."""
    if issued is None:
        return False  # nothing was issued that could be missing
    if isinstance(issued, str):
        if not isinstance(have, str):
            return have is None
        if same_base64(have) == same_base64(issued):
            return False
        if is_filler(have) or same_base64(issued).startswith(same_base64(have)):
            return True
        return len(issued) >= 8 and is_base64(issued) and not is_base64(have)
    if isinstance(issued, dict) and isinstance(have, dict):
        return any(damaged(have.get(key), inner) for key, inner in issued.items())
    if isinstance(issued, list) and isinstance(have, list):
        return essence(have) != essence(issued) and _made_of(have, issued)
    return have is None


def _joined(have: Json, issued: Json) -> Json:
    """What was issued, with what the client has beside it in the same object."""
    if not isinstance(have, dict):
        return issued
    filled = {key: _joined(have.get(key), value) for key, value in issued.items() if damaged(have.get(key), value)}
    return {**have, **filled}


def essence(value: Json) -> Json:
    """What a provider checks in a list of entries: kind and content, not labels or nulls."""
    if isinstance(value, str):
        return same_base64(value)
    if isinstance(value, list):
        return [essence(entry) for entry in value]
    if isinstance(value, dict):
        named = {key: inner for key, inner in value.items() if key not in _LABELS and inner not in (None, "")}
        return {key: essence(inner) for key, inner in named.items()}
    return value


def _made_of(have: list[Json], issued: list[Json]) -> bool:
    """Whether every word of the client's entries was issued in these entries (fragments, copies, fewer of them).

    A client that glues two entries together glues their texts, and loses what stood between them: so field by field.
    """
    whole: dict[str, str] = {}
    for key, text in _content(issued):
        whole[key] = whole.get(key, "") + same_base64(text)
    return all(same_base64(text) in whole.get(key, "") or is_filler(text) for key, text in _content(have))


def _content(entries: list[Json]) -> list[tuple[str, str]]:
    """The words of some entries, each with the name of its field; those of an entry that is no object have none."""
    fields = [item for entry in entries for item in (entry.items() if isinstance(entry, dict) else [("", entry)])]
    return [(key, text) for key, value in fields if key not in (*_LABELS, "type") for text in strings(value)]


def mend(
    at: Path,
    have: Mapping[str, Json],
    issued: Mapping[str, Json],
    reason: str,
    spell: Callable[[str], str] = str,
) -> Iterator[Edit]:
    """The edits that give the object at `at` what it lacks of the issued keys.

    `spell` turns a key as issued into the client's spelling; a key of `have` may be in either. A key with a slash
    stands one object deeper (`function/token`).
    """
    for key, value in issued.items():
        name = spell(key)
        present = next((have[form] for form in (name, key) if form in have), None)
        try:
            if not damaged(present, value):
                continue
            whole = _joined(present, value)
        except RecursionError:  # nested too deep to be compared
            continue
        written = name if name in have or key not in have else key
        outer, _, inner = written.rpartition("/")
        yield Edit(Op.PUT, (*at, outer) if outer else at, key=inner, value=whole, reason=reason)


def same_words(left: str, right: str) -> bool:
    """Whether two texts are the same but for white space."""
    return left == right or bare(left) == bare(right)
