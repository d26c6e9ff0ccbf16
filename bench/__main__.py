"""Measure, report, compare: ``python -m bench COMMAND``."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from bench import backends, interpreters, workloads
from bench.errors import BenchError
from bench.process import RESULTS

if TYPE_CHECKING:
    from bench.runner import Options

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
LEAST_SPACE = 1 << 30
"""Bytes of address space for numpy, scipy and matplotlib, with room to work."""

ABOUT = """\
One web crawler, several concurrency models, one local fixture server: which
model costs what? Every trial is a fresh process on a processor of its own,
checked for correctness while it is timed.

  python -m bench list                      what can be measured
  python -m bench doctor                    what on this machine would spoil it
  python -m bench run --profile smoke       measure a little of everything
  python -m bench interpreters              the four models on every CPython found
  python -m bench report results/CAMPAIGN   rebuild its page, charts and tables
  python -m bench export results/CAMPAIGN   its trials as CSV, JSON or Parquet
  python -m bench bundle results/CAMPAIGN   one archive that others can verify
  python -m bench cite results/CAMPAIGN     how to cite it
  python -m bench findings results/CAMPAIGN its findings in a few sentences
  python -m bench compare A B               what changed between two campaigns
  python -m bench claims                    famous sentences, then and now
  python -m bench tracebacks                one parse error in each of the four models
  python -m bench micro                     what a page's processor time is made of
  python -m bench sidebyside                the four models beside each other, as slides
"""
EXITS = "Exit codes: 0 done, 1 something failed or got worse, 2 bad usage, 130 interrupted."


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main_parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=ABOUT,
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = main_parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, short: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=short,
            description=f"{short[0].upper()}{short[1:]}.\n\n{text}",
            epilog=EXITS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    listing = command(
        "list",
        "list profiles, workloads and backends",
        "A point such as throughput-100 is a workload at one setting; a profile\n"
        "says how many blocks of each point are measured.",
    )
    listing.add_argument("--profile", help="only this profile's points")
    listing.add_argument("--json", action="store_true", help="one JSON object on stdout")

    running = command(
        "run",
        "measure: run a campaign, then draw it",
        "Runs blocks of trials in a balanced random order and writes every trial to\n"
        "results/CAMPAIGN/trials.jsonl as soon as it is done. Ctrl-C stops in good\n"
        "order and draws what there is; --resume CAMPAIGN finishes it later.\n\n"
        "  python -m bench run                                  quick profile\n"
        "  python -m bench run --profile full --blocks 20       tighter intervals\n"
        "  python -m bench run --only throughput-100 --backends threads,callbacks",
    )
    running.add_argument(
        "--profile", default="quick", help="smoke, quick or full (default: quick); see list"
    )
    running.add_argument(
        "--backends", type=names, metavar="A,B", help="only these backends (default: all installed)"
    )
    campaign_options(running)

    releases = command(
        "interpreters",
        "measure the models on several CPython releases",
        "One campaign, all interpreters in the same blocks: the four models on every\n"
        f"CPython found on PATH and under pyenv ({', '.join(interpreters.RELEASES)}; t: without\n"
        "the interpreter lock). Workers see the standard library only. An interpreter\n"
        "that is missing is said, and recorded.\n\n"
        "  python -m bench interpreters\n"
        "  python -m bench interpreters /opt/python3.14t/bin/python3.14t /usr/bin/python3.13",
    )
    releases.add_argument(
        "pythons", nargs="*", type=Path, metavar="PYTHON", help="these instead of those found"
    )
    releases.add_argument(
        "--backends", type=names, metavar="A,B", help="these backends, not the four models"
    )
    campaign_options(releases)
    releases.set_defaults(profile="interpreters")

    reporting = command(
        "report",
        "rebuild the page, every chart and every table of a campaign",
        "Needs the campaign's trials.jsonl and nothing else; works on any machine.\n"
        "report.html is the page: one file, with all charts in it.",
    )
    reporting.add_argument("campaign", type=Path, help="folder under results/, or a trials.jsonl")
    reporting.add_argument("--out", type=Path, help="write there instead of beside the records")
    reporting.add_argument(
        "--everything", action="store_true", help="charts also square, and as PDF: a minute more"
    )

    citing = command(
        "cite",
        "say how to cite a campaign",
        "One sentence and a BibTeX entry, with the campaign's id and the checksum of\nits records.",
    )
    citing.add_argument("campaign", type=Path, help="folder under results/, or a trials.jsonl")

    exporting = command(
        "export",
        "write a campaign's trials as one flat table",
        "One row for each trial, void ones too; docs/exporting.md has an example.\n\n"
        "  python -m bench export results/A > trials.csv\n"
        "  python -m bench export results/A --format parquet --out trials.parquet",
    )
    exporting.add_argument("campaign", type=Path, help="folder under results/, or a trials.jsonl")
    exporting.add_argument(
        "--format", choices=("csv", "json", "parquet"), default="csv", help="default: csv"
    )
    exporting.add_argument("--out", type=Path, help="the file (default: standard output)")

    bundling = command(
        "bundle",
        "make one archive of a campaign, or verify one",
        "Records, charts, page, tables and checksums in one tar file, all made anew from\n"
        "the records: the same records give the same bytes.\n\n"
        "  python -m bench bundle results/A                  writes c10k-<campaign>.tar\n"
        "  python -m bench bundle --verify FILE              are its checksums right?\n"
        "  python -m bench bundle --verify FILE --rebuild    and does it come out the same?\n\n"
        "Another release of matplotlib may draw other bytes; the records decide.",
    )
    bundling.add_argument("campaign", type=Path, help="folder under results/; or the archive")
    bundling.add_argument("--out", type=Path, help="the archive (default: in this folder)")
    bundling.add_argument("--verify", action="store_true", help="check an archive instead")
    bundling.add_argument(
        "--rebuild", action="store_true", help="with --verify: make its files anew and compare"
    )

    finding = command(
        "findings",
        "say in a few sentences what a campaign found",
        "Markdown, made from trials.jsonl alone. The README quotes results/reference:\n\n"
        "  python -m bench findings results/reference --into README.md\n"
        "  python -m bench findings results/interpreters --into docs/interpreters.md",
    )
    finding.add_argument("campaign", type=Path, help="folder under results/, or a trials.jsonl")
    finding.add_argument(
        "--into", type=Path, metavar="README", help="renew its findings and its gallery instead"
    )

    comparing = command(
        "compare",
        "compare two campaigns, backend by backend",
        "B over A with 95 % intervals, environment differences first. Exit code 1\n"
        "when something got worse beyond the noise floor: fit for CI.",
    )
    comparing.add_argument("a", type=Path, metavar="A", help="the campaign to compare with")
    comparing.add_argument("b", type=Path, metavar="B", help="the campaign to judge")
    comparing.add_argument(
        "--force", action="store_true", help="give ratios even across different machines"
    )
    comparing.add_argument("--json", action="store_true", help="one JSON object on stdout")

    claiming = command(
        "claims",
        "hold famous sentences about concurrency against what is measured",
        "Each claim is a file in bench/claims/sentences/. Numbers come from the campaigns'\n"
        "trials, and from small experiments that --measure runs and keeps beside the first\n"
        "campaign. Writes claims.md and a chart; without --measure nothing is run. The\n"
        "campaign's page has them too, when `report` makes it anew.\n\n"
        "  python -m bench claims                               by the reference campaign\n"
        "  python -m bench claims results/A --measure           experiments first: 3 minutes\n"
        "  python -m bench claims results/A results/B           B answers what A cannot",
    )
    claiming.add_argument(
        "campaign",
        type=Path,
        nargs="*",
        help="folders under results/ (default: reference, and claims if it is there)",
    )
    claiming.add_argument("--measure", action="store_true", help="run the experiments first")
    claiming.add_argument(
        "--experiments", type=names, metavar="A,B", help="with --measure: only these"
    )
    claiming.add_argument(
        "--repeats",
        type=positive,
        metavar="N",
        help="with --measure: times each experiment is run (default: 10)",
    )
    claiming.add_argument(
        "--out", type=Path, help="the page (default: claims.md beside the first campaign)"
    )

    ripping = command(
        "tracebacks",
        "raise the same parse error in each model and compare what is left of the stack",
        "Crawls two pages with each of the four models, one of them broken, in fresh\n"
        "processes. Takes two seconds; prints the page, or writes it with --out.",
    )
    ripping.add_argument("--out", type=Path, help="write the Markdown page there")

    siding = command(
        "sidebyside",
        "set the four model files beside each other, as slides",
        "Writes one HTML file that needs no network: a slide for each section, set as\n"
        "large as its code allows, with the lines marked where the model waits. Print it\n"
        "for a PDF with one slide on each page.",
    )
    siding.add_argument(
        "--out",
        type=Path,
        default=Path("side-by-side.html"),
        help="the slides (default: side-by-side.html)",
    )
    siding.add_argument("--page", type=Path, help="write the Markdown list of sections there too")

    checking = command(
        "check",
        "check that a campaign is whole: records, charts, summary",
        "Exit code 1 with one line for each fault.",
    )
    checking.add_argument("campaign", type=Path, nargs="+", help="folder under results/")

    micro = command(
        "micro",
        "time single operations, count them, and add them up to a page",
        "Runs bench/micro with pytest-benchmark, counts what each model does for a page\n"
        "in a crawl under a profile hook, measures pages in ordinary trials, and shows how\n"
        "much of each page's processor time price times number explains.\n\n"
        "  python -m bench micro                      about two minutes\n"
        "  python -m bench micro --redraw             table and chart from DIR/micro.json",
    )
    micro.add_argument(
        "--out", type=Path, default=RESULTS / "micro", metavar="DIR", help="where all of it goes"
    )
    micro.add_argument("--redraw", action="store_true", help="measure nothing; read DIR/micro.json")
    micro.add_argument(
        "--backends", type=names, metavar="A,B", help="only these (default: the four models)"
    )
    micro.add_argument(
        "--pages", type=positive, default=5000, metavar="N", help="pages of the site"
    )
    micro.add_argument("--slots", type=positive, default=100, metavar="N", help="slots of a trial")
    micro.add_argument(
        "--blocks", type=positive, default=5, metavar="N", help="trials of each backend"
    )
    micro.add_argument(
        "--rounds", type=positive, default=100, metavar="N", help="batches of a micro-benchmark"
    )
    micro.add_argument("--seed", type=int, help="order of the trials (default: drawn, recorded)")
    micro.add_argument("--json", action="store_true", help="one JSON object on stdout")

    # Their own options and help are theirs: main() hands them over unseen.
    commands.add_parser(
        "doctor", help="say what on this machine would spoil the measurements", add_help=False
    )
    commands.add_parser(
        "fleet", help="measure with many processes, on one host or many", add_help=False
    )
    return main_parser


def campaign_options(running: argparse.ArgumentParser) -> None:
    """The options of every command that measures."""
    running.add_argument("--only", type=names, metavar="W,P", help="only these workloads or points")
    running.add_argument(
        "--blocks", type=positive, metavar="N", help="blocks of every point, not the profile's"
    )
    running.add_argument("--seed", type=int, help="order of the blocks (default: drawn, recorded)")
    running.add_argument(
        "--deadline", type=float, metavar="S", help="end a trial after S seconds, not the point's"
    )
    running.add_argument(
        "--results", type=Path, default=RESULTS, metavar="DIR", help="where campaigns go"
    )
    running.add_argument(
        "--resume", type=Path, metavar="CAMPAIGN", help="finish this campaign; its options hold"
    )
    running.add_argument("--no-charts", action="store_true", help="record only")
    running.add_argument("--json", action="store_true", help="one JSON object on stdout at the end")


def names(text: str) -> list[str]:
    """A comma-separated list."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("no name given")
    return found


def positive(text: str) -> int:
    """A whole number above 0."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, not {text!r}")
    return number


def do_list(arguments: argparse.Namespace, console: Console) -> int:
    """``bench list``."""
    chosen = [arguments.profile] if arguments.profile else list(workloads.PROFILES)
    profiles = [workloads.profile(name) for name in chosen]
    known = backends.look_up()
    if arguments.json:
        listed = {
            "profiles": {
                profile.name: {
                    "summary": profile.summary,
                    "points": [
                        {"point": p.id, "workload": p.workload, "blocks": p.blocks, **p.params}
                        for p in profile.points
                    ],
                }
                for profile in profiles
            },
            "backends": [asdict(backend) for backend in known],
        }
        print(json.dumps(listed))
        return DONE
    for profile in profiles:
        console.print(f"\n[bold]{profile.name}[/bold]: {profile.summary}", highlight=False)
        for point in profile.points:
            more = f", delay {point.delay}" if point.delay != "none" else ""
            console.print(
                f"  {point.id:<16} {point.blocks:>2} × {point.site_name or point.site}, "
                f"{point.slots} slots{more}",
                highlight=False,
            )
    console.print("\n[bold]backends[/bold]")
    for backend in known:
        console.print(f"  {backend.name:<16} {backend.missing or backend.summary}", highlight=False)
    return DONE


def do_run(arguments: argparse.Namespace, console: Console) -> int:
    """``bench run``."""
    return measure(options(arguments), arguments, console)


def do_interpreters(arguments: argparse.Namespace, console: Console) -> int:
    """``bench interpreters``."""
    from bench import across

    given = arguments.pythons
    found, missing = interpreters.chosen(given) if given else interpreters.find()
    for each in found:
        build = across.build_words(each.record.build)
        console.print(f"CPython {each.name}: {build}", highlight=False)
    if differing := across.differing_builds([each.record for each in found]):
        console.print(f"WARNING: {differing}", style="bold yellow", highlight=False)
    for release, reason in missing.items():
        console.print(f"NOT MEASURED: CPython {release}: {reason}", style="bold yellow")
    if not found:
        raise interpreters.InterpreterError("no CPython found: give the paths of some")
    todo = options(arguments)
    todo.interpreters, todo.missing = found, missing
    return measure(todo, arguments, console)


def options(arguments: argparse.Namespace) -> Options:
    """What to run, from the command line."""
    from bench.runner import Options

    return Options(
        profile=arguments.profile,
        backends=arguments.backends,
        only=arguments.only,
        blocks=arguments.blocks,
        seed=arguments.seed,
        results=arguments.results,
        resume=arguments.resume,
        deadline_s=arguments.deadline,
    )


def measure(todo: Options, arguments: argparse.Namespace, console: Console) -> int:
    """Run a campaign, draw it, and say how it went."""
    from bench import output, runner, store

    finished = runner.run(todo, console)
    bad = [t for t in finished.records.trials if t.status in ("failed", "void")]
    if finished.records.trials and not arguments.no_charts:
        file = finished.folder / store.FILE_NAME
        output.write(finished.records, finished.folder, console, file)
    if arguments.json:
        outcome = {
            "campaign": finished.records.campaign.campaign,
            "folder": str(finished.folder),
            "trials": len(finished.records.trials),
            "bad": len(bad),
            "complete": finished.end.complete,
            "reason": finished.end.reason,
        }
        print(json.dumps(outcome))
    return runner.exit_code(finished, console)


def do_report(arguments: argparse.Namespace, console: Console) -> int:
    """``bench report``."""
    from bench import output, store

    file = store.trials_file(arguments.campaign)
    records = store.load(file)
    if records.torn_bytes:
        console.print(f"note: the last record is torn ({records.torn_bytes} bytes), left out")
    if not records.trials:
        raise store.StoreError(f"{file}: no trial was recorded; there is nothing to report")
    folder = arguments.out or file.parent
    output.write(records, folder, console, file, everything=arguments.everything)
    return DONE


def do_cite(arguments: argparse.Namespace, console: Console) -> int:
    """``bench cite``."""
    from bench import cite, store

    file = store.trials_file(arguments.campaign)
    campaign, sha256 = store.load(file).campaign, cite.checksum(file)
    print(cite.text(campaign, sha256), cite.bibtex(campaign, sha256), sep="\n\n", end="")
    return DONE


def do_export(arguments: argparse.Namespace, console: Console) -> int:
    """``bench export``."""
    from bench import export, store

    records = store.load(store.trials_file(arguments.campaign))
    if arguments.out is not None:
        export.write(records, arguments.out, arguments.format)
    elif arguments.format == "parquet":
        raise export.ExportError("Parquet is no text: say where it goes with --out FILE")
    else:
        text = export.to_csv(records) if arguments.format == "csv" else export.to_json(records)
        sys.stdout.write(text)
    return DONE


def do_bundle(arguments: argparse.Namespace, console: Console) -> int:
    """``bench bundle``."""
    from bench import bundle, store

    if not arguments.verify:
        if arguments.rebuild:
            raise bundle.BundleError("--rebuild goes with --verify")
        records_file = store.trials_file(arguments.campaign)
        campaign = store.load(records_file).campaign.campaign
        file = arguments.out or Path(f"c10k-{Path(campaign).name}.tar")
        count = bundle.write(records_file, file)
        console.print(f"{file}: {count} files", highlight=False, markup=False)
        return DONE
    found = bundle.faults(arguments.campaign)
    if arguments.rebuild and not found:
        found = [
            f"{name}: comes out otherwise here" for name in bundle.differences(arguments.campaign)
        ]
    for fault in found:
        console.print(fault, highlight=False, markup=False)
    if found:
        return FAILED
    how = "every checksum is right, and every file comes out the same"
    words = how if arguments.rebuild else "every checksum is right"
    console.print(f"{arguments.campaign}: {words}", highlight=False, markup=False)
    return DONE


def do_findings(arguments: argparse.Namespace, console: Console) -> int:
    """``bench findings``."""
    from bench import findings, gallery, output, store

    file = store.trials_file(arguments.campaign)
    records = store.load(file).all
    said = findings.markdown(records)
    if arguments.into is None:
        print(said)
        return DONE
    page, charts = arguments.into, file.parent / output.CHARTS
    address = Path(os.path.relpath(charts, page.parent)).as_posix()
    try:
        text = findings.with_block(page.read_text(), said)
        shown = gallery.markdown(records, address, charts)
        text = findings.with_block(text, shown, gallery.BEGIN, gallery.END)
    except (OSError, ValueError) as error:
        raise store.StoreError(
            f"{page}: no such file, or without the marks for findings and gallery ({error})"
        ) from None
    output.write_text(page, text)
    return DONE


def do_compare(arguments: argparse.Namespace, console: Console) -> int:
    """``bench compare``."""
    from bench import compare, store

    first, second = (store.load(path) for path in (arguments.a, arguments.b))
    found = compare.compare(first, second, force=arguments.force)
    if arguments.json:
        print(json.dumps(asdict(found)))
    else:
        compare.show(found, console)
    return FAILED if found.regressions else DONE


def do_check(arguments: argparse.Namespace, console: Console) -> int:
    """``bench check``."""
    from bench import check, store

    code = DONE
    for folder in arguments.campaign:
        found = check.check(store.trials_file(folder).parent)
        for fault in found:
            console.print(f"{folder.name}: {fault}", highlight=False, markup=False)
        if found:
            code = FAILED
        else:
            console.print(f"{folder.name}: whole", highlight=False)
    return code


def do_claims(arguments: argparse.Namespace, console: Console) -> int:
    """``bench claims``."""
    from bench import store
    from bench.claims import measure, publish

    campaigns = arguments.campaign or publish.usual()
    folders = [store.trials_file(campaign).parent for campaign in campaigns]
    if arguments.measure:
        chosen = measure.choose(arguments.experiments)
        measure.run(folders[0], chosen, arguments.repeats or measure.REPEATS, console)
    elif arguments.experiments or arguments.repeats:
        raise measure.MeasureError("--experiments and --repeats go with --measure")
    publish.write(folders, arguments.out or folders[0] / publish.PAGE, console)
    return DONE


def do_tracebacks(arguments: argparse.Namespace, console: Console) -> int:
    """``bench tracebacks``."""
    from bench import output
    from bench.source import exhibit, stack_ripping

    page = exhibit.markdown(stack_ripping.rip_all())
    if arguments.out is None:
        print(page, end="")
    else:
        output.write_text(arguments.out, page)
        console.print(f"page: {arguments.out}", highlight=False)
    return DONE


def do_micro(arguments: argparse.Namespace, console: Console) -> int:
    """``bench micro``."""
    from bench.micro import account, measure, report

    if arguments.redraw:
        record = account.load(arguments.out)
    else:
        chosen = {field.name: getattr(arguments, field.name) for field in fields(measure.Options)}
        record = measure.run(measure.Options(**chosen), console)
    report.write(record, arguments.out, console)
    console.print(f"record, summary and charts: {arguments.out}", highlight=False)
    made = account.accounts(record)
    if arguments.json:
        print(json.dumps({each.backend: each.share for each in made}))
    void = [reason for model in record.models.values() for reason in model.void]
    for reason in void:
        console.print(f"a trial does not count: {reason}", highlight=False, markup=False)
    return FAILED if void else DONE


def do_sidebyside(arguments: argparse.Namespace, console: Console) -> int:
    """``bench sidebyside``."""
    from bench import output
    from bench.source import sidebyside, stack_ripping

    output.write_text(arguments.out, sidebyside.html(stack_ripping.rip_all()))
    console.print(f"slides: {arguments.out}", highlight=False, soft_wrap=True)
    if arguments.page is not None:
        output.write_text(arguments.page, sidebyside.page())
        console.print(f"page: {arguments.page}", highlight=False, soft_wrap=True)
    return DONE


COMMANDS = {
    "list": do_list,
    "run": do_run,
    "interpreters": do_interpreters,
    "report": do_report,
    "cite": do_cite,
    "export": do_export,
    "bundle": do_bundle,
    "findings": do_findings,
    "compare": do_compare,
    "check": do_check,
    "claims": do_claims,
    "tracebacks": do_tracebacks,
    "micro": do_micro,
    "sidebyside": do_sidebyside,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        return run_command(given)
    except BenchError as error:
        print(f"python -m bench: {error}", file=sys.stderr)
        return USAGE
    except MemoryError:
        print(
            "python -m bench: out of memory: raise ulimit -v, or end other programs; "
            "what was recorded is safe, go on with --resume",
            file=sys.stderr,
        )
        return FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has left. Python would complain again when it flushes at
        # exit, so give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def run_command(given: list[str]) -> int:
    """Find the command and run it."""
    # Libraries that cannot be mapped fail in many ways, and each with a traceback.
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < LEAST_SPACE:
        raise BenchError(
            f"the harness needs an address space of 1 GiB, and may have {space >> 20} MiB: "
            "raise ulimit -v"
        )
    if given[:1] == ["doctor"]:
        from bench import doctor

        code = doctor.main(given[1:])
    elif given[:1] == ["fleet"]:
        from bench.fleet import command

        code = command.main(given[1:])
    else:
        arguments = parser().parse_args(given)
        # With --json, standard output is for the one object.
        console = Console(stderr=getattr(arguments, "json", False), emoji=False)
        code = COMMANDS[arguments.command](arguments, console)
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
