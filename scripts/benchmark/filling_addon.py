"""mitmproxy addon that fills the store of the thoughtkeep beside it, in the same process, to see what that takes.

A request to its own host names in its path from which turn to which.
"""

from filling import HOST, put
from mitmproxy import ctx, http


class Filler:
    """Answers its own host, passes all others."""

    async def request(self, flow: http.HTTPFlow) -> None:
        """Fill."""
        if flow.request.host != HOST:
            return
        first, turns = map(int, flow.request.path.strip("/").split("-"))
        await put(ctx.master.addons.get("thoughtkeep").store(), first, turns)
        flow.response = http.Response.make(200, b"{}")


addons = [Filler()]
