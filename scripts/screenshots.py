"""Pictures of mitmweb for the README: an agent's session with state put back, a handover, a difference."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib"), str(ROOT / "addons")]

from e2e.kit import ADDON, BACKSTAGE, agent, redirect  # noqa: E402
from e2e.switching import Board, Session, Upstream  # noqa: E402
from providers import PROVIDERS, Provider, Site  # noqa: E402
from proxy import Proxy  # noqa: E402
from web.browser import Web, missing  # noqa: E402

SIZE = (1440, 760)

SUMMARY = """\
- Task: find out why the nightly build fails, and mend it.
- Standing wishes: never touch the release branch.
- Done: the log of the build was read; the failing test is test_clock, since the change of 12 March.
- Facts: src/clock.py takes local time, the build machine runs in UTC.
- Decisions: take UTC everywhere, because logs are in UTC already.
- Not done: the mend itself."""

LOG = "\n".join(f"03:{number // 60:02}:{number % 60:02} ok   tests/test_part_{number:03}.py" for number in range(400))

STEPS = (
    f"Our nightly build fails since last week. Find out why. Never touch the release branch, please. Its log:\n{LOG}",
    "It says test_clock. What changed there?",
    "Right. Which time zone is the build machine in?",
)


def main() -> int:
    """Make the pictures; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs", help="where they go (docs/)")
    folder = parser.parse_args().folder
    if why := missing():
        print(f"scripts/screenshots: {why}", file=sys.stderr)
        return 1
    if not folder.is_dir():
        print(f"scripts/screenshots: {folder} is no folder", file=sys.stderr)
        return 2
    restored(folder)
    handed_over(folder)
    for name in ("restored", "difference", "handover"):
        print(folder / f"{name}.png")
    return 0


def watching(*words: str) -> Proxy:
    """A mitmweb with the addon and few columns."""
    options = ["thoughtkeep_store=memory:", "thoughtkeep_handover_min_tokens=0"]
    options += [f"web_columns={name}" for name in ("path", "status", "comment")]
    told = [word for option in options for word in ("--set", option)]
    return Proxy(*told, "-s", BACKSTAGE, "-s", ADDON, *words, program="mitmweb")


def restored(folder: Path) -> None:
    """An agent that knows no reasoning fields, at a provider that demands them."""
    provider = Provider(PROVIDERS["openrouter-claude"])
    with Site(provider, lifetime=120) as site, watching(*map(str, redirect(site.port))) as proxy:
        agent(provider, "streamed", provider.url("streamed", real=True), proxy=proxy.url)
        with Web(proxy) as web:
            web.select(2)
            web.tab("request")
            web.screenshot(folder / "restored.png", *SIZE)
            web.choose_view("thoughtkeep-diff")
            web.screenshot(folder / "difference.png", *SIZE)


def handed_over(folder: Path) -> None:
    """A conversation that moves to another model."""
    board = Board("messages")
    board.summarise = board.answer_with(SUMMARY)
    with watching() as proxy, Upstream(board.script) as upstream, Web(proxy) as web:
        session = Session(proxy, upstream.url, board.shape)
        for words in STEPS:
            session.turn("claude-opus-4-8", words)
        session.turn("claude-haiku-4-5", "Then mend it, with a test.")
        web.until(lambda w: any(row["comment"].startswith("handover") for row in w.rows()))
        rows = web.rows()
        web.select(next(n for n, row in enumerate(rows) if row["comment"].startswith("handover")))
        web.tab("request")
        web.screenshot(folder / "handover.png", *SIZE)


if __name__ == "__main__":
    sys.exit(main())
