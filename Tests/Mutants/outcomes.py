"""What the tests say of a mutant."""
import os
import re
import signal
import subprocess
import threading

import tree

binary = tree.tree / ".build/debug/swift-hrtimerPackageTests.xctest"
# What the tests of a module need as it is, many times over. One that takes longer waits for what never comes.
frozen_s = 60
real_s = 400
frozen = "^HRTimer(Core|Testing|Compat|Calendar)?Tests\\."
# No test of these calls the changed modules.
unconcerned = "^(BenchTests|CHRTimerTests)\\."


def steps(file):
    """The tests in the order in which they are asked: the module's own, the rest on frozen time, those in real time."""
    own = "^" + file.split("/")[1] + "Tests\\."
    return [
        (["--filter", own], frozen_s, False),
        (["--filter", frozen, "--skip", own], frozen_s, False),
        (["--skip", frozen, "--skip", unconcerned], real_s, True),
    ]


def run_tests(number, options, limit_s):
    """Runs tests until the first failure. Returns the outcome and what failed: `passed`, `failed` or `timed out`."""
    environment = dict(os.environ, HRTIMER_MUTANT=str(number), SWIFT_BACKTRACE="enable=no")
    command = [binary, "--testing-library", "swift-testing", *options]
    process = subprocess.Popen(command, cwd=tree.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    is_late = threading.Event()

    def end():
        is_late.set()
        kill(process)

    timer = threading.Timer(limit_s, end)
    timer.start()
    failure = None
    for line in process.stdout:
        if re.search(r"recorded an issue|^✘", line):
            failure = line.strip()
            kill(process)
            break
    status = process.wait()
    timer.cancel()
    if is_late.is_set():
        return "timed out", f"after {limit_s} s"
    if failure or status:
        return "failed", failure or f"exit status {status}"
    return "passed", ""


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def outcome(mutant):
    """Asks one step after another. Returns `killed`, `timed out` or `survived`, and by what it was killed."""
    for options, limit_s, is_real in steps(mutant.file):
        result, failure = run_tests(mutant.number, options, limit_s)
        # A test in real time may fail on a busy machine.
        if result != "passed" and is_real:
            result, failure = run_tests(mutant.number, options, limit_s)
        if result == "timed out":
            return "timed out", failure
        if result == "failed":
            return "killed", failure
    return "survived", ""
