"""Two network namespaces of a test's own, joined by a cable: a client's, and a gateway's that takes what passes it.

They have no names: nothing of them is to be seen outside this process, and the kernel takes them away, cable and rules
included, as soon as the last process and socket in them is gone, whatever happened to the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

#: The gateway at its end of the cable, and an address that it has besides: the provider's, for the client.
GATEWAY = "10.77.0.1"
PROVIDER = "10.99.0.9"
_CLIENT = "10.77.0.2"


class NoNamespaces(Exception):
    """They cannot be made here; the message says why."""


class Namespace:
    """A network namespace. Whoever is inside makes sockets and starts programs in it; each thread is so by itself."""

    def __init__(self) -> None:
        self.handle = -1
        self._failed: OSError | None = None
        making = threading.Thread(target=self._make)
        making.start()
        making.join()
        if self._failed is not None:
            raise NoNamespaces(f"the system allows no network namespaces: {self._failed}")

    def _make(self) -> None:
        """In a thread of its own, which stays where it went and ends there."""
        try:
            os.unshare(os.CLONE_NEWNET)
            self.handle = os.open(_own(), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self._failed = error

    def __enter__(self) -> Namespace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.handle)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be in it for a while."""
        before = os.open(_own(), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.setns(self.handle, os.CLONE_NEWNET)
            try:
                yield
            finally:
                os.setns(before, os.CLONE_NEWNET)
        finally:
            os.close(before)

    def run(self, command: str) -> None:
        """Run a program inside. Raises NoNamespaces where it fails."""
        with self.inside():
            done = subprocess.run(command.split(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
        if done.returncode:
            raise NoNamespaces(f"`{command}` failed: {(done.stderr or done.stdout).strip()}")


def _own() -> str:
    return f"/proc/self/task/{threading.get_native_id()}/ns/net"


@contextmanager
def joined(port: int) -> Iterator[tuple[Namespace, Namespace]]:
    """A client's and a gateway's namespace; what the client sends to ports 80 and 443 goes to a port of the gateway.

    Raises NoNamespaces.
    """
    if not hasattr(os, "setns") or os.geteuid() != 0:
        raise NoNamespaces("only root on Linux can make network namespaces")
    missing = [tool for tool in ("ip", "nft") if shutil.which(tool) is None]
    if missing:
        raise NoNamespaces(f"not installed: {', '.join(missing)} (Debian's iproute2 and nftables)")
    with ExitStack() as stack:
        client, gateway = (stack.enter_context(Namespace()) for _ in range(2))
        client.run(f"ip link add cable type veth peer name cable netns /proc/{os.getpid()}/fd/{gateway.handle}")
        gateway.run(f"ip address add {GATEWAY}/24 dev cable")
        gateway.run(f"ip address add {PROVIDER}/32 dev lo")
        client.run(f"ip address add {_CLIENT}/24 dev cable")
        for each in (client, gateway):
            each.run("ip link set lo up")
            each.run("ip link set cable up")
        client.run(f"ip route add default via {GATEWAY}")
        gateway.run("nft add table ip taken")
        gateway.run("nft add chain ip taken before { type nat hook prerouting priority -100 ; }")
        gateway.run(f"nft add rule ip taken before iifname cable tcp dport {{ 80, 443 }} redirect to :{port}")
        yield client, gateway
