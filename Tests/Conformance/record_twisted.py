#!/usr/bin/env python3
"""Records what Twisted does in every scenario, for the Swift tests to replay.

    python3 -m venv .build/conformance
    .build/conformance/bin/pip install -r Tests/Conformance/requirements.txt
    .build/conformance/bin/python Tests/Conformance/record_twisted.py            # writes traces.json
    .build/conformance/bin/python Tests/Conformance/record_twisted.py --check    # compares, writes nothing

scenarios.txt holds the hand-picked scenarios, random_programs.py makes the others; README.md says what a trace is.
"""

import argparse
import json
import sys
from pathlib import Path

import twisted

from language import read_scenarios
from random_programs import random_programs
from twisted_runner import Runner

FOLDER = Path(__file__).parent
TRACES = FOLDER / "traces.json"
SEED = 20260101
RANDOM_PROGRAMS = 400


def record():
    """Returns the contents of traces.json."""
    return {
        "recordedWith": f"Twisted {twisted.version.short()}",
        "scenarios": [_recorded(scenario) for scenario in read_scenarios(FOLDER / "scenarios.txt")],
        "randomSeed": SEED,
        "randomPrograms": [
            {"name": name, "program": program, "twisted": trace}
            for name, program, trace in random_programs(SEED, RANDOM_PROGRAMS)
        ],
    }


def _recorded(scenario):
    runner = Runner()
    program = runner.run(scenario.program)
    entry = {"rule": scenario.rule, "name": scenario.name, "program": program, "twisted": runner.trace}
    if scenario.differs:
        if scenario.expected == runner.trace:
            sys.exit(f"{scenario.name}: marked as different, but Twisted does just this: {runner.trace}")
        entry["differs"] = {"by": scenario.differs, "because": scenario.because, "deferred": scenario.expected}
    return entry


def render(recording):
    """JSON to read: hand-picked scenarios a line for each step, random programs a line for each list."""
    random = recording["randomPrograms"]
    text = json.dumps({**recording, "randomPrograms": []}, indent=1, ensure_ascii=False)
    programs = ",\n".join(
        "  {\n" + ",\n".join(f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items()) + "\n  }"
        for entry in random
    )
    return text.replace('"randomPrograms": []', f'"randomPrograms": [\n{programs}\n ]') + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with traces.json and write nothing")
    arguments = parser.parse_args()
    recording = record()
    text = render(recording)
    assert json.loads(text) == recording
    if not arguments.check:
        TRACES.write_text(text)
    elif TRACES.read_text() != text:
        sys.exit("traces.json differs from the behaviour of the installed Twisted: run record_twisted.py and check the difference")
    differing = sum("differs" in scenario for scenario in recording["scenarios"])
    print(
        f"{recording['recordedWith']}: {len(recording['scenarios'])} scenarios, {differing} of which differ on purpose,"
        f" and {len(recording['randomPrograms'])} random programs"
    )


if __name__ == "__main__":
    main()
