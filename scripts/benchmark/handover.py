"""What handovers save: a conversation of forty turns that changes its model three times, and the bytes of each request.

The same client talks through one mitmdump without and one with thoughtkeep, to an upstream in this process that answers
and, where it is asked to, summarises. Bytes are counted where they arrive.
"""

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmark import traffic
from benchmark.traffic import Json, compact
from proxy import Proxy, ProxyFailed

ROOT = Path(__file__).resolve().parent.parent.parent

TURNS = 40
MODELS = ("model-a", "model-b", "model-c", "model-d")

# Of a coding agent: what system prompt and tools take, what a tool result takes, and a summary, in bytes.
PREAMBLE, RESULT, SUMMARY = 24_000, 3_000, 4_800

#: Seconds for each answer.
PATIENCE = 30.0

_PATH = "/v1/chat/completions"
_TURN = "x-bench-turn"


@dataclass(frozen=True)
class Turn:
    """One request: who is asked, and the bytes of its body without and with thoughtkeep; of the summary, if any."""

    number: int
    model: str
    bare: int
    addon: int
    summary: int

    @property
    def switch(self) -> bool:
        """Whether it came with a summary."""
        return self.summary > 0


class _Upstream(ThreadingHTTPServer):
    """Answers a turn by its number, anything else with a summary; `arrived` are the sizes of the bodies by number."""

    daemon_threads = True

    def __init__(self, answers: Sequence[Json]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.summary = traffic.plain_answer({"role": "assistant", "content": "- Facts: " + "word " * (SUMMARY // 5)})
        self.arrived: dict[int, int] = {}
        self.summaries: list[int] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Upstream
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        size = len(self.rfile.read(int(self.headers["content-length"])))
        if _TURN in self.headers:
            number = int(self.headers[_TURN])
            self.server.arrived[number] = size
            message = self.server.answers[number]
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            answer = traffic.plain_answer(message, reason)
        else:
            self.server.summaries.append(size)
            answer = self.server.summary
        body = "".join(answer.chunks).encode()
        self.send_response(200)
        self.send_header("content-type", answer.kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


def main(arguments: Sequence[str]) -> int:
    """Run the conversation through both proxies and print what it cost. 0 if it came to its end."""
    parser = argparse.ArgumentParser(
        prog="bench handover",
        description=f"A conversation of {TURNS} turns that changes its model {len(MODELS) - 1} times, through a "
        "mitmdump without and one with thoughtkeep: the bytes of each request as it arrives upstream.",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    options = parser.parse_args(arguments)
    try:
        turns = measure()
    except (ProxyFailed, OSError) as fault:
        print(f"FAILED: {fault}", file=sys.stderr)
        return 1
    show(turns)
    if options.json:
        options.json.write_text(json.dumps([vars(turn) | {"switch": turn.switch} for turn in turns], indent=1) + "\n")
    return 0 if sum(turn.switch for turn in turns) == len(MODELS) - 1 else 1


def measure() -> list[Turn]:
    """Play the conversation through both proxies. Raises ProxyFailed, or OSError where an answer does not come."""
    talk = traffic.talk("handover", TURNS, RESULT, PREAMBLE)
    whole = json.loads(talk.bodies["none"])
    places = [at for at, message in enumerate(whole["messages"]) if message["role"] == "assistant"]
    models = [MODELS[number * len(MODELS) // TURNS] for number in range(TURNS)]
    bodies = [
        compact({**whole, "model": model, "messages": whole["messages"][:at]}).encode()
        for model, at in zip(models, places, strict=True)
    ]
    with tempfile.TemporaryDirectory(prefix="thoughtkeep-bench-") as folder, _Upstream(talk.turns) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        bare_addon = ROOT / "scripts" / "benchmark" / "bare_addon.py"
        store = f"thoughtkeep_store=sqlite:///{folder}/store.sqlite3"
        with Proxy("-s", bare_addon) as bare, Proxy("-s", ROOT / "addons" / "addon.py", "--set", store) as addon:
            turns = []
            for number, (model, body) in enumerate(zip(models, bodies, strict=True)):
                sizes, before = [], len(upstream.summaries)
                for proxy in (bare, addon):
                    _ask(proxy, upstream.server_port, number, body)
                    sizes.append(upstream.arrived[number])
                turns.append(Turn(number + 1, model, sizes[0], sizes[1], sum(upstream.summaries[before:])))
        upstream.shutdown()
    return turns


def _ask(proxy: Proxy, port: int, number: int, body: bytes) -> None:
    connection = HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE)
    try:
        headers = {"content-type": "application/json", "authorization": "Bearer sk-bench", _TURN: str(number)}
        connection.request("POST", f"http://127.0.0.1:{port}{_PATH}", body, headers)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise OSError(f"turn {number + 1} was answered with status {response.status}")
    finally:
        connection.close()


def show(turns: Sequence[Turn]) -> None:
    """Print a line a turn, and the sums."""
    print(f"{'turn':>5}  {'model':<8}  {'without':>10}  {'with':>10}  {'summary':>10}  {'in all':>8}")
    for turn in turns:
        asked = f"{turn.summary:,}" if turn.switch else ""
        share = (turn.addon + turn.summary) / turn.bare
        print(f"{turn.number:>5}  {turn.model:<8}  {turn.bare:>10,}  {turn.addon:>10,}  {asked:>10}  {share:>8.0%}")
    bare, addon, summaries = (sum(getattr(t, name) for t in turns) for name in ("bare", "addon", "summary"))
    share = (addon + summaries) / bare
    print(f"{'sum':>5}  {'':<8}  {bare:>10,}  {addon:>10,}  {summaries:>10,}  {share:>8.0%}")
    print()
    print("Bytes of request bodies as they arrive upstream. summary: the request for a summary, sent once a switch;")
    print("in all: request and summary, with thoughtkeep, as a share of the request without it.")
