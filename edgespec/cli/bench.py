"""`edgespec bench`: what is measured and where it goes; `compare` and `show` read results."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from edgespec.cli.bench_modes import check_modes
from edgespec.cli.doors import Shared
from edgespec.cli.flags import THREADS, log_flags
from edgespec.cli.numbers import Real, Whole
from edgespec.cli.outputs import check_file, check_folder, kept
from edgespec.cli.placing import PLACING_NAMES, loading_of, placing_flags
from edgespec.errors import UsageError

if TYPE_CHECKING:
    from edgespec.api.types import DraftVocab
    from edgespec.bench.main import Wish
    from edgespec.bench.measure import Plan
    from edgespec.bench.result import Result
    from edgespec.bench.score import Score
    from edgespec.bench.suite import BenchPrompt
    from edgespec.cli.render import Screen

_QUICK_TOKENS = 32
_QUICK_SUITE = "short"
_QUICK_MINUTES = 1.5
_MINUTES = 15.0
_MOST_ROUNDS = 1000
"""All turns are drawn before the first one."""
_FILE = click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path)
_OUT = click.Path(dir_okay=False, writable=True, path_type=Path)
_IN = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_STDOUT = Path("-")
_FOLDER = click.Path(file_okay=False, path_type=Path)
_LANGUAGES = ("en", "es", "zh")


@dataclass(frozen=True, slots=True)
class _Flags:
    """What was said; None where nothing was."""

    target: str | None
    draft: str | None
    draft_vocab: "DraftVocab"
    arms: str
    suite: str | None
    lang: tuple[str, ...]
    prompt_files: tuple[Path, ...]
    quick: bool
    max_tokens: int | None
    temperatures: tuple[float, ...]
    rounds: int
    minutes: float | None
    seed: int
    streams: str
    peers: tuple[str, ...]
    llama_server: str | None
    threads: int | None
    json_file: Path | None
    markdown: Path | None
    plots: Path | None
    record: Path | None
    with_text: bool
    replay: tuple[Path, ...]


@click.group(invoke_without_command=True)
@click.option("-t", "-m", "--target", metavar="MODEL", help="Model to measure.")
@click.option("--draft", metavar="MODEL|off|auto", help="Draft model. Default: auto.")
@click.option("--draft-vocab", type=click.Choice(("same", "intersect")), default="same",
              help="A draft of another vocabulary: refuse, or use what both share.")  # fmt: skip
@click.option("--drafters", "arms", metavar="NAME,...", default="",
              help="For example none,suffix,auto. Default: all chains, and auto.")  # fmt: skip
@click.option("--suite", metavar="NAME,...",
              help="short, long, full, or kinds of work, e.g. json. Default: full.")  # fmt: skip
@click.option("--lang", type=click.Choice((*_LANGUAGES, "all")), multiple=True,
              help="Language of the prompts (repeatable). Default: en.")  # fmt: skip
@click.option("--prompts", "prompt_files", type=_IN, multiple=True, metavar="FILE",
              help="Your own prompts instead: text, .jsonl, .toml (repeatable).")  # fmt: skip
@click.option("--quick", is_flag=True, help="Under three minutes: short prompts and answers.")
@click.option("-n", "--max-tokens", type=Whole(1), metavar="N",
              help="Per answer. Default: as each prompt says.")  # fmt: skip
@click.option("--temp", "temperatures", type=Real(0), multiple=True, metavar="T",
              help="Temperature (repeatable). Default: 0 and 0.7.")  # fmt: skip
@click.option("--rounds", type=Whole(1, _MOST_ROUNDS), default=1, metavar="N",
              help="Rounds of two turns. Default: 1.")  # fmt: skip
@click.option("--minutes", type=Real(0), metavar="N",
              help="Begin no turn that would end later; 0: no limit. Default: 15.")  # fmt: skip
@click.option("--seed", type=Whole(0, 2**63 - 1), default=1, metavar="N",
              help="Of the order of prompts and arms. Default: 1.")  # fmt: skip
@click.option("--streams", default="", metavar="N,...",
              help="Also with so many readers at once, for example 1,2,4,8.")  # fmt: skip
@click.option("--peer", "peers", multiple=True, metavar="NAME[:WAY][=WHERE]",
              help="Another engine in the same run (repeatable); all: what is here.")  # fmt: skip
@click.option("--llama-server", metavar="PATH", help="The binary, unless it is on PATH.")
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@placing_flags
@click.option("--json", "json_file", type=_FILE, metavar="FILE|-", help="All figures as JSON.")
@click.option("--markdown", type=_OUT, metavar="FILE", help="The report as Markdown.")
@click.option("--plots", type=_FOLDER, metavar="FOLDER", help="Plots as SVG and PNG.")
@click.option("--record", type=_OUT, metavar="FILE",
              help="Instead: write what every drafter would have proposed. "
              "With --drafters lookahead its windows are run, which takes long.")  # fmt: skip
@click.option("--with-text", is_flag=True, help="Record the tokens too; else no text is kept.")
@click.option("--replay", type=_IN, multiple=True, metavar="FILE",
              help="Instead: replay a recording by all policies (repeatable).")  # fmt: skip
@log_flags
@click.pass_context
def bench(ctx: click.Context, /, **said: Any) -> int | None:
    """Measure every drafter against plain decoding, in turns, on this machine.

    Ctrl-C ends it with a report of what is measured; a second one at once.
    Exits with 1 when a greedy text is not plain decoding's and no near-tie explains it.
    """
    check_modes(ctx)
    if ctx.invoked_subcommand is not None:
        return None
    placing = {name: said.pop(name) for name in PLACING_NAMES}
    flags, shared = _Flags(**said), ctx.obj
    if flags.replay:
        from edgespec.cli.bench_replay import replayed

        return replayed(shared.screen, flags.replay)
    if flags.target is None:
        raise UsageError("which model is to be measured?", hint="edgespec bench --target MODEL")
    from edgespec.bench.suite import documents_of

    _check_places(flags)
    prompts = _prompts(flags)
    documents = documents_of(prompts)
    wish = replace(_wish(flags), placing=loading_of(placing), documents=documents)
    if flags.record is not None:
        return _record(shared.screen, flags, wish, prompts, flags.record)
    from edgespec.bench.chosen import chosen
    from edgespec.bench.main import Ears, run
    from edgespec.bench.report import score_line
    from edgespec.cli.interrupts import stopping
    from edgespec.cli.wording import loading_line

    screen = shared.screen

    def show_scores(found: "list[Score]", n_turns: int) -> None:
        for score in found:
            screen.note(score_line(score, n_turns))

    stop = Event()
    with stopping(stop.set) as caught:
        result = run(
            wish,
            lambda built: _plan(flags, prompts, chosen(_names(flags.arms), built)),
            Ears(
                progress=lambda phase, fraction: screen.status(loading_line(phase, fraction)),
                tell=screen.status,
                show=show_scores,
                is_stopped=stop.is_set,
            ),
        )
        _give(shared, result, flags.json_file, flags.markdown, flags.plots)
    caught.raise_again()
    return 0 if result.is_lossless else 1


def _record(
    screen: "Screen", flags: _Flags, wish: "Wish", prompts: "tuple[BenchPrompt, ...]", file: Path
) -> int:
    """Write what each drafter would have proposed."""
    from edgespec.cli.wording import loading_line
    from edgespec.replay.record import record
    from edgespec.replay.trace import write

    names = _names(flags.arms)
    if ignored := [name for name in names if name != "lookahead"]:
        raise UsageError(
            f"a recording is of all drafters, so --drafters {','.join(ignored)} has no use in it",
            hint="leave it out, or --drafters lookahead for its windows too",
        )
    plan = _plan(flags, prompts, arms=())
    recording = record(
        wish,
        plan,
        progress=lambda phase, fraction: screen.status(loading_line(phase, fraction)),
        tell=screen.status,
        with_tokens=flags.with_text,
        with_windows="lookahead" in names,
    )
    with kept(file):
        write(recording, file)
    recorded = {trace.prompt for trace in recording.traces}
    for name in (prompt.name for prompt in prompts if prompt.name not in recorded):
        screen.note(f"left out: {name}: too long for the context")
    screen.note(f"{len(recording.traces)} answers in {file}; edgespec bench --replay {file}")
    return 0


def _check_places(flags: _Flags) -> None:
    """Raises: `UsageError` before anything is measured, for what could not be kept afterwards."""
    for file in (flags.json_file, flags.markdown, flags.record):
        if file not in (None, _STDOUT):
            check_file(file)
    if flags.plots is not None:
        from edgespec.bench.plots import require_matplotlib

        require_matplotlib()
        check_folder(flags.plots)


def _wish(flags: _Flags) -> "Wish":
    from edgespec.bench.chosen import check
    from edgespec.bench.main import Wish
    from edgespec.bench.peers.find import check_once, parse
    from edgespec.core import Sampling

    check(_names(flags.arms), has_draft=flags.draft != "off")
    for temperature in flags.temperatures:
        Sampling(temperature=temperature)
    peers = list(flags.peers)
    if flags.llama_server:
        named = [peer for peer in peers if peer.partition(":")[0] == "llama-server"]
        peers = [peer for peer in peers if peer not in named]
        peers += [f"{peer}={flags.llama_server}" for peer in named or ["llama-server"]]
    wished = [wish for peer in peers for wish in parse(peer)]
    located = {wish.name for wish in wished if wish.where}
    # "all" says nothing about where a peer is that was also named with its place.
    taking_part = tuple(w for w in wished if w.where or w.way or w.name not in located)
    check_once(taking_part)
    return Wish(
        target=flags.target or "",
        draft=None if flags.draft == "off" else flags.draft or "auto",
        draft_vocab=flags.draft_vocab,
        n_threads=flags.threads,
        peers=taking_part,
        streams=_levels(flags.streams),
        has_chain=not flags.quick,
    )


def _levels(said: str) -> tuple[int, ...]:
    try:
        levels = tuple(int(level) for level in _names(said))
    except ValueError as error:
        raise UsageError(f"--streams {said} are no numbers", hint="--streams 1,2,4,8") from error
    if any(not 1 <= level <= 64 for level in levels):
        raise UsageError(f"--streams {said} are not all from 1 to 64", hint="--streams 1,2,4,8")
    return levels


def _names(said: str) -> list[str]:
    return [name.strip() for name in said.split(",") if name.strip()]


def _prompts(flags: _Flags) -> "tuple[BenchPrompt, ...]":
    from edgespec.bench.own_prompts import own_prompts
    from edgespec.bench.suite import prompts

    if flags.prompt_files:
        found = [prompt for file in flags.prompt_files for prompt in own_prompts(file)]
        names = [prompt.name for prompt in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two prompts are called {twice}", hint='give each a "name"')
        return tuple(found)
    suite = flags.suite or (_QUICK_SUITE if flags.quick else "full")
    languages = _LANGUAGES if "all" in flags.lang else flags.lang or ("en",)
    return prompts(suite, languages)


def _plan(flags: _Flags, prompts: "tuple[BenchPrompt, ...]", arms: tuple[str, ...]) -> "Plan":
    from edgespec.bench.measure import Plan

    minutes = flags.minutes
    if minutes is None:
        minutes = _QUICK_MINUTES if flags.quick else _MINUTES
    return Plan(
        prompts=prompts,
        arms=arms,
        temperatures=flags.temperatures or ((0.0,) if flags.quick else (0.0, 0.7)),
        max_tokens=flags.max_tokens or (_QUICK_TOKENS if flags.quick else None),
        n_rounds=flags.rounds,
        seed=flags.seed,
        budget_s=60 * minutes or None,
    )


def _give(
    shared: Shared,
    result: "Result",
    json_file: Path | None,
    markdown: Path | None,
    plots: Path | None,
) -> None:
    """Print the report, and write what was asked for."""
    from edgespec.bench.report import lines

    screen = shared.screen
    text = json.dumps(result.to_dict(), indent=1)
    if json_file == _STDOUT:
        screen.line(text)
    else:
        for line in lines(result):
            screen.line(line)
        if json_file is not None:
            with kept(json_file):
                json_file.write_text(text + "\n", encoding="utf-8")
    drawn: list[Path] = []
    if plots is not None:
        from edgespec.bench.plots import draw

        with kept(plots):
            drawn = draw(result, plots)
        screen.note(f"{len(drawn)} plots in {plots}")
    if markdown is not None:
        from edgespec.bench.markdown import document

        shown = [plot for plot in drawn if plot.suffix == ".svg"]
        text = "\n".join(document(result, shown, markdown.parent))
        with kept(markdown):
            markdown.write_text(text + "\n", encoding="utf-8")


@bench.command()
@click.argument("before", type=_IN)
@click.argument("after", type=_IN)
@log_flags
@click.pass_obj
def compare(shared: Shared, /, before: Path, after: Path) -> int:
    """Tell what changed beyond noise between two results (--json FILE of `bench`)."""
    from edgespec.bench.compare import compared, lines
    from edgespec.bench.result import load

    for line in lines(compared(load(before), load(after))):
        shared.screen.line(line)
    return 0


@bench.command()
@click.argument("file", type=_IN)
@click.option("--markdown", type=_OUT, metavar="FILE", help="The report as Markdown.")
@click.option("--plots", type=_FOLDER, metavar="FOLDER", help="Plots as SVG and PNG.")
@click.option("--readme", is_flag=True, help="Print only a short Markdown table.")
@log_flags
@click.pass_obj
def show(
    shared: Shared, /, file: Path, markdown: Path | None, plots: Path | None, readme: bool
) -> int:
    """Show a result again, in any form."""
    from edgespec.bench.markdown import readme_table
    from edgespec.bench.result import load

    result = load(file)
    if readme and (markdown or plots):
        raise UsageError(
            "--readme prints a table and writes nothing", hint="leave out --markdown and --plots"
        )
    if readme:
        for line in readme_table(result):
            shared.screen.line(line)
        return 0
    _give(shared, result, None, markdown, plots)
    return 0
