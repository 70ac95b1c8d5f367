"""Tells of an exchange wherever people and programs look: labels, views, events, the turn log."""

from mitmproxy import http

from thoughtkeep.show.story import Story, record
from thoughtkeep_mitm import labels
from thoughtkeep_mitm.events import Events
from thoughtkeep_mitm.flows import flow_view
from thoughtkeep_mitm.guard import tolerated
from thoughtkeep_mitm.runtime import Runtime

# How soon after an exchange the store is measured, in seconds: not once for each of many.
MEASURE_SECONDS = 0.5


class Telling:
    """One way from a story to everybody who is to know it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._events = Events(runtime)

    def planned(self, flow: http.HTTPFlow, story: Story) -> None:
        """The request is about to leave."""
        with tolerated(self._runtime, "telling of a request", flow):
            self._remember(flow, story)
            self._events.planned(flow, story)

    def answered(self, flow: http.HTTPFlow, story: Story) -> None:
        """The head of the answer is about to reach the client."""
        if self._runtime.settings.response_header == "on" and flow.response is not None:
            with tolerated(self._runtime, "the response header", flow):
                labels.head(flow.response, story)

    def ended(self, flow: http.HTTPFlow, story: Story) -> None:
        """The exchange is over."""
        with tolerated(self._runtime, "telling of an answer", flow):
            self._remember(flow, story)
            self._events.ended(flow, story)
            self._runtime.turn_log.write(record(story))
            if flow_view() is not None:  # where there is a command bar, its figures are to be fresh
                self._runtime.measure(MEASURE_SECONDS)

    def _remember(self, flow: http.HTTPFlow, story: Story) -> None:
        self._runtime.stories.put(flow, story, self._runtime.store().key)
        labels.label(flow, story)
