#!/usr/bin/env python3
"""Ports a program to the names in the table "Renamed" of CHANGELOG.md.

    python3 Documentation/port-names.py FOLDER-OR-FILE...

Changes .swift files in place. Members whose old name is a common word are changed where they are read from a variable,
and listed, since the script knows no types. What it cannot change is listed, too. The compiler finds the rest.
"""
import re
import sys
from pathlib import Path

# Names that nothing else has.
WORDS = {
    "hasFired": "isSettled",
    "alreadyFired": "alreadySettled",
    "firedFirst": "settledFirst",
    "notFireable": "notCompletable",
    "consumeErrors": "consumesErrors",
    "wrapErrors": "wrapsErrors",
    "underWayCount": "inProgressCount",
    "MulticastTurn": "MulticastStep",
    "AskingOrder": "MulticastOrder",
}
# Calls whose `on:` is now `timer:`.
TIMED = [
    "after", "timeout", "retry", "asyncRetry", "repeating", "RepeatingWork", "IdleTimer", "DeferredLatest", "DeferredCache",
    "DeferredFilesystemLock", "Deadline",
]
# By the module that a file imports: an expression, its replacement, and whether it may be something else's.
MEMBERS = [
    ("Deferred", r"\.postpone\(", ".reset(", False),
    ("Deferred", r"(\b[a-z]\w*|[)\]?!])\.available\b(?!\s*\()", r"\1.availableCount", True),
    ("Deferred", r"\b(\w*[dD]eadline)\.dispatcher\b", r"\1.timer", True),
    ("DeferredOperations", r"(\b[a-z]\w*|[)\]?!])\.underWay\b", r"\1.inProgressCount", True),
    ("DeferredOperations", r"(\b[a-z]\w*|[)\]?!])\.waiting\b", r"\1.waitingCount", True),
    ("Multicast", r"\.snapshot\(\)", ".elements", True),
    ("Multicast", r"\.pairs\(\)", ".elements", True),
    ("Multicast", r"(?:(?<![.\w])|(?<=\bMulticast\.))Channel\b(?=\s*[<(])", "BroadcastChannel", False),
    ("DeferredTracing", r"\bDeferredDiagnostic\.Origin\b", "DeferredRecording.Origin", False),
    ("DeferredTracing", r"(?<![\w)])\.fired\b|(?<=Kind)\.fired\b", ".settled", True),
    ("DeferredTracing", r"\.firing\(at:", ".completing(at:", False),
]


def end(text, start):
    """Returns the index of the bracket that closes the one at `start`, and those of the commas directly inside."""
    depth, commas, at = 0, [], start
    while at < len(text):
        character = text[at]
        if character == '"':
            at += 1
            while at < len(text) and text[at] not in '"\n':
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("//", at):
            at = text.find("\n", at)
            if at < 0:
                break
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return at, commas
        elif character == "," and depth == 1:
            commas.append(at)
        at += 1
    return None, []


def change_calls(text, pattern, change):
    """Replaces the arguments of each call whose name matches, from the last call to the first."""
    for call in reversed(list(re.finditer(pattern + r"(?:<[^()\n]*>)?\(", text))):
        if re.search(r"\bfunc\s+$", text[: call.start()]):
            continue
        closing, commas = end(text, call.end() - 1)
        if closing is None:
            continue
        bounds = [call.end() - 1] + commas + [closing]
        arguments = [text[a + 1 : b] for a, b in zip(bounds, bounds[1:])]
        text = text[: call.end()] + ",".join(change(arguments)) + text[closing:]
    return text


def timed(arguments):
    return [re.sub(r"^(\s*)on:(?!\s*MainActor\.self)", r"\1timer:", argument) for argument in arguments]


def download(arguments):
    """`options:` is now `download:`, `transfer:` is now `options:` and comes before it."""
    if any(re.match(r"\s*download:", argument) for argument in arguments):
        return arguments
    renamed = [re.sub(r"^(\s*)options:", r"\1download:", argument) for argument in arguments]
    renamed = [re.sub(r"^(\s*)transfer:", r"\1options:", argument) for argument in renamed]
    places = [i for i, argument in enumerate(renamed) if re.match(r"\s*(download|options):", argument)]
    if len(places) == 2:
        first, second = places
        space = [re.match(r"(\s*)(.*?)(\s*)$", renamed[i], re.S).groups() for i in places]
        renamed[first] = space[0][0] + space[1][1] + space[0][2]
        renamed[second] = space[1][0] + space[0][1] + space[1][2]
    return renamed


def nested_resolvers(text):
    """`Resolver<Value>` is now `Deferred<Value>.Resolver`."""
    for name in reversed(list(re.finditer(r"(?<![.\w])(?<!struct )(?:Deferred::)?Resolver<", text))):
        depth, at = 1, name.end()
        while at < len(text) and depth:
            depth += {"<": 1, ">": 0 if text[at - 1] == "-" else -1}.get(text[at], 0)
            at += 1
        text = text[: name.start()] + "Deferred<" + text[name.end() : at] + ".Resolver" + text[at:]
    return text


def start(text, index):
    """Returns where the expression begins that ends at `index`: names, dots and calls, with closures, on one line."""
    at = index
    while at > 0:
        if text[at - 1] in ")]}":
            closing, depth = at - 1, 0
            while at > 0:
                at -= 1
                depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(text[at], 0)
                if depth == 0 or text[at] == "\n":
                    break
            if depth:
                return None
            while text[closing] == "}" and text[at - 1] == " ":
                at -= 1
        elif re.match(r"[\w.?!]", text[at - 1]):
            at -= 1
        else:
            break
    return at if re.match(r"[A-Za-z_]", text[at:]) else None


def followed(text):
    """`deferred.chain(to: resolver)` is now `resolver.follow(deferred)`."""
    for call in reversed(list(re.finditer(r"\.chain\(to: ([\w.]+)\)", text))):
        at = start(text, call.start())
        if at is not None:
            text = text[:at] + f"{call[1]}.follow({text[at : call.start()]})" + text[call.end() :]
    return text


def line(text, index):
    return text.count("\n", 0, index) + 1


def port(text, path, report):
    text = re.sub(r"\b(" + "|".join(WORDS) + r")\b", lambda found: WORDS[found[1]], text)
    text = nested_resolvers(text)
    text = change_calls(text, r"(?<!\w)(?:" + "|".join(TIMED) + ")", timed)
    subclasses = re.findall(r"\bclass (\w+)\s*:\s*DownloadDataSource\b", text)
    names = ["DownloadDataSource"] + subclasses + (["super\\.init"] if subclasses else [])
    text = change_calls(text, r"(?<!\w)(?:" + "|".join(names) + ")", download)
    text = followed(text)
    for module, pattern, replacement, is_guess in MEMBERS:
        if not re.search(rf"\bimport {module}\b", text):
            continue
        for found in reversed(list(re.finditer(pattern, text))):
            new = found.expand(replacement)
            text = text[: found.start()] + new + text[found.end() :]
            if is_guess:
                report(path, line(text, found.start()), f"changed {found[0]} to {new}: is it one of this library's?")
    for found in re.finditer(r"\.chain\(to:", text):
        report(path, line(text, found.start()), "write resolver.follow(deferred) for deferred.chain(to: resolver)")
    return text


def main(paths):
    files = [file for path in map(Path, paths) for file in ([path] if path.is_file() else sorted(path.rglob("*.swift")))]
    for file in files:
        if ".build" in file.parts:
            continue
        old = file.read_text()
        new = port(old, file, lambda path, number, message: print(f"{path}:{number}: {message}"))
        if new != old:
            file.write_text(new)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
