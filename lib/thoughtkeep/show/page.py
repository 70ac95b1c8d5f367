"""A request or an answer as a page of lines: what heads it, then the conversation, then what was done to it marked.

Nothing here is a copy that a program could use: long words fold, state is a digest. The bytes themselves are one view
away, in mitmproxy's own views.
"""

from thoughtkeep.answer import Answer
from thoughtkeep.show.blocks import Owners, conversation, owner_name, turn_block
from thoughtkeep.show.marked import marked
from thoughtkeep.show.story import Story, comment
from thoughtkeep.show.words import fold, joined, plural, short
from thoughtkeep.turns import Ask, Json, Owner

# Lines of one page. Past it the rest folds.
LINES = 3_000


def request_page(ask: Ask, body: Json, before: tuple[Ask, Json] | None, story: Story | None) -> list[str]:
    """A request as it goes out. `before` is the client's own, where it differs; `story` what is known of it."""
    owners = Owners.of(story.known) if story else Owners()
    blocks = conversation(ask, body, owners)
    lines = [*_head(ask, body), *_notes(story), ""]
    old = conversation(*before, owners) if before else blocks
    return _bounded([*lines, *marked(old, blocks)])


def _head(ask: Ask, body: Json) -> list[str]:
    tools = _tools(body)
    names = short(", ".join(tools), 60) if tools else ""
    thinking = f"thinking {ask.thinking}" if ask.thinking != "absent" else ""
    return [
        joined([short(ask.model, 80), ask.format, "streamed" if ask.streamed else "plain", thinking]),
        joined(
            [
                plural(len(ask.listed), "message"),
                plural(len(ask.said), "assistant turn"),
                f"{plural(len(tools), 'tool')} ({names})" if tools else "no tools" * (not ask.tools),
            ]
        ),
    ]


def _tools(body: Json) -> list[str]:
    """The names of the tools that a request defines, in whatever shape."""
    inner = body.get("request") if isinstance(body, dict) else None
    place = inner if isinstance(inner, dict) and "tools" not in body else body
    defined = place.get("tools") if isinstance(place, dict) else None
    names: list[str] = []
    for tool in defined if isinstance(defined, list) else ():
        if not isinstance(tool, dict):
            continue
        declared = tool.get("functionDeclarations", tool.get("function_declarations"))
        for each in declared if isinstance(declared, list) else [tool.get("function", tool)]:
            if isinstance(each, dict):
                names.append(str(each.get("name") or each.get("type") or next(iter(each), "")))
    return names


def _notes(story: Story | None) -> list[str]:
    """What thoughtkeep did, decided and left undone."""
    if story is None:
        return []
    told = comment(story)
    notes = [f"thoughtkeep: {told or 'unchanged'}"]
    if story.only_told and story.plan.edits:
        why = "it only observes" if story.mode == "observe" else "the body is signed"
        reasons = ", ".join(f"{reason} ({count})" for reason, count in story.due().items())
        notes = [f"thoughtkeep: unchanged, because {why}. Marked is what would be done: {reasons}"]
    elif story.made:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in story.made.items())
        notes.append(f"  why: {reasons}")
    if missed := story.missed():
        reasons = ", ".join(f"{reason} ({count})" for reason, count in missed.items())
        notes.append(f"  not restored, though due: {reasons}")
    outcome = story.handover
    if outcome.reason not in ("off", "same_model", "no_prior_turn") and not outcome.replaces:
        notes.append(f"  no handover: {outcome.reason}{f' ({short(outcome.failed)})' if outcome.failed else ''}")
    if outcome.replaces and outcome.invoked:
        notes.append(f"  the summary took {outcome.summary_ms:,} ms")
    if story.rescued:
        notes.append(f"  refused by the provider: {short(story.rescued)}")
    return notes


def answer_page(answer: Answer, owner: Owner, story: Story | None) -> list[str]:
    """An answer, assembled."""
    head = joined(
        [
            f"answer of {owner_name(owner)}",
            f"ended: {short(answer.reason, 60)}" if answer.reason else "" if answer.ended else "not ended",
            f"{answer.tokens:,} tokens" if answer.tokens else "",
            "with an error in its midst" if answer.failed else "",
            f"read only in part: {short(answer.stopped)}" if answer.stopped else "",
        ]
    )
    notes = []
    if story is not None:
        done = [
            f"rescued ({story.rescued.removesuffix(', rescued')})" if story.is_rescued else "",
            f"made readable for the client ({plural(story.repaired, 'change')})" if story.repaired else "",
            f"{plural(len(story.kept), 'turn')} kept" if story.kept else "nothing kept" if story.status else "",
        ]
        notes = [f"thoughtkeep: {joined(done)}"] if any(done) else []
    lines = [head, *notes, ""]
    turns = answer.turns()
    for number, turn in enumerate(turns):
        cut = "" if turn.complete else " (cut off)"
        heading = f"choice {number}{cut}" if len(turns) > 1 else f"assistant{cut}"
        block = turn_block(heading, turn.pieces, turn.state)
        lines += marked([block], [block])
    if not turns:
        lines.append("(it says nothing)")
    return _bounded(lines)


def refusal_page(status: int, text: str, story: Story | None) -> list[str]:
    """An answer that is an error: what it says, and what was done about it."""
    lines = [f"refused with status {status}"]
    if story is not None and story.rescued:
        lines.append(f"thoughtkeep: {short(story.rescued)}")
    if story is not None and (missed := story.missed()):
        reasons = ", ".join(f"{reason} ({count})" for reason, count in missed.items())
        lines.append(f"thoughtkeep: state was due and was not restored: {reasons}")
    return _bounded([*lines, "", *fold(text, 60)])


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) <= LINES:
        return lines
    return [*lines[:LINES], f"\u2026 {plural(len(lines) - LINES, 'more line')} \u2026"]
