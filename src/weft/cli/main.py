"""main is the command `weft`: it reads the command line, runs a command, and prints errors."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from . import commands, replaying
from .parameters import FAILURES
from .places import ConfigError, near

__all__ = ["main"]

ABOUT = (
    "weft trains, evaluates and samples models that a TOML file describes, explains where the "
    "time and memory of a program go, and replays calls that failed."
)

EXAMPLES = {
    "train": """
      weft train examples/configs/digits.toml
      weft train chars.toml --output-dir runs/wide --set model.d_model=256
      weft train chars.toml --set data.stages.Batch.batch_size=8 --set optimizer.name=SM3
    """,
    "eval": """
      weft eval runs/digits
      weft eval runs/digits --checkpoint highest_CategoryAccuracy --set eval.batches=20
    """,
    "sample": """
      weft sample runs/chars --prompt "def main(" --length 300 --temperature 0.7
    """,
    "report": """
      weft report runs/chars -o chars.html
    """,
    "explain": """
      weft explain train.py
      weft explain -o page.html train.py --steps 20
    """,
    "replay": """
      weft replay failed/train_step-20270105-093042-4711-12.safetensors
    """,
    "info": """
      weft info
    """,
    "cache": """
      weft cache
      weft cache --clear
    """,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command `weft`.

    Args:
      arguments: the command line without the name of the program; by default, the process's.
    Returns: the exit status: 0 for success; 1 if a run failed; 2 for a wrong command line or file;
      128 plus the signal's number if a signal ended the run.
    Example:
      >>> main(["report", "missing"])
      2
    """
    parser, commands_of = _parsers()
    try:
        parsed, others = parser.parse_known_args(arguments)
        if others:
            commands_of[parsed.command].no_option(others[0])
    except SystemExit as end:  # --help, or a wrong command line
        return end.code if isinstance(end.code, int) else 2
    try:
        return int(parsed.run_command(parsed))
    except BrokenPipeError:  # `weft sample … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _say(parsed.command, "interrupted")
        return 130
    except (*FAILURES, FloatingPointError, MemoryError) as error:
        if parsed.traceback:
            raise
        _say(parsed.command, str(error))
        return 2 if isinstance(error, ConfigError | FileNotFoundError) else 1


def _say(command: str, message: str) -> None:
    sys.stdout.flush()
    print(f"weft {command}: {message}", file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors end with a fix."""

    def error(self, message: str) -> NoReturn:
        command = self.prog.split()[-1]
        fix = EXAMPLES.get(command, "weft --help").strip().splitlines()[0]
        choice = re.match(r"argument command: invalid choice: '(.*?)'", message)
        if choice:
            message, fix = f"there is no command {choice[1]!r}", near(choice[1], EXAMPLES)
        self.exit(2, f"{self.prog}: {message}\n  fix: {fix}\n")

    def no_option(self, text: str) -> NoReturn:
        """Exits with an error for an unknown option or a surplus argument."""
        name = text.partition("=")[0]
        options = [option for option in self._option_string_actions if option.startswith("--")]
        if name.startswith("-"):
            self.exit(2, f"{self.prog}: there is no option {name}\n  fix: {near(name, options)}\n")
        self.error(f"one argument too many: {text}")


def _parsers() -> tuple[_Parser, dict[str, _Parser]]:
    """The parser of the command line, and those of the commands."""
    parser = _Parser(
        prog="weft",
        description=ABOUT,
        epilog="example:\n  weft train examples/configs/digits.toml\n  weft train --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    all_commands: dict[str, _Parser] = {}
    commands_of = parser.add_subparsers(
        title="commands", dest="command", required=True, parser_class=_Parser
    )

    def command(name: str, about: str, run: object) -> _Parser:
        lines = [line.strip() for line in EXAMPLES[name].strip().splitlines()]
        one = commands_of.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            epilog="\n  ".join(["example:" if len(lines) == 1 else "examples:", *lines]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        one.set_defaults(run_command=run)
        all_commands[name] = one
        one.add_argument("--traceback", action="store_true", help="show where an error was raised")
        return one

    one = command("train", "train a model, or resume a run", commands.train)
    one.add_argument("config", metavar="CONFIG.toml", help="the configuration file")
    one.add_argument("--output-dir", metavar="D", help="the folder of the run")
    one.add_argument("--steps", type=int, metavar="N", help="the number of steps of the whole run")
    _add_set(one)
    one = command("eval", "print the metrics of a trained model", commands.evaluate)
    one.add_argument("run", metavar="RUN", help="the folder of a run, or its file CONFIG.toml")
    _add_checkpoint(one)
    _add_set(one)
    one = command("sample", "print text that a trained language model writes", commands.sample)
    one.add_argument("run", metavar="RUN", help="the folder of a run, or its file CONFIG.toml")
    _add_checkpoint(one)
    _add_sampling(one)
    one = command("report", "write an HTML page of a run, with its curves", commands.report)
    one.add_argument("run", metavar="RUN", help="the folder of a run")
    one.add_argument("-o", "--output", metavar="FILE.html", help="by default RUN/report.html")
    one = command(
        "explain", "run a program, and show where its time and memory go", commands.explain
    )
    one.add_argument("-o", "--output", metavar="FILE.html", help="by default PROGRAM.html, here")
    one.add_argument("program", metavar="PROGRAM.py", help="the program")
    one.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="its command line")
    _add_replay(command("replay", "run a failed call again, up to its failure", replaying.replay))
    command("info", "print versions, devices, caches and switches", commands.info)
    one = command("cache", "print the size of the cache of compiled programs", commands.cache)
    one.add_argument("--clear", action="store_true", help="remove all its entries")
    return parser, all_commands


def _add_set(parser: _Parser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a value of the file: model.d_model=64",
    )


def _add_sampling(parser: _Parser) -> None:
    parser.add_argument("--prompt", metavar="TEXT", help="the text to continue")
    parser.add_argument("--length", type=int, metavar="N", help="the number of tokens to draw")
    parser.add_argument("--temperature", type=float, metavar="T", help="0: the most likely token")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw from the K most likely tokens")
    parser.add_argument("--top-p", type=float, metavar="P", help="draw from a total probability P")
    parser.add_argument("--n", type=int, metavar="N", help="the number of samples")
    parser.add_argument("--seed", type=int, metavar="S", help="the same seed draws the same text")


def _add_replay(parser: _Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file saved under the switch replay_dir")
    parser.add_argument(
        "--compiled", action="store_true", help="if nothing fails, run it compiled too, and compare"
    )
    # for the process that runs the call
    parser.add_argument("--progress", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--deep", action="store_true", help=argparse.SUPPRESS)


def _add_checkpoint(parser: _Parser) -> None:
    parser.add_argument(
        "--checkpoint", default="model", metavar="NAME", help="by default the newest one, model"
    )
