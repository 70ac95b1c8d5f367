"""The demo: a client that drops reasoning state, strict providers that want it back, and thoughtkeep in between.

Everything runs on loopback. First the client asks each provider directly and is refused; that refusal has to happen, or
the demo fails. Only a provider that is known to take history without its state and to say nothing is shown to do just
that. Then the same client asks again through one mitmdump with thoughtkeep, and has to get through with every
demanded value restored. The provider itself counts what came back.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from agentloop import DIALOGUES, Outcome, run  # noqa: E402
from providers import PROVIDERS, TASKS, Provider, Site  # noqa: E402
from proxy import Proxy, ProxyFailed  # noqa: E402

#: Seconds for each wait of the client.
TIMEOUT = 5.0
#: Seconds after which the demo gives up as a whole.
DEADLINE = 60
WIDTH = 110


@dataclass(frozen=True)
class Row:
    """One run through the proxy, as the provider saw it. The reason is empty if all went well."""

    name: str
    mode: str
    issued: int
    demanded: str
    offered: str
    placed: str
    refused: int
    skips: int
    reason: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code: 0 only if everything held."""
    parser = argparse.ArgumentParser(
        prog="demo",
        description="Shows what thoughtkeep does: no account, loopback only. Exits with 0 only if everything held.",
        epilog="Providers: " + ", ".join(PROVIDERS),
    )
    parser.add_argument("providers", nargs="*", metavar="PROVIDER", help="only these (default: all)")
    parser.add_argument("--verbose", action="store_true", help="print the proxy's log at the end")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.providers if name not in PROVIDERS]:
        parser.error(f"no such provider: {', '.join(unknown)}; there are {', '.join(PROVIDERS)}")
    # Both end the demo through its context managers, so that nothing is left behind.
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(DEADLINE)
    started = time.monotonic()
    names = list(dict.fromkeys(chosen.providers)) or list(PROVIDERS)
    held = show(names, chosen.verbose)
    print(f"{'Everything held' if held else 'NOT everything held'}, in {time.monotonic() - started:.1f} s.")
    return 0 if held else 1


def show(names: Sequence[str], verbose: bool) -> bool:
    """Show both halves. True if every refusal happened and every run through the proxy held."""
    providers = [Provider(PROVIDERS[name]) for name in names]
    print("thoughtkeep demo")
    print("A client that has never heard of reasoning state, and strict stand-ins for real providers, all on loopback.")
    print(f'The client works on "{TASKS[0]}"')
    print(f'(two parallel calls, then a third), and then on "{TASKS[1]}".')
    with Site(*providers) as site, tempfile.TemporaryDirectory(prefix="thoughtkeep-demo-") as folder:
        heading("1. Without thoughtkeep: the request behind the first tool call is refused, or worse")
        refusals = [refused_directly(provider) for provider in providers]
        heading("2. The same client through mitmdump -s addons/addon.py")
        hosts = ",".join(sorted({f"{provider.dialect.host}={site.port}" for provider in providers}))
        words: list[str | Path] = ["-s", ROOT / "addons" / "addon.py", "-s", ROOT / "tests" / "redirect_addon.py"]
        words += ["--set", f"thoughtkeep_store=sqlite:///{folder}/store.sqlite3"]
        words += ["--set", f"redirect_hosts={hosts}"]
        try:
            with Proxy(*words) as proxy:
                rows = [through_proxy(provider, mode, proxy) for provider in providers for mode in modes(provider)]
                log = proxy.log()
        except ProxyFailed as error:
            print(f"FAILED: the proxy with thoughtkeep did not start: {error}\n")
            return False
    table(rows)
    failed = [row for row in rows if row.reason]
    for row in failed:
        print(f"FAILED {row.name}, {row.mode}: {row.reason}")
    if verbose or failed:
        heading("The proxy's log" if verbose else "The end of the proxy's log")
        print("\n".join(log.splitlines() if verbose else log.splitlines()[-25:]))
    print()
    return all(refusals) and not failed


def modes(provider: Provider) -> Iterable[str]:
    """The ways of asking that a provider has."""
    return provider.dialect.modes


def attempt(provider: Provider, mode: str, proxy: Proxy | None = None) -> Outcome:
    """Run the naive client against a provider that has forgotten all earlier runs."""
    provider.reset()
    dialect = provider.dialect
    how = dialect.modes[mode]
    dialogue = DIALOGUES[dialect.shape](dialect.model if how.model_in_body else None, dialect.extra_of(mode))
    return run(
        dialogue,
        provider.url(mode, real=proxy is not None),
        TASKS,
        streamed=how.streamed,
        headers=dialect.headers,
        proxy=proxy.url if proxy is not None else None,
        timeout=TIMEOUT,
    )


def refused_directly(provider: Provider) -> bool:
    """Ask without thoughtkeep, in every mode, and show the refusal. False if the provider did not refuse.

    Of a provider that loses state in silence the loss itself has to be seen.
    """
    expected, texts = True, {}
    for mode in modes(provider):
        outcome = attempt(provider, mode)
        if provider.dialect.silent:
            as_known = outcome.done and not any(record.returned for record in provider.issued)
            texts[f"{lost(provider)} pieces of reasoning never came back, and no error says so."] = None
        else:
            as_known = outcome.status == 400 and [r.kind for r in provider.refusals] == ["missing"]
            texts[shortened(unnamed(spoken(outcome.error)))] = None
        if not as_known:
            what = "went through" if outcome.done else f"ended with {outcome.status}: {outcome.error[:200]}"
            wanted = "lost its state in silence" if provider.dialect.silent else "been refused for missing state"
            print(f"FAILED {provider.dialect.name}, {mode}: should have {wanted}, but {what}")
            expected = False
    if expected:
        ways = ", ".join(modes(provider))
        print(f"\n{provider.dialect.name} ({provider.dialect.host}; {ways}): HTTP {outcome.status}")
        for text in texts:
            print(f"  {text}")
    return expected


def lost(provider: Provider) -> int:
    """How many values a later request should have held and no request did."""
    return sum(record.due > 0 and not record.returned for record in provider.issued)


def through_proxy(provider: Provider, mode: str, proxy: Proxy) -> Row:
    """Ask through the proxy and count, from the provider's books, what came back."""
    outcome = attempt(provider, mode, proxy)
    demanded = [record for record in provider.issued if record.demanded]
    offered = [record for record in provider.issued if not record.demanded and record.due]
    lost = sum(not record.returned for record in demanded)
    reason = ""
    if not outcome.done:
        reason = f"HTTP {outcome.status}, {shortened(spoken(outcome.error))}"
    elif provider.refusals:
        reason = f"the provider refused {len(provider.refusals)} requests on the way: {provider.refusals[0].text}"
    elif provider.skips:
        reason = f"{provider.skips} skip values were sent where the issued value was known"
    elif not demanded or lost:
        reason = f"{lost} demanded values did not come back"
    return Row(
        provider.dialect.name,
        mode,
        len(provider.issued),
        f"{sum(bool(record.returned) for record in demanded)} of {len(demanded)}",
        f"{sum(bool(record.returned) for record in offered)} of {len(offered)}",
        f"{sum(r.returned for r in provider.issued)} of {sum(r.due for r in provider.issued)}",
        len(provider.refusals),
        provider.skips,
        reason,
    )


def table(rows: Sequence[Row]) -> None:
    """Print one line a run, and what the columns mean."""
    head = ("provider", "asked", "state", "issued", "demanded", "optional", "placed", "refused", "skips", "")
    lines = [
        (
            row.name,
            row.mode,
            PROVIDERS[row.name].kind,
            str(row.issued),
            row.demanded,
            row.offered,
            row.placed,
            str(row.refused),
            str(row.skips),
            "FAILED" if row.reason else "done",
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    print()
    for line in [head, tuple("-" * width for width in widths), *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()
    print(
        "issued: values the provider handed out. demanded, optional: of those that it wants back, or would like back,"
    )
    print("how many came back unaltered and in place. placed: how often, of all requests that held their answer.")


def heading(text: str) -> None:
    """Print an underlined heading."""
    print(f"\n{text}\n{'=' * len(text)}")


def spoken(body: str) -> str:
    """The provider's own words in an error's body; the body itself if they cannot be found."""
    try:
        parsed = json.loads(body)
    except ValueError:
        return body
    while isinstance(parsed, list | dict):
        if isinstance(parsed, list):
            parsed = parsed[0] if parsed else ""
            continue
        found = parsed.get("metadata") or parsed.get("raw") or parsed.get("error") or parsed.get("message")
        if found is None:
            return body
        parsed = found
        if isinstance(parsed, str) and parsed.startswith("{"):
            return spoken(parsed)
    return str(parsed)


def shortened(text: str) -> str:
    """One line of text, cut behind two screen lines."""
    text = " ".join(text.split())
    return text if len(text) <= 2 * WIDTH else text[: 2 * WIDTH] + " …"


def unnamed(text: str) -> str:
    """A text without what differs in it from run to run: the ids of items."""
    return re.sub(r"'(fc|msg|rs)_\w+'", r"'\1_…'", text)


def _leave(signum: int, frame: object) -> None:
    raise SystemExit(128 + signum)


def _late(signum: int, frame: object) -> None:
    raise SystemExit(f"demo: not finished after {DEADLINE} s")


if __name__ == "__main__":
    sys.exit(main())
