"""The floor: the least that Python can do to serve pages.

One selector; accept, receive, look the first line up, send. No parser, no limits, no deadlines, no
tally. A request arrives in one piece, and an answer fits the kernel's buffer, or this server
breaks. Whatever a model costs on top of it is the parts that all share, or the model itself.
"""

from __future__ import annotations

import socket
from selectors import EVENT_READ, DefaultSelector
from typing import cast

from server.models.service import RECV_SIZE, TICK_S, Service, Stop


def serve(service: Service) -> None:
    """Serve with nothing but a loop."""
    selector = DefaultSelector()
    listening, routes = service.listening, service.site.routes
    selector.register(listening, EVENT_READ)
    with Stop(service) as stop:
        service.ready()
        select = selector.select
        while not stop.asked():
            for key, _ in select(TICK_S):
                sock = cast(socket.socket, key.fileobj)
                if sock is listening:
                    client, _ = listening.accept()
                    selector.register(client, EVENT_READ)
                elif data := sock.recv(RECV_SIZE):
                    sock.send(routes[data[: data.index(b" HTTP/1.1")]].payload)
                else:
                    selector.unregister(sock)
                    sock.close()
    for key in list(selector.get_map().values()):
        cast(socket.socket, key.fileobj).close()
    selector.close()
