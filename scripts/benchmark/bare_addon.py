"""mitmproxy addon of the side that thoughtkeep is compared with: answers pass as they come, that is all."""

from mitmproxy import http


class Streaming:
    """Lets every answer through unbuffered."""

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """See mitmproxy's events."""
        if flow.response is not None:
            flow.response.stream = True


addons = [Streaming()]
