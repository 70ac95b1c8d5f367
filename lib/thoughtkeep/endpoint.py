"""Whether a request is an LLM exchange, and of which format.

Told by method, path suffix and the shape of the body; never by the host alone (anyone may run a gateway) and never by
the path alone (anyone may name a path so).
"""

from thoughtkeep.formats import FORMATS, Endpoint
from thoughtkeep.turns import Json


def may_be(method: str, path: str) -> bool:
    """Whether method and path are those of an LLM endpoint, so that the body is worth reading."""
    plain = path.partition("?")[0]
    return method.upper() == "POST" and any(form.endpoint(plain, None) for form in FORMATS)


def recognise(method: str, path: str, body: Json) -> Endpoint | None:
    """The endpoint that a request goes to, or None."""
    if method.upper() != "POST" or body is None:  # a body that says null is no question
        return None
    plain = path.partition("?")[0]
    return next((found for form in FORMATS if (found := form.endpoint(plain, body))), None)
