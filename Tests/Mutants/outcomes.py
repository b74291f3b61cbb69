"""What the tests say of a mutant."""
import time

import tree

frozen = "^HRTimer(Core|Testing|Compat|Calendar)?Tests\\."
# No test of these calls the changed modules.
unconcerned = "^(BenchTests|CHRTimerTests)\\."
# A mutant that takes so many times as long as the package without one waits for what never comes. Never less than a minute, for the
# machine may be busy.
patience = 4
shortest_s = 60
in_real_time = ("--skip", frozen, "--skip", unconcerned)


def on_frozen_time(module):
    """The tests on frozen time in the order in which they are asked: the module's own, and the rest."""
    own = "^" + module + "Tests\\."
    return [("--filter", own), ("--filter", frozen, "--skip", own)]


class Limits:
    """How long a step may take, from how long it takes without a mutant."""

    def __init__(self):
        self.limits_s = {}

    def measure(self, options):
        """Runs the step without a mutant: it must pass, or every mutant would count as killed. Returns the outcome."""
        begin_s = time.monotonic()
        result, failure, _ = run_tests(0, options, 1800)
        taken_s = time.monotonic() - begin_s
        print(f"without a mutant: {result} in {taken_s:.0f} s: {' '.join(options)} {failure}", flush=True)
        self.limits_s[options] = max(shortest_s, patience * taken_s)
        return result


def run_tests(number, options, limit_s):
    """Runs tests of the tree with that mutant until the first failure."""
    return tree.copy.run_tests({"HRTIMER_MUTANT": str(number)}, options, limit_s)


def outcome_on_frozen_time(mutant, limits):
    """Asks one step after another. Returns `killed`, `timed out` or `survived frozen time`, and by what it was killed."""
    for options in on_frozen_time(mutant.file.split("/")[1]):
        result, failure, _ = run_tests(mutant.number, options, limits.limits_s[options])
        if result != "passed":
            return ("timed out" if result == "timed out" else "killed"), failure
    return "survived frozen time", ""


def outcome_in_real_time(mutant, limits):
    """The same for a survivor. Only what fails twice is killed: one test in real time may fail on a busy machine."""
    for _ in range(2):
        result, failure, _ = run_tests(mutant.number, in_real_time, limits.limits_s[in_real_time])
        if result == "passed":
            return "survived", ""
    return ("timed out" if result == "timed out" else "killed"), failure
