"""Content views for mitmweb, mitmproxy and mitmdump: requests and answers that read like the conversation.

A view is drawn on mitmproxy's own event loop, so each page is drawn once and its size is bounded. A flow that cannot be
drawn is left to mitmproxy's own views.
"""

from collections import OrderedDict

from mitmproxy import contentviews, ctx, http
from mitmproxy.addonmanager import Loader
from mitmproxy.contentviews import Contentview, Metadata
from mitmproxy.websocket import WebSocketMessage

from thoughtkeep import splice
from thoughtkeep.answer import answer_of
from thoughtkeep.endpoint import may_be, recognise
from thoughtkeep.formats import FORMATS, Endpoint
from thoughtkeep.jsontext import NotJson, loads
from thoughtkeep.profiles import group_of, profile_for
from thoughtkeep.show.difference import difference
from thoughtkeep.show.page import answer_page, refusal_page, request_page
from thoughtkeep.show.story import Story, comment
from thoughtkeep.turns import Json, Owner
from thoughtkeep_mitm import traffic
from thoughtkeep_mitm.flows import flow_view
from thoughtkeep_mitm.guard import log
from thoughtkeep_mitm.runtime import Runtime

# mitmproxy's own views have at most 2.
PRIORITY = 3.0

# Pages that are kept drawn: UIs ask again and again for the one that is looked at.
_DRAWN = 8

# From this status on an answer is a refusal, and its text says why.
_REFUSED = 400

_NO_CHANGE = "The request left as the client sent it."
_UNKNOWN = "What the client sent is not known: this flow is of another run, or of too long ago."


class ConversationView(Contentview):
    """Draws what an LLM endpoint is asked and what it answers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._drawn: OrderedDict[tuple[object, ...], str | None] = OrderedDict()

    @property
    def name(self) -> str:
        """What UIs call the view."""
        return "thoughtkeep"

    def render_priority(self, data: bytes, metadata: Metadata) -> float:
        """Above all others where there is something to draw."""
        look_at(metadata)
        return PRIORITY if self._page(data, metadata) is not None else -1

    def prettify(self, data: bytes, metadata: Metadata) -> str:
        """The page. Raises ValueError where there is none."""
        page = self._page(data, metadata)
        if page is None:
            raise ValueError("not an exchange with an LLM endpoint, or not readable")
        return page

    def _page(self, data: bytes, metadata: Metadata) -> str | None:
        flow, message = metadata.flow, metadata.http_message or metadata.websocket_message
        if not isinstance(flow, http.HTTPFlow) or message is None:
            return None
        # A WebSocket begins with a GET; the requests are in its frames.
        method = "POST" if isinstance(message, WebSocketMessage) else flow.request.method
        if not may_be(method, flow.request.path):
            return None
        story = self._runtime.stories.get(flow)
        told = (story.id, story.status) if story else None
        key = (flow.id, type(message), len(data), hash(data), told, flow.response and flow.response.status_code)
        if key not in self._drawn:
            self._drawn[key] = self._draw(data, flow, message, story)
            while len(self._drawn) > _DRAWN:
                self._drawn.popitem(last=False)
        return self._drawn[key]

    def _draw(
        self, data: bytes, flow: http.HTTPFlow, message: http.Message | WebSocketMessage, story: Story | None
    ) -> str | None:
        try:
            if isinstance(message, WebSocketMessage):
                lines = _frame(data, flow, message, story)
            elif isinstance(message, http.Response):
                lines = _answer(data, flow, message, story)
            else:
                lines = _request(data, flow, story)
        except (ValueError, RecursionError) as fault:
            log.debug("thoughtkeep: a view cannot be drawn", exc_info=fault)
            return None
        return None if lines is None else "\n".join(lines)


class DifferenceView(Contentview):
    """Shows what of a request was changed, line by line of its JSON. Never chosen by itself."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def name(self) -> str:
        """What UIs call the view."""
        return "thoughtkeep-diff"

    def render_priority(self, data: bytes, metadata: Metadata) -> float:
        """Only by name."""
        return -1

    def prettify(self, data: bytes, metadata: Metadata) -> str:
        """The difference between the client's request and the one that was sent."""
        if not isinstance(metadata.flow, http.HTTPFlow) or isinstance(metadata.http_message, http.Response):
            raise ValueError("only requests are changed: there is nothing to compare here")
        return "\n".join(changes(self._runtime, metadata.flow))


def changes(runtime: Runtime, flow: http.HTTPFlow) -> list[str]:
    """The lines that tell a client's request from the one that was sent."""
    story = runtime.stories.get(flow)
    if story is None:
        return [_UNKNOWN]
    sent = flow.request.get_content(strict=False) or b""
    if story.made:
        changed = difference(story.client, sent) if story.client is not None else []
        return [comment(story), *changed]
    if story.only_told and story.plan.edits:
        return ["What would be changed:", *difference(sent, splice.apply(sent, story.plan.edits))]
    return [_NO_CHANGE]


def _frame(data: bytes, flow: http.HTTPFlow, message: WebSocketMessage, story: Story | None) -> list[str] | None:
    """A request among the frames of a WebSocket; of the newest one it is known what was done to it."""
    if not message.from_client or not data.lstrip().startswith(b"{"):
        return None
    frames = flow.websocket.messages if flow.websocket else []
    newest = next((each for each in reversed(frames) if each.from_client), None)
    return _request(data, flow, story if message is newest else None)


def _asked(flow: http.HTTPFlow, body: Json) -> Endpoint | None:
    return recognise("POST", flow.request.path, body)


def _request(data: bytes, flow: http.HTTPFlow, story: Story | None) -> list[str] | None:
    body = loads(data)
    endpoint = _asked(flow, body)
    if endpoint is None:
        return None
    ask = endpoint.format.read(body, endpoint)
    before = None
    if story is not None and story.client is not None:
        client = loads(story.client)
        before = endpoint.format.read(client, endpoint), client
    elif story is not None and story.only_told and story.plan.edits:
        before = ask, body
        body = loads(splice.apply(data, story.plan.edits))
        ask = endpoint.format.read(body, endpoint)
    return request_page(ask, body, before, story)


def _answer(data: bytes, flow: http.HTTPFlow, message: http.Response, story: Story | None) -> list[str] | None:
    if message.status_code >= _REFUSED:
        return refusal_page(message.status_code, data.decode("utf-8", "replace"), story)
    endpoint = _endpoint(flow)
    if endpoint is None or not data:
        return None
    host = traffic.host_of(flow)
    answer = answer_of(endpoint.format, profile_for(host), *traffic.coding_of(message))
    answer.feed(message.raw_content or b"")
    answer.close()
    if not answer.turns() and not answer.ended and not answer.stopped:
        return None  # no answer of a model: a list, a page of somebody else
    model = story.model if story else endpoint.model
    owner = Owner(group_of(host, flow.request.port), model, answer.served, answer.upstream)
    return answer_page(answer, owner, story)


def _endpoint(flow: http.HTTPFlow) -> Endpoint | None:
    """The endpoint that a flow's request went to; by its path alone where its body is gone."""
    content = flow.request.get_content(strict=False)
    try:
        return _asked(flow, loads(content)) if content else _by_path(flow.request.path)
    except NotJson:
        return _by_path(flow.request.path)


def _by_path(path: str) -> Endpoint | None:
    plain = path.partition("?")[0]
    return next((found for form in FORMATS if (found := form.endpoint(plain, None))), None)


def look_at(metadata: Metadata) -> None:
    """Let `@focus` be the flow that is looked at, in mitmweb too: there nothing else sets the focus."""
    view = flow_view()
    if metadata.flow is None or view is None or "webaddon" not in ctx.master.addons.lookup:
        return
    if metadata.flow is not view.focus.flow and metadata.flow in view:
        view.focus.flow = metadata.flow


class Views:
    """Registers the views with mitmproxy, in place of those of an earlier load of the script."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = "thoughtkeep-views"
        self._views = (ConversationView(runtime), DifferenceView(runtime))

    def load(self, loader: Loader) -> None:
        """Make them known."""
        for view in self._views:
            contentviews.add(view)
