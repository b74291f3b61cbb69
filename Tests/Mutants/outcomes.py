# SPDX-License-Identifier: Apache-2.0
"""What the tests say of a mutant."""
import os
import re

import tree

jobs = int(os.environ.get("JOBS") or 1)
# Tests that print nothing for so many times as long as their suite, or the slowest of them, takes without a mutant wait for what never
# comes. Never less than this, for the machine may be busy.
patience = 3
shortest_s = 20
words = {"failed": "killed", "timed out": "timed out"}


def run_tests(number, suites, limit_s, reached=None):
    """Runs these suites until the first failure. Returns the outcome and what failed: `passed`, `failed` or `timed out`.

    They time out once they have printed nothing for `limit_s`.
    """
    chosen = {"HRTIMER_MUTANT": str(number)}
    if reached:
        chosen["HRTIMER_MUTANTS_REACHED"] = reached
    filters = "^(" + "|".join(re.escape(suite) for suite in suites) + ")(/|$)"
    result, failure, _ = tree.copy.run_tests(chosen, ("--filter", filters), limit_s)
    return result, failure


def on_frozen_time(mutant, reach):
    """Runs the suites that reach the mutant, all at once. Returns `killed`, `timed out` or `survived frozen time`, and what was seen."""
    found = reach.suites_for(mutant)
    if not found:
        return "survived frozen time", "no test reaches it"
    slowest_s, _ = found[-1]
    result, failure = run_tests(mutant.number, [suite for _, suite in found], max(shortest_s, patience * slowest_s))
    return ("survived frozen time" if result == "passed" else words[result]), failure


def in_real_time(mutant, reach):
    """The same for a survivor, with one suite after another. Only what fails twice is killed: a test may be late on a busy machine."""
    found = reach.suites_for(mutant)
    for taken_s, suite in found:
        for _ in range(2):
            result, failure = run_tests(mutant.number, [suite], max(shortest_s, patience * taken_s))
            if result == "passed":
                break
        else:
            return words[result], failure
    return "survived", "" if found else "no test reaches it"
