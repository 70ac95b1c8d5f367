"""How a request of our own names its host, where the address alone does not tell."""

import pytest
from mitmproxy import http

from thoughtkeep_mitm.upstream import _host_header


def request(url: str, host: str = "") -> http.Request:
    made = http.Request.make("POST", url)
    if host:
        made.headers["host"] = host
    return made


@pytest.mark.parametrize(
    ("url", "client", "named", "expected"),
    [
        ("https://api.test/v1", "https://api.test/v1", "api.test", "api.test"),
        ("https://192.0.2.7/v1", "https://192.0.2.7/v1", "api.test", "api.test"),
        ("https://192.0.2.7/v1", "https://192.0.2.7/v1", "", "192.0.2.7"),
        ("https://192.0.2.7:8443/v1", "https://192.0.2.7/v1", "api.test", "192.0.2.7:8443"),
        ("http://sum.test/v1", "https://api.test/v1", "api.test", "sum.test"),
        ("http://sum.test:8080/v1", "https://api.test/v1", "api.test", "sum.test:8080"),
    ],
)
def test_at_the_clients_host_it_has_the_clients_name_elsewhere_its_own(
    url: str, client: str, named: str, expected: str
) -> None:
    assert _host_header(request(url), request(client, named)) == expected
