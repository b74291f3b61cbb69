# SPDX-License-Identifier: Apache-2.0
"""Which suites of tests reach which mutants, so that a mutant is asked only of those that run it."""
import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import time

import outcomes
import tree

# As in hrt_mutant.h.
numbers = 1 << 16
frozen = "^(CHRTimer|HRTimer(Core|Testing|Compat|Calendar)?)Tests\\."


def suites(is_frozen):
    """The names of the suites on frozen time, or of the others: a module, a dot and what comes before the first slash."""
    command = [tree.copy.tests, "--testing-library", "swift-testing", "--list-tests"]
    lines = subprocess.run(command, cwd=tree.copy.tree, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split("/")[0] for line in lines if re.match(r"\w+\.\w", line)}
    return sorted(name for name in names if bool(re.match(frozen, name)) == is_frozen)


class Reach:
    """For each suite that passes without a mutant how long it takes, in seconds, and the mutants that it reaches."""

    def __init__(self, is_frozen, build):
        self.path = tree.folder / f"reach-{'frozen' if is_frozen else 'real'}-{build}"
        self.table = json.loads(self.path.read_text()) if self.path.exists() else {}
        missing = [suite for suite in suites(is_frozen) if suite not in self.table]
        # Suites in real time one after another: beside others they might be late.
        jobs = outcomes.jobs if is_frozen else 1
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for suite, row in zip(missing, pool.map(self.measure, missing)):
                self.table[suite] = row
                self.path.write_text(json.dumps(self.table))
        if missing:
            print(f"{len(missing)} suites were run without a mutant, {sum(row[0] for row in self.table.values()):.0f} s", flush=True)

    @staticmethod
    def measure(suite):
        """Runs the suite without a mutant. If it fails, twice since it may be late on a busy machine, it counts as one that reaches none."""
        for _ in range(2):
            with tempfile.NamedTemporaryFile() as file:
                file.truncate(numbers)
                # Some tests run programs as another user.
                os.chmod(file.name, 0o666)
                begin_s = time.monotonic()
                result, failure = outcomes.run_tests(0, [suite], 900, reached=file.name)
                taken_s = time.monotonic() - begin_s
                if result == "passed":
                    return taken_s, [number for number, is_reached in enumerate(file.read()) if is_reached]
        print(f"fails without a mutant, and is not asked: {suite}: {failure}", flush=True)
        return taken_s, []

    def suites_for(self, mutant):
        """The suites that reach the mutant, each after the seconds that it takes without it, the quickest first."""
        return sorted((taken_s, suite) for suite, (taken_s, reached) in self.table.items() if mutant.number in reached)
