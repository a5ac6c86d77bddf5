"""Runs a scenario on Twisted and writes down what it did."""

import gc
import warnings
from itertools import takewhile

from twisted.internet import defer, task
from twisted.logger import globalLogBeginner
from twisted.python import log
from twisted.python.failure import Failure

from language import LanguageError, parse_step

# Twisted prints unhandled errors unless somebody else takes the log; the runner's observer does.
globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)
# A Deferred returned from its own callback: scenarios show what comes of it.
warnings.simplefilter("ignore", DeprecationWarning)


class NotLinear(Exception):
    """A random program left the ground on which Twisted and Deferred agree; README.md says which that is."""


class ScenarioError(Exception):
    """An error that a scenario raises, known by its name."""

    def __init__(self, name):
        super().__init__(name)
        self.name = name


def render(value):
    """A value or a Failure as it stands in a trace: 1, !boom, [1 !boom], (0 1)."""
    if value is None:
        return "none"
    if isinstance(value, Failure):
        return "!" + render_error(value.value)
    if isinstance(value, list):
        return "[" + " ".join(_render_entry(entry) for entry in value) + "]"
    if isinstance(value, tuple):
        # DeferredList gives (value, index), race gives (index, value).
        first, second = value
        index, result = (first, second) if isinstance(first, int) else (second, first)
        return f"({index} {render(result)})"
    if isinstance(value, (defer.DeferredLock, defer.DeferredSemaphore)):
        return "acquired"
    return str(value)


def _render_entry(entry):
    if isinstance(entry, tuple) and isinstance(entry[0], bool):
        return render(entry[1])
    return render(entry)


def render_error(error):
    """An error's name in a trace."""
    if isinstance(error, ScenarioError):
        return error.name
    if isinstance(error, defer.FirstError):
        return f"first({error.index}:{render_error(error.subFailure.value)})"
    if isinstance(error, defer.FailureGroup):
        return "group(" + " ".join(render_error(failure.value) for failure in error.failures) + ")"
    names = {
        defer.CancelledError: "cancelled",
        defer.TimeoutError: "timed-out",
        defer.AlreadyCalledError: "already-called",
        defer.QueueOverflow: "overflow",
        defer.QueueUnderflow: "underflow",
    }
    if type(error) not in names:
        raise error
    return names[type(error)]


class Runner:
    """The state of one scenario: its Deferreds by name, the clock, and the trace so far."""

    def __init__(self, linear_only=False):
        self.linear_only = linear_only
        self.trace = []
        self.deferreds = {}
        self.returned = set()
        self.has_joined = False
        self.callbacks_running = 0
        self.left_common_ground = False
        self.cancellers_run = set()
        self.paused_by_hand = {}
        self.primitives = {}
        self.clock = task.Clock()
        self.unhandled = []

    def run(self, program):
        """Runs every step, peeks at each Deferred that was neither returned nor chained; returns the program as run."""
        program = list(program)
        log.addObserver(self._observe)
        try:
            for line in program:
                self.step(parse_step(line), line)
            last_looks = set(takewhile(lambda line: line.startswith("look "), reversed(program)))
            for name in self.deferreds:
                if name not in self.returned and f"look {name}" not in last_looks:
                    program.append(f"look {name}")
                    self.do_look(name)
            return program
        finally:
            for deferred in self.deferreds.values():
                deferred.addErrback(lambda failure: None)
            self.deferreds.clear()
            gc.collect()
            log.removeObserver(self._observe)

    def _observe(self, event):
        if event.get("isError") and "failure" in event:
            self.unhandled.append("unhandled " + render(event["failure"]))

    def step(self, step, line=None):
        """Runs one step."""
        word, *arguments = step
        method = getattr(self, "do_" + word, None)
        if method is None:
            raise LanguageError(f"no such step: {line or step}")
        method(*arguments)

    def perform(self, block, result):
        """Runs a callback's block; its last step says what the callback returns."""
        self.callbacks_running += 1
        try:
            for step in block:
                if step[0] == "return":
                    return step[1]
                if step[0] == "raise":
                    raise ScenarioError(step[1])
                if step[0] == "defer":
                    return self._give_back(step[1])
                self.step(step)
            return result
        finally:
            self.callbacks_running -= 1

    def _give_back(self, name):
        deferred = self.deferreds[name]
        self._require_linear(name not in self.returned and not deferred._runningCallbacks)
        self.returned.add(name)
        return deferred

    def _link(self, label, block):
        def call(result):
            self.trace.append(f"{label} <- {render(result)}")
            return self.perform(block, result)

        call.is_link = True
        return call

    def _require_linear(self, condition):
        """Asked before a step does anything. Inside a callback Twisted would catch what is raised, hence the mark."""
        if self.linear_only and not condition:
            self.left_common_ground |= self.callbacks_running > 0
            raise NotLinear

    # Making

    def do_new(self, name, word=None, block=None):
        def canceller(deferred):
            self.trace.append(f"canceller {name}")
            self.cancellers_run.add(name)
            self.perform(block, None)

        self.deferreds[name] = defer.Deferred(canceller if word else None)

    def do_succeed(self, name, value):
        self.deferreds[name] = defer.succeed(value)

    def do_failed(self, name, error):
        self.deferreds[name] = defer.fail(ScenarioError(error))

    def do_maybe(self, name, block):
        self.deferreds[name] = defer.maybeDeferred(self.perform, block, None)

    def do_later(self, name, seconds, value):
        self.deferreds[name] = task.deferLater(self.clock, float(seconds), lambda: value)

    def do_keep(self, name, other):
        self.deferreds[name] = self.deferreds[other]

    # Chaining

    def do_then(self, name, label, block=()):
        self._attachable(name).addCallback(self._link(label, block))

    def do_fail(self, name, label, block=()):
        self._attachable(name).addErrback(self._link(label, block))

    def do_both(self, name, label, block=()):
        self._attachable(name).addBoth(self._link(label, block))

    def do_pair(self, name, *links):
        blocks = [item if isinstance(item, list) else None for item in [*links[1:], ""]]
        callback, errback = (
            self._link(item, block or ()) for item, block in zip(links, blocks) if isinstance(item, str)
        )
        self._attachable(name).addCallbacks(callback, errback)

    def _attachable(self, name):
        deferred = self.deferreds[name]
        self._require_linear(name not in self.returned and not deferred._runningCallbacks)
        return deferred

    def do_chain(self, name, other):
        self._require_linear(not self.deferreds[other].called)
        self._attachable(name).chainDeferred(self.deferreds[other])
        self.returned.add(name)
        self.has_joined = True

    # Firing

    def do_fire(self, name, outcome):
        deferred = self.deferreds[name]
        swallowed = deferred._suppressAlreadyCalled
        try:
            if outcome.startswith("!"):
                deferred.errback(ScenarioError(outcome[1:]))
            else:
                deferred.callback(outcome)
            if swallowed:
                self.trace.append(f"fire {name} {outcome}: dropped")
        except defer.AlreadyCalledError:
            self._require_linear(name not in self.cancellers_run)
            self.trace.append(f"fire {name} {outcome}: already-called")

    # Control

    def do_cancel(self, name):
        deferred = self.deferreds[name]
        self._require_linear(not deferred._runningCallbacks and not any(self.paused_by_hand.values()))
        self._require_linear(not self.has_joined)
        deferred.cancel()

    def do_pause(self, name):
        self._require_linear(not self._links_to_run(self.deferreds[name]))
        self._require_linear(name not in self.returned)
        self.paused_by_hand[name] = self.paused_by_hand.get(name, 0) + 1
        self.deferreds[name].pause()

    def do_unpause(self, name):
        self.paused_by_hand[name] = self.paused_by_hand.get(name, 0) - 1
        self.deferreds[name].unpause()

    def _links_to_run(self, deferred):
        return any(
            getattr(call, "is_link", False) for pair in deferred._callbacks for call, _, _ in pair
        )

    # Lists

    def _inputs(self, words):
        return [self.deferreds[word] for word in words if not word.startswith("+")]

    def do_list(self, name, *words):
        if self.linear_only:
            for word in words:
                self._attachable(word)
            self.returned.update(words)
            self.has_joined = True
        self.deferreds[name] = defer.DeferredList(self._inputs(words), consumeErrors="+consume" in words)

    def do_first(self, name, *words):
        self.deferreds[name] = defer.DeferredList(
            self._inputs(words), fireOnOneCallback=True, consumeErrors="+consume" in words
        )

    def do_gather(self, name, *words):
        self.deferreds[name] = defer.gatherResults(self._inputs(words), consumeErrors="+consume" in words)

    def do_race(self, name, *words):
        self.deferreds[name] = defer.race(self._inputs(words))

    # Time

    def do_timeout(self, name, seconds, block=None):
        def timed_out(result, seconds):
            self.trace.append(f"timed-out {name}")
            return self.perform(block, result)

        self.deferreds[name].addTimeout(float(seconds), self.clock, timed_out if block else None)

    def do_advance(self, seconds):
        self.clock.advance(float(seconds))

    # Locks and queues

    def do_lock(self, name):
        self.primitives[name] = defer.DeferredLock()

    def do_semaphore(self, name, tokens):
        self.primitives[name] = defer.DeferredSemaphore(int(tokens))

    def do_acquire(self, name, lock):
        self.deferreds[name] = self.primitives[lock].acquire()

    def do_release(self, lock):
        self.primitives[lock].release()

    def do_run(self, name, lock, label, block):
        def work():
            self.trace.append(label)
            return self.perform(block, None)

        self.deferreds[name] = self.primitives[lock].run(work)

    def do_queue(self, name):
        self.primitives[name] = defer.DeferredQueue()

    def do_put(self, queue, value):
        self.primitives[queue].put(value)

    def do_get(self, name, queue):
        self.deferreds[name] = self.primitives[queue].get()

    # Looking

    def do_mark(self, text):
        self.trace.append(text)

    def do_look(self, name):
        self.trace.append(f"{name} = {self._state(self.deferreds[name])}")

    def _state(self, deferred):
        unfinished = (
            not deferred.called
            or isinstance(deferred.result, defer.Deferred)
            or deferred._runningCallbacks
            or self._links_to_run(deferred)
        )
        return "pending" if unfinished else render(deferred.result)

    def do_drop(self, name):
        del self.deferreds[name]
        gc.collect()
        self.trace += sorted(self.unhandled)
        self.unhandled = []
