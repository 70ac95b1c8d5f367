"""One request by the official OpenAI SDK, for tests. Run by an interpreter that has it, in a process of its own.

Standard input holds a JSON object: `base_url`, `body` (the arguments of the call) and `how`: `stream` for the SDK's own
assembling of a stream, `deltas` for what most programs do with its chunks, `plain` for an answer in one piece. Prints a
JSON object: the `message`, or the `error` by which the SDK failed.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai


def main() -> None:
    job = json.load(sys.stdin)
    client = openai.OpenAI(base_url=job["base_url"], api_key="sk-made-up", max_retries=0)
    try:
        message = HOW[job["how"]](client, job["body"])
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
    else:
        print(json.dumps({"message": message}))


def _stream(client: openai.OpenAI, body: dict[str, Any]) -> Any:
    with client.chat.completions.stream(**body) as stream:
        for _ in stream:
            pass
        return _known(stream.get_final_completion().choices[0].message.to_dict())


def _deltas(client: openai.OpenAI, body: dict[str, Any]) -> Any:
    content, prose, calls = "", "", {}
    for chunk in client.chat.completions.create(stream=True, **body):
        for choice in chunk.choices:
            content += choice.delta.content or ""
            prose += getattr(choice.delta, "reasoning_content", None) or ""
            for piece in choice.delta.tool_calls or ():
                known = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                known["id"] += piece.id or ""
                known["name"] += piece.function.name or ""
                known["arguments"] += piece.function.arguments or ""
    order = sorted(calls)
    made = [{"id": calls[n]["id"], "function": {key: calls[n][key] for key in ("name", "arguments")}} for n in order]
    return _known({"content": content, "reasoning_content": prose, "tool_calls": made})


def _plain(client: openai.OpenAI, body: dict[str, Any]) -> Any:
    return _known(client.chat.completions.create(**body).choices[0].message.to_dict())


def _known(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call["id"], "name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in message.get("tool_calls") or ()
    ]
    prose = message.get("reasoning_content")
    return {"content": message.get("content") or "", "reasoning": prose or "", "calls": calls}


HOW = {"stream": _stream, "deltas": _deltas, "plain": _plain}

if __name__ == "__main__":
    main()
