"""Random linear programs: chains written through their newest handle, on which Twisted and Deferred agree.

A program is made step by step while Twisted runs it, so that each step fits what is there. A step that would leave
the common ground (README.md) is left out; if a callback leaves it, the program is thrown away and the next attempt
with the same seed makes another.
"""

from random import Random

from language import parse_step
from twisted_runner import NotLinear, Runner

NAMES = "abcd"


class ProgramMaker:
    """Makes one program; everything it decides comes from its seed."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.runner = Runner(linear_only=True)
        self.program = []
        self.labels = 0
        self.values = 0
        self.lists = 0
        self.names = list(NAMES[: self.random.randint(2, len(NAMES))])
        self.fireable = set()
        self.to_give_back = set(self.names)

    def make(self):
        """The program and what Twisted did, or NotLinear."""
        for name in self.random.sample(self.names, len(self.names)):
            self._add(self._maker(name))
        for _ in range(self.random.randint(10, 30)):
            self._add(self._step())
        for name, count in self.runner.paused_by_hand.items():
            for _ in range(count):
                self._add(f"unpause {name}")
        return self.runner.run([]), self.program, self.runner.trace

    def _add(self, line):
        try:
            self.runner.step(parse_step(line), line)
        except NotLinear:
            # Refused before it did anything: the program goes on without this step.
            return
        finally:
            if self.runner.left_common_ground:
                raise NotLinear
        self.program.append(line)

    def _value(self):
        self.values += 1
        return f"v{self.values}"

    def _outcome(self):
        value = self._value()
        return value if self.random.random() < 0.6 else f"!e{value[1:]}"

    def _label(self):
        self.labels += 1
        return f"l{self.labels}"

    def _maker(self, name):
        kind = self.random.choices(["new", "canceller", "fires", "made"], [4, 2, 2, 1])[0]
        if kind == "made":
            outcome = self._outcome()
            return f"failed {name} {outcome[1:]}" if outcome[0] == "!" else f"succeed {name} {outcome}"
        self.fireable.add(name)
        if kind == "new":
            return f"new {name}"
        return f"new {name} canceller {{ {f'fire {name} {self._outcome()} ' if kind == 'fires' else ''}}}"

    def _step(self):
        name = self.random.choice(self.names)
        word = self.random.choices(
            ["then", "fail", "both", "pair", "fire", "cancel", "pause", "unpause", "look", "chain", "list"],
            [6, 4, 3, 3, 6, 3, 1, 2, 1, 0.3, 0.5],
        )[0]
        if word == "pair":
            return f"pair {name} {self._link(name)} {self._link(name)}"
        if word in ("then", "fail", "both"):
            return f"{word} {name} {self._link(name)}"
        if word == "fire" and name in self.fireable:
            return f"fire {name} {self._outcome()}"
        if word == "unpause" and not self.runner.paused_by_hand.get(name):
            word = "pause"
        if word in ("pause", "unpause", "cancel"):
            return f"{word} {name}"
        if word == "look" and name not in self.runner.returned:
            return f"look {name}"
        others = [other for other in self.names if other != name and other not in self.runner.returned]
        # Waits go one way only, so that no ring of them closes.
        chainable = self.fireable.intersection(self.names[: self.names.index(name)])
        if word == "chain" and name in NAMES and name not in self.runner.returned and chainable:
            return f"chain {name} {self.random.choice(sorted(chainable))}"
        if word == "list" and len(others) > 1:
            return f"list {self._new_list()} {' '.join(self.random.sample(others, 2))}"
        return f"mark m{self._label()}"

    def _new_list(self):
        self.lists += 1
        self.names.append(f"list{self.lists}")
        return self.names[-1]

    def _link(self, name):
        steps = []
        # A callback touches only Deferreds further on, so that programs don't run in circles.
        further = self.names[self.names.index(name) + 1 :]
        if further and self.random.random() < 0.3:
            other = self.random.choice(further)
            if self.random.random() < 0.3:
                steps.append(f"cancel {other}")
            elif other in self.fireable:
                steps.append(f"fire {other} {self._outcome()}")
            steps.append(f"mark m{self._label()}")
        ending = self.random.choices(["pass", "return", "raise", "defer"], [3, 3, 2, 4])[0]
        givable = [other for other in further if other in self.to_give_back]
        if ending == "defer" and givable:
            other = self.random.choice(givable)
            self.to_give_back.discard(other)
            steps.append(f"defer {other}")
        elif ending == "return":
            steps.append(f"return {self._value()}")
        elif ending == "raise":
            steps.append(f"raise e{self._value()[1:]}")
        return f"{self._label()} {{ {' ; '.join(steps)} }}" if steps else self._label()


def random_programs(seed, count):
    """`count` programs with their traces; the same seed gives the same ones."""
    for number in range(1, count + 1):
        attempt = 0
        while True:
            attempt += 1
            maker = ProgramMaker(f"{seed}/{number}/{attempt}")
            try:
                looks, program, trace = maker.make()
            except NotLinear:
                continue
            yield f"random program {seed}/{number}", program + looks, trace
            break
