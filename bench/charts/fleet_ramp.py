"""A fleet's ramp: connections and memory against time, up to the summit."""

from __future__ import annotations

from bench.charts.style import EndLabel, Plan, Skip, Slide, count, listing, number, value_axis
from bench.fleet.schema import FleetTrialRecord
from bench.fleet.store import FleetRecords

NAME = "fleet-ramp"
TITLE = "Connections and memory against time, up to the summit"
GIB = 1024.0**3


def summits(records: FleetRecords) -> dict[str, FleetTrialRecord]:
    """One valid trial of each backend, of those that held the most."""
    watched = [t for t in records.ok("hold") if t.opened_s is not None and len(t.samples) > 1]
    top = max((trial.connections for trial in watched), default=0)
    return {trial.backend: trial for trial in watched if trial.connections == top}


def plan(records: FleetRecords) -> Plan | Skip:
    """Two panels on one clock: what the servers hold, and what the machines have given for it."""
    trials = summits(records)
    if not trials:
        return Skip(NAME, TITLE, "no valid trial that held connections")
    top = max(trials.values(), key=lambda t: t.connections)
    finding = (
        f"{top.backend}: {count(top.connections)} connections open at once, after "
        f"{top.opened_s:.0f} s"
    )

    def draw(slide: Slide) -> None:
        names = list(trials)
        size = slide.label_size(len(names) * 2)
        room = slide.label_room(names, size)
        upper, lower = slide.panels(rows=2, right=room, sharex=True)
        held_ends: list[EndLabel] = []
        memory_ends: list[EndLabel] = []
        for label, trial in trials.items():
            look = slide.look.of(label)
            xs = [sample.at_s for sample in trial.samples]
            ys = [float(sample.connections) for sample in trial.samples]
            upper.plot(xs, ys, color=look.colour, linewidth=look.width, zorder=look.order)
            held_ends.append(EndLabel(label, xs[-1], ys[-1], look.colour))
            used = [
                (sample.at_s, max(sample.used_bytes, 0) / GIB)
                for sample in trial.samples
                if sample.used_bytes is not None
            ]
            if used:
                lower.plot(
                    [x for x, _ in used], [y for _, y in used],
                    color=look.colour, linewidth=look.width, zorder=look.order,
                )  # fmt: skip
                memory_ends.append(EndLabel(label, *used[-1], look.colour))
        held = [float(s.connections) for t in trials.values() for s in t.samples]
        gib = [max(s.used_bytes or 0, 0) / GIB for t in trials.values() for s in t.samples]
        value_axis(upper, [max(held)], words=number)
        value_axis(lower, [max(max(gib), 0.01)], words=number)
        lower.set_xlim(0, max(t.samples[-1].at_s for t in trials.values()) * 1.02)
        lower.set_xlabel("seconds since the word to all workers")
        upper.set_title("connections held, counted by the servers", color=slide.palette.muted)
        lower.set_title("memory of the machines, GiB more than before", color=slide.palette.muted)
        slide.label_ends(upper, held_ends, size)
        slide.label_ends(lower, memory_ends, size)

    workers = listing([f"{label} {trial.workers}" for label, trial in trials.items()])
    alt = "Two line charts against time. " + "; ".join(
        f"{label} held {count(t.connections)} connections after {t.opened_s:.1f} s"
        for label, t in trials.items()
    )
    return Plan(
        name=NAME,
        title=TITLE,
        finding=finding,
        subtitle=f"All that held so many, with their worker processes: {workers}",
        alt=alt + ".",
        draw=draw,
        notes=("Memory is that of both ends: clients, servers and the kernel.",),
    )
