"""What the launcher says at the end: what was kept, or why nothing could be."""

from collections.abc import Sequence
from pathlib import Path

from thoughtkeep.show.words import plural
from thoughtkeep_mitm.launch.environment import BASE_URLS
from thoughtkeep_mitm.launch.proxy import Report

# Hosts that one line names.
_NAMED = 3


def lines(report: Report, reverse: str) -> list[str]:
    """The lines for stderr. `reverse` is the address that the agent was to use for its provider's, if it was."""
    more = f"thoughtkeep: and {plural(report.more_warnings, 'more warning')}: --log FILE keeps them"
    told = [*report.warnings, *([more] if report.more_warnings else [])]
    counts = report.counts
    if counts.get("exchanges"):
        return [*told, f"thoughtkeep: {_kept(report)}"]
    return [*told, f"thoughtkeep: no request to an LLM came through the proxy: {_why(report, reverse)}"]


def _kept(report: Report) -> str:
    counts = report.counts
    said = [
        plural(counts.get("exchanges", 0), "exchange"),
        f"{plural(counts.get('turns_kept', 0), 'turn')} kept",
        f"{plural(counts.get('requests_restored', 0), 'request')} restored",
    ]
    if handovers := counts.get("handover_switch", 0):
        said.append(plural(handovers, "handover"))
    if rescued := counts.get("rescued", 0):
        said.append(f"{plural(rescued, 'refusal')} rescued")
    return ", ".join(said) + (f" (store: {_short(report.store)})" if report.store else "")


def _why(report: Report, reverse: str) -> str:
    if report.counts.get("certificates_refused"):
        return (
            "the agent trusts its certificate through none of the variables that were set; try --reverse with its "
            "provider's URL"
        )
    if report.requests:
        return f"{plural(report.requests, 'request')} of other kinds did"
    if reverse:
        return f"the agent reads none of {', '.join(BASE_URLS)}; set the base URL {reverse} in its configuration"
    if report.connected:
        first = report.connected[0]
        return f"{_some(report.connected)} passed undecrypted; --host {first} has that host looked into"
    return (
        "the agent asked nobody, or does not read HTTPS_PROXY (try --reverse with its provider's URL), or its host is "
        "in NO_PROXY, as all of this machine are"
    )


def _some(hosts: Sequence[str]) -> str:
    named = ", ".join(hosts[:_NAMED])
    return named + (f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else "")


def _short(store: str) -> str:
    path = store.removeprefix("sqlite ")
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
