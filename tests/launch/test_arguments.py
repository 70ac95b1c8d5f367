"""The command line: where the command begins, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from thoughtkeep_mitm.launch.arguments import origin, parse
from thoughtkeep_mitm.launch.proxy import reason_in
from thoughtkeep_mitm.launch.trouble import USAGE, Trouble


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["claude"], ["claude"]),
        (["claude", "--web", "--", "-x"], ["claude", "--web", "--", "-x"]),
        (["--web", "claude", "--port", "1"], ["claude", "--port", "1"]),
        (["--port", "1", "claude"], ["claude"]),
        (["--port=1", "--set", "a=b", "claude"], ["claude"]),
        (["--", "--odd"], ["--odd"]),
        (["--web", "--", "claude", "--"], ["claude", "--"]),
        (["--host", "--", "claude"], None),
    ],
)
def test_the_command_begins_at_the_first_word_that_is_not_ours(words: list[str], command: list[str] | None) -> None:
    if command is None:
        with pytest.raises(Trouble):
            parse(words, "thoughtkeep")
    else:
        assert parse(words, "thoughtkeep").command == command


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no command was given\nusage: thoughtkeep [options] COMMAND [ARGUMENT ...]"),
        (["--web"], "no command was given"),
        (["--nonsense", "x"], "unrecognized arguments: --nonsense"),
        (["--we", "x"], "unrecognized arguments: --we"),
        (["--port", "0", "x"], "argument --port: not a port: '0'"),
        (["--port", "http", "x"], "argument --port: not a port: 'http'"),
        (["--set", "=1", "x"], "--set takes NAME=VALUE, not '=1'"),
        (["--set", "mode=socks5", "x"], "--set mode: that is for --reverse and HTTPS_PROXY to say"),
        (["--set", "listen_port=1", "x"], "--set listen_port: that is for --port to say"),
        (["--host", "https://a", "x"], "not a host name or pattern: 'https://a'"),
        (["--script", "/nonexistent.py", "x"], "--script: no such file: /nonexistent.py"),
        (["--reverse", "openrouter.ai", "x"], "--reverse takes a provider's base URL"),
        (["--reverse", "http://a:b/", "x"], "--reverse takes a provider's base URL"),
        (["--reverse", "https://me:secret@a", "x"], "--reverse: credentials have no place in the URL"),
        (["--reverse", "https://a", "--host", "b", "x"], "--reverse is for one host"),
        (["--proxy", "ftp://a", "x"], "--proxy names a ftp proxy"),
        (["--proxy", "a:b", "x"], "--proxy is not a proxy's address"),
        (["--proxy", "a:1", "--web", "--set", "a=b", "x"], "--proxy joins a proxy that runs already: --web, --set"),
        (["--proxy", "a:1", "--reverse", "https://a", "x"], "--proxy joins a proxy that runs already: --reverse"),
        (["--verbose", "--log", "f", "x"], "--verbose and --log: the log goes to one place"),
    ],
)
def test_a_wrong_one_is_said_in_a_sentence(words: list[str], told: str) -> None:
    with pytest.raises(Trouble) as trouble:
        parse(words, "thoughtkeep")
    assert trouble.value.status == USAGE
    assert str(trouble.value).startswith(told)
    assert "secret" not in str(trouble.value)


def test_what_is_given_is_found(tmp_path: Path) -> None:
    script = tmp_path / "more.py"
    script.touch()
    words = ["--host", "a", "--host=*.b", "--script", str(script), "--set", "a=b=c", "--set", "d", "--log", "l", "--ca"]
    found = parse([*words, "c.pem", "--all-hosts", "--web", "--port", "8080", "x"], "thoughtkeep")
    assert (found.hosts, found.scripts, found.options) == (["a", "*.b"], [script], ["a=b=c", "d"])
    assert (found.log, found.ca, found.port) == (Path("l"), Path("c.pem"), 8080)
    assert (found.all_hosts, found.web, found.verbose, found.proxy, found.reverse) == (True, True, False, None, None)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://openrouter.ai/api/v1/", ("https://openrouter.ai", "/api/v1")),
        ("http://127.0.0.1:8000", ("http://127.0.0.1:8000", "")),
        ("https://[::1]:1/v1", ("https://[::1]:1", "/v1")),
    ],
)
def test_a_base_url_has_an_origin_and_a_path(url: str, found: tuple[str, str]) -> None:
    assert origin(url) == found


LOG = """\
[23:40:00.000] Loading script /somewhere/script.py
[23:40:00.100] HTTP(S) proxy listening at 127.0.0.1:38233.
Traceback (most recent call last):
  File "x.py", line 1, in <module>
    raise OSError
OSError: [Errno 98] Address already in use

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "x.py", line 1, in <module>
OSError: [Errno 98] Web server failed to listen
Try another port.
\x1b[2m[23:40:00.200]\x1b[0m thoughtkeep: too bad
[23:40:00.200] too bad
Errors logged during startup, exiting...
"""


def test_the_reason_in_a_log_has_no_stack_trace() -> None:
    assert reason_in(LOG) == "Web server failed to listen; Try another port.; too bad"
    assert reason_in("") == ""
