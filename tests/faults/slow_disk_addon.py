"""mitmproxy addon for tests: each transaction of thoughtkeep's store takes as long as on a slow disk.

Load it before thoughtkeep. Whoever lets a client go before its turn is durable is found out by it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

#: Well below what the end of an answer waits for the disk.
SECONDS = 0.03


class SlowDisk:
    """Makes writing slow when the proxy runs."""

    def running(self) -> None:
        database = sys.modules["thoughtkeep_store.database"].Database
        write = database.write

        def slowly(self: Any, *work: Any) -> None:
            time.sleep(SECONDS)
            write(self, *work)

        database.write = slowly


addons = [SlowDisk()]
