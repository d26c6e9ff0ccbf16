"""The record of a crawl that was interrupted."""

from __future__ import annotations

from bench.schema.base import Record, Seconds


class Cancelled(Record):
    """A crawl that was interrupted with an exchange of every slot in flight.

    The server held all answers. The harness sent SIGINT, as Ctrl-C does. Times count from the
    moment when the crawl noticed it, which it does once per tick.
    """

    in_flight: int
    noticed_s: Seconds  # from the signal until then
    returned_s: Seconds  # until the call of the crawl returned
    first_closed_s: Seconds  # until the server had seen the first connection end
    closed_s: Seconds  # until it had seen the last one end
    client_cpu_s: Seconds  # the client's processor time until the call returned
    server_work_s: Seconds  # the server's, from the signal until it had seen the last end
    switch_interval_s: Seconds  # Python's own, whatever filled the barrier
    left: dict[str, int]  # in the client's process afterwards, more than before: kind -> how many
    open_at_server: int  # connections that never ended
