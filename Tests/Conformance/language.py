"""The scenario language: one step a line, words and { blocks }.

README.md lists the steps. A step is parsed to a list whose items are words (str) and blocks (lists of steps);
what the words mean is the runner's business (twisted_runner.py here, Replayer.swift in the Swift tests).
"""

import re
from dataclasses import dataclass, field


class LanguageError(Exception):
    """A scenario that cannot be read, with the place where it stands."""


def parse_step(text):
    """One line of a scenario as a step."""
    steps, rest = _parse_steps(text.split(), text)
    if rest or len(steps) != 1:
        raise LanguageError(f"expected one step, got: {text!r}")
    return steps[0]


def _parse_steps(tokens, text):
    steps, step = [], []
    while tokens:
        token, tokens = tokens[0], tokens[1:]
        if token == "{":
            block, tokens = _parse_steps(tokens, text)
            if not tokens:
                raise LanguageError(f"a block is not closed: {text!r}")
            tokens = tokens[1:]
            step.append(block)
        elif token == "}":
            tokens = ["}", *tokens]
            break
        elif token == ";":
            if step:
                steps.append(step)
            step = []
        else:
            step.append(token)
    if step:
        steps.append(step)
    return steps, tokens


@dataclass
class Scenario:
    """A program, and where Deferred differs from Twisted on purpose, how and why."""

    rule: str
    name: str
    program: list
    differs: str = ""
    because: str = ""
    expected: list = field(default_factory=list)


def read_scenarios(path):
    """The hand-picked scenarios of scenarios.txt, in its order."""
    scenarios, part = [], None
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        place = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("  "):
            if part is None:
                raise LanguageError(f"{place}: a line that belongs to no scenario")
            part.append(line.strip())
        elif match := re.fullmatch(r"scenario ([A-Z]\d): (.+)", line):
            scenarios.append(Scenario(match[1], match[2], []))
            part = scenarios[-1].program
        elif match := re.fullmatch(r"differs ([a-z-]+): (.+)", line):
            scenarios[-1].differs, scenarios[-1].because = match[1], match[2]
            part = scenarios[-1].expected
        else:
            raise LanguageError(f"{place}: neither a scenario nor a difference: {line!r}")
    names = [scenario.name for scenario in scenarios]
    if len(set(names)) != len(names):
        raise LanguageError(f"names that stand twice: {sorted({n for n in names if names.count(n) > 1})}")
    return scenarios
