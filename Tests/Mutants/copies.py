# SPDX-License-Identifier: Apache-2.0
"""A changed copy of the package under .build: how it is made, built and tested. For `make mutants` and `make faults`."""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

package = pathlib.Path(__file__).resolve().parents[2]
parts = ["Package.swift", "Package.resolved", "Sources", "CSources", "Benchmarks", "Tests", "Snippets", "Examples"]
swift = os.environ.get("SWIFT") or "swift"

# `result` is `passed`, `failed` or `timed out`, `failure` what failed, `lines` what the tests have written until then.
Outcome = collections.namedtuple("Outcome", "result failure lines")


class Copy:
    """The copy in .build/NAME/tree. It is changed in .build/NAME/fresh."""

    def __init__(self, name):
        self.folder = package / ".build" / name
        self.tree = self.folder / "tree"
        self.fresh = self.folder / "fresh"
        self.tests = self.tree / ".build/debug/swift-hrtimerPackageTests.xctest"

    def begin(self):
        """Writes the package as it is to `fresh`, where the caller changes it."""
        shutil.rmtree(self.fresh, ignore_errors=True)
        self.fresh.mkdir(parents=True)
        for part in parts:
            if (package / part).is_dir():
                shutil.copytree(package / part, self.fresh / part, symlinks=True, ignore=shutil.ignore_patterns(".build*"))
            elif (package / part).exists():
                shutil.copy2(package / part, self.fresh / part)

    def finish(self):
        """Makes the tree what `fresh` is, and leaves files that are the same alone, so that they are not built anew."""
        for path in [path for path in self.tree.rglob("*") if ".build" not in path.relative_to(self.tree).parts]:
            if path.is_file() and not (self.fresh / path.relative_to(self.tree)).is_file():
                path.unlink()
        for path in self.fresh.rglob("*"):
            copy = self.tree / path.relative_to(self.fresh)
            if path.is_symlink():
                if not copy.is_symlink():
                    copy.symlink_to(path.readlink())
            elif path.is_dir():
                copy.mkdir(parents=True, exist_ok=True)
            elif not copy.is_file() or copy.read_bytes() != path.read_bytes():
                shutil.copyfile(path, copy)
                copy.chmod(path.stat().st_mode)

    def build(self, *options):
        """Builds the tree. Returns the finished process with its output."""
        return subprocess.run([swift, "build", *options], cwd=self.tree, capture_output=True, text=True)

    def run_tests(self, chosen, options, limit_s):
        """Runs tests of the tree until the first failure, with the environment's variables in `chosen`.

        They time out once they have printed nothing for `limit_s`.
        """
        # Memory that nobody has initialized, or that is freed, is not what it was: malloc(3), mallopt(3).
        environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", MALLOC_PERTURB_="165", **chosen)
        command = [self.tests, "--testing-library", "swift-testing", *options]
        process = subprocess.Popen(command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        is_late = threading.Event()

        def end():
            is_late.set()
            kill(process)

        timer = start(limit_s, end)
        failure, lines = None, []
        for line in process.stdout:
            timer.cancel()
            # Without colours, which it writes whatever it writes to.
            line = re.sub(r"\x1b\[[0-9;]*m", "", line)
            lines.append(line)
            if re.search(r"recorded an issue|^✘", line):
                failure = line.strip()
                kill(process)
                break
            timer = start(limit_s, end)
        timer.cancel()
        status = process.wait()
        if is_late.is_set():
            return Outcome("timed out", f"nothing printed for {limit_s:.0f} s", lines)
        if failure or status:
            return Outcome("failed", failure or f"exit status {status}", lines)
        return Outcome("passed", "", lines)


def start(limit_s, end):
    timer = threading.Timer(limit_s, end)
    timer.start()
    return timer


def kill(process):
    """Kills the tests and all that they have started, also in process groups of their own: who is left would keep the output open."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # proc_pid_stat(5): after the name come the state, the parent, the process group and the session.
            session = int(path.read_text().rpartition(")")[2].split()[3])
            if session == process.pid:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass
