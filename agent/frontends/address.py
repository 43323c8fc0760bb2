"""Where a worker listens, and how the channel to it is set up."""

import os
import socket
import stat

from agent.errors import Refused
from agent.frontends.wire import LONGEST_MESSAGE

LONGEST_PATH = 100
"""Longest path of a Unix socket, bytes; the kernel allows 107."""

CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", LONGEST_MESSAGE),
    ("grpc.max_send_message_length", LONGEST_MESSAGE),
)
SERVER_OPTIONS = (
    *CHANNEL_OPTIONS,
    # Without it a second worker on the same port would start, and the two would share the calls.
    ("grpc.so_reuseport", 0),
)
CLIENT_OPTIONS = (
    *CHANNEL_OPTIONS,
    ("grpc.enable_http_proxy", 0),
    # A worker that was restarted is found again within the time that a call waits for it.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.use_local_subchannel_pool", 1),
)


def check_address(address: str) -> str:
    """`address` itself: `unix:/path` or a loopback `host:port`. Raises `Refused` on anything else.

    The wire is neither encrypted nor authenticated, so it stays on this machine.
    """
    scheme, _, path = address.partition(":")
    if scheme == "unix":
        if not os.path.isabs(path) or len(path.encode()) > LONGEST_PATH:
            raise Refused(f"{address}: give an absolute path of at most {LONGEST_PATH} bytes after unix:")
        return address
    host, _, port = address.rpartition(":")
    if host not in ("127.0.0.1", "[::1]", "localhost") or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise Refused(f"{address}: give unix:/path, or 127.0.0.1:port (workers are reached on this machine only)")
    return address


def check_unused(address: str) -> None:
    """Raises `Refused` when somebody listens on the Unix socket already, or something else is in its place.

    gRPC itself would take the path away from a living worker without a word.
    """
    if not address.startswith("unix:"):
        return
    path = address.removeprefix("unix:")
    if not os.path.isdir(os.path.dirname(path)):
        raise Refused(f"{address}: the folder {os.path.dirname(path)} does not exist")
    if os.path.exists(path) and not stat.S_ISSOCK(os.stat(path).st_mode):
        raise Refused(f"{address}: there is a file that is no socket; choose another path")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return
        except OSError as error:
            raise Refused(f"{address} cannot be used: {error.strerror}") from None
    raise Refused(f"{address}: another worker listens there; stop it or choose another path")
