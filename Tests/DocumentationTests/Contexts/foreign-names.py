#!/usr/bin/env python3
"""Writes ForeignNames.txt: the public top-level names of modules that programs import beside this package's.

    python3 foreign-names.py CHECKOUT... > ForeignNames.txt

Each CHECKOUT is a package whose `Sources` (or the folder named like the package) has a folder for each module, with its
version in the file `.version`. The modules of the toolchain are read with `swift symbolgraph-extract`, and those that are
not there from `NamesFromMemory.txt`, as it is.
"""
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

TOOLCHAIN = [
    "Swift", "_Concurrency", "_StringProcessing", "RegexBuilder", "Synchronization", "Observation", "Distributed", "Dispatch",
    "FoundationEssentials", "Foundation", "FoundationNetworking", "FoundationXML", "Testing", "XCTest",
]
# Programs, tests and what only other modules of a package use.
LEFT_OUT = re.compile(
    r"Example|Demo|Perf|Benchmark|Tests?$|TestUtils|^NIO\w*(Client|Server)$|NIOMulticastChat|NIOCrash|Tool|Plugin|generate|^_|"
    r"^(In)?[Tt]ernal|Internal")
KINDS = r"(?:class|struct|enum|protocol|actor|typealias|func|let|var|macro)"
DECLARATION = re.compile(
    r"(?m)^[ \t]*(?:@[\w.]+(?:\([^()]*(?:\([^()]*\))?[^()]*\))?\s+)*(?:(?:final|indirect|nonisolated(?:\(\w+\))?)\s+)*"
    r"(?:public|open)\s+(?:(?:final|indirect|static|nonisolated(?:\(\w+\))?|distributed|unsafe)\s+)*"
    + KINDS + r"\s+`?([A-Za-z_]\w*)")
SKIPPED = re.compile(
    r'//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|(#*)"""(?:.|\n)*?"""\1|#"[^\n]*?"#|"(?:\\\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)|'
    r'\\.|[^"\\\n])*"')


def top_level(text):
    """Returns the names that a file's text declares outside of any braces."""
    text = SKIPPED.sub('""', text)
    kept, depth = [], 0
    for character in text:
        if character == "{":
            depth += 1
            if depth == 1:
                kept.append("{}\n")
        elif character == "}":
            depth = max(0, depth - 1)
        elif depth == 0 or character == "\n":
            kept.append(character if depth == 0 else "")
    return set(DECLARATION.findall("".join(kept)))


def modules_of(package):
    sources = package / "Sources"
    folders = list(sources.iterdir()) if sources.is_dir() else []
    folders.append(package / package.name.removesuffix(".swift"))
    for folder in folders:
        if folder.is_dir() and not LEFT_OUT.search(folder.name):
            yield folder


def toolchain(module, folder):
    """Returns the top-level names of a module of the toolchain."""
    target = json.loads(subprocess.run(
        ["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout)["target"]["triple"]
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, "-target", target, "-output-dir", folder,
         "-minimum-access-level", "public", "-skip-synthesized-members"],
        check=True, capture_output=True)
    names = set()
    for graph in Path(folder).glob(f"{module}*.symbols.json"):
        for symbol in json.loads(graph.read_text())["symbols"]:
            path = symbol["pathComponents"]
            name = re.match(r"[A-Za-z_]\w*", path[0])
            if len(path) == 1 and name and symbol["kind"]["identifier"] != "swift.extension":
                names.add(name.group())
    return names


def write(module, origin, names):
    names = sorted(name for name in names if not name.startswith("_"))
    if names:
        print(f"\n# {module}, {origin}")
        print("\n".join(textwrap.wrap(" ".join(names), 120)))


print("# The public top-level names of modules that programs import beside this package's.")
print("# Written by foreign-names.py; the modules at the end, by hand.")
for package in sorted(map(Path, sys.argv[1:]), key=lambda path: path.name.lower()):
    version = (package / ".version").read_text().strip()
    for folder in sorted(modules_of(package)):
        names = set().union(*(top_level(file.read_text()) for file in folder.rglob("*.swift")))
        write(folder.name, f"{package.name} {version}", names)
with tempfile.TemporaryDirectory() as folder:
    for module in TOOLCHAIN:
        write(module, "of the toolchain", toolchain(module, folder))
print("\n" + (Path(__file__).parent / "NamesFromMemory.txt").read_text().strip())
