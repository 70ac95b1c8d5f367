"""An example: an addon that listens to thoughtkeep. mitmdump -s addons/addon.py -s docs/example_addon.py"""

import logging


class Listener:
    """Says in mitmproxy's log what was kept, put back and handed over."""

    def thoughtkeep_captured(self, flow, captured):
        logging.info(f"example: {captured.maker} called {len(captured.calls)} tools, {captured.state} values kept")

    def thoughtkeep_injected(self, flow, injected):
        logging.info(f"example: {sum(injected.edits.values())} edits to a request for {injected.model}")

    def thoughtkeep_handover(self, flow, handover):
        logging.info(f"example: {handover.source} to {handover.target}, {handover.tokens_before} tokens before")


addons = [Listener()]
