# SPDX-License-Identifier: Apache-2.0
"""The copy of the package that has the mutants, under .build/mutants: changes and builds it. With RACES=1 under .build/races, with
those of `race_mutants` alone, for Thread Sanitizer."""
import collections
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import c_mutants
import race_mutants
from copies import Copy, package

are_races = os.environ.get("RACES") == "1"
copy = Copy("races" if are_races else "mutants")
sanitizer = ["--sanitize=thread"] if are_races else []
if are_races:
    # As in `make sanitize-thread`.
    os.environ["TSAN_OPTIONS"] = f"halt_on_error=1 suppressions={copy.tree}/Tests/thread-sanitizer.supp"
    os.environ["HRTIMER_MODEL_OPERATIONS"] = os.environ["HRTIMER_FIRES"] = "5000"
folder = copy.folder
modules = ["HRTimerCore", "HRTimer"]
# The bench is as large as the library, and no test of it concerns the mutants.
without_bench = """
package.products.removeAll { $0.name == "bench" }
package.targets.removeAll { ["bench", "BenchTests"].contains($0.name) }
"""
# What numbers the mutants depend on.
writers = ["Tests/Mutants/race_mutants.py"] if are_races else ["Tests/Mutants/Mutator", "Tests/Mutants/c_mutants.py"]
finders = ["Sources", "CSources", *writers]
# A build can find mutants that do not compile only in files whose other mutants do.
rounds = 8
product = "swift-hrtimerPackageTests"

Mutant = collections.namedtuple("Mutant", "number file line first_line last_line kind function change")


def digest(names, without=""):
    """A hash of these files and folders of the package, without one of them."""
    total = hashlib.sha256()
    for name in names:
        for path in [package / name, *sorted((package / name).rglob("*"))]:
            own = str(path.relative_to(package))
            if path.is_file() and ".build" not in own and not (without and own.startswith(without)):
                total.update(own.encode() + path.read_bytes())
    return total.hexdigest()[:16]


def compile_mutator():
    """Compiles the tool that finds and writes mutants with the parser of the toolchain, unless it is there."""
    sources = sorted((package / "Tests/Mutants/Mutator").glob("*.swift"))
    binary = folder / "mutator"
    if binary.exists() and all(binary.stat().st_mtime > source.stat().st_mtime for source in sources):
        return binary
    compiler = shutil.which("swiftc")
    host = pathlib.Path(compiler).resolve().parents[1] / "lib/swift/host"
    libraries = ["-lSwiftSyntax", "-lSwiftParser", "-lSwiftOperators", "-Xlinker", "-rpath", "-Xlinker", host]
    subprocess.run([compiler, "-O", "-swift-version", "6", "-I", host, "-L", host, *libraries, *sources, "-o", binary], check=True)
    return binary


def begin():
    """Copies the package, less the bench, with the functions that ask which mutant is chosen."""
    copy.begin()
    with (copy.fresh / "Package.swift").open("a") as file:
        file.write(without_bench)
    for module in modules:
        shutil.copy2(package / "Tests/Mutants/Chosen.swift", copy.fresh / "Sources" / module)
    c = copy.fresh / "CSources/CHRTimer"
    shutil.copy2(package / "Tests/Mutants/hrt_mutant.c", c)
    shutil.copy2(package / "Tests/Mutants/hrt_mutant.h", c / "include")
    header = c / "include/CHRTimer.h"
    header.write_text(header.read_text().replace('#include "hrt_clock.h"', '#include "hrt_mutant.h"\n#include "hrt_clock.h"'))
    if are_races:
        race_mutants.begin(copy.fresh)


def mutate(numbers):
    """Puts the mutants with these numbers into the copy. Returns all that it can have."""
    if are_races:
        return race_mutants.mutate(copy.fresh, numbers)
    chosen = ",".join(str(number) for number in numbers)
    command = [compile_mutator(), copy.fresh, chosen]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [read_mutant(line) for line in lines] + c_mutants.mutate(copy.fresh, numbers)


def write(count, seed, dropped):
    """Writes the package with its mutants into the tree. Returns the mutants, and how many the package can have."""
    begin()
    numbers = sorted(mutant.number for mutant in mutate([]))
    chosen = set(random.Random(seed).sample(numbers, min(count, len(numbers)))) - dropped
    mutants = [mutant for mutant in mutate(chosen) if mutant.number in chosen]
    copy.finish()
    return mutants, len(numbers)


def read_mutant(line):
    number, file, at, lines, kind, function, change = line.split("\t")
    first_line, last_line = lines.split("-")
    return Mutant(int(number), file, int(at), int(first_line), int(last_line), kind, function, change)


def refused(output, mutants):
    """The mutants at the compiler's errors: the innermost on such a line, or all of the file if there is none."""
    numbers = set()
    for path, at in set(re.findall(r"^(/\S+\.swift):(\d+):\d+: error:", output, re.MULTILINE)):
        here = [mutant for mutant in mutants if path == str(copy.tree / mutant.file)]
        on_line = [mutant for mutant in here if mutant.first_line <= int(at) <= mutant.last_line]
        if on_line:
            shortest = min(mutant.last_line - mutant.first_line for mutant in on_line)
            on_line = [mutant for mutant in on_line if mutant.last_line - mutant.first_line == shortest]
        numbers.update(mutant.number for mutant in on_line or here)
    return numbers


def build(count, seed):
    """Builds all tests with the mutants, less those that do not compile. Returns the mutants that are in it."""
    kept = folder / f"dropped-{digest(finders)}"
    folder.mkdir(parents=True, exist_ok=True)
    dropped = {int(number) for number in kept.read_text().split()} if kept.exists() else set()
    for _ in range(rounds):
        mutants, candidates = write(count, seed, dropped)
        # The modules first: the tests take minutes, and have no mutants.
        for options in ["--target", "HRTimer"], ["--product", product]:
            result = copy.build(*options, *sanitizer)
            if result.returncode:
                break
        if not result.returncode:
            print(f"{len(mutants)} mutants of {candidates}; {count - len(mutants)} dropped, which did not compile", flush=True)
            return mutants
        wrong = refused(result.stdout + result.stderr, mutants)
        if not wrong:
            sys.exit("mutants: the tree does not build, and not because of a mutant:\n" + (result.stdout + result.stderr)[-4000:])
        print(f"{len(wrong)} mutants do not compile: {sorted(wrong)}", flush=True)
        dropped |= wrong
        kept.write_text(" ".join(str(number) for number in sorted(dropped)) + "\n")
    sys.exit(f"mutants: the tree does not build after {rounds} rounds")
