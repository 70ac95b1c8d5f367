"""The last requests are in memory, each credential's for itself, until anything is forgotten."""

import json
from collections.abc import Callable, Sequence

import pytest
from desk import Desk

from thoughtkeep_mitm.commands import Commands

URL = "https://api.deepseek.com/v1/chat/completions"


def body(count: int) -> bytes:
    said = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"{number}" * 2000} for number in range(count)
    ]
    return json.dumps({"model": "deepseek-reasoner", "messages": said}).encode()


def is_in_memory(desk: Desk) -> bool:
    """Whether a request is known to begin as one that any credential's client sent before."""
    bodies = desk.runtime.recent.bodies
    return any(bodies.parse(name, body(9)).before is not None for name in tuple(bodies._lately.names))


FORGETS: dict[str, Callable[[Commands], Sequence[str]]] = {
    "all": lambda commands: commands.forget_all(),
    "a conversation or a turn": lambda commands: commands._forgotten("the conversation"),
}


@pytest.mark.parametrize("forget", FORGETS.values(), ids=FORGETS)
def test_after_forgetting_no_request_is_in_memory(forget: Callable[[Commands], Sequence[str]]) -> None:
    with Desk() as desk:
        sent = desk.send(URL, {"authorization": "Bearer one"}, body(7))
        assert is_in_memory(desk)

        async def forgets() -> None:
            forget(Commands(desk.runtime))

        desk._runner.run(forgets())
        assert not is_in_memory(desk)
        assert desk.send(URL, {"authorization": "Bearer one"}, body(7)).body == sent.body


def test_a_request_is_compared_with_those_of_its_own_credential_only() -> None:
    with Desk() as desk:
        for key in ("one", "another"):
            desk.send(URL, {"authorization": f"Bearer {key}"}, body(7))
        names = desk.runtime.recent.bodies._lately.names
        assert [len(known) for known in names.values()] == [1, 1]
