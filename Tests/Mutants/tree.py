"""The copy of the package that has the mutants, under .build/mutants: changes and builds it."""
import collections
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys

from copies import Copy, package

copy = Copy("mutants")
folder = copy.folder
modules = ["HRTimerCore", "HRTimer"]
# A build can find mutants that do not compile only in files whose other mutants do.
rounds = 8

Mutant = collections.namedtuple("Mutant", "number file line first_line last_line kind function change")


def digest(names, without=""):
    """A hash of these files and folders of the package, without one of them."""
    total = hashlib.sha256()
    for name in names:
        for path in sorted((package / name).rglob("*")):
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


def write(count, seed, dropped):
    """Writes the package with its mutants into the tree. Returns the mutants, and how many the package can have."""
    copy.begin()
    for module in modules:
        shutil.copy2(package / "Tests/Mutants/Chosen.swift", copy.fresh / "Sources" / module)
    numbers = ",".join(str(number) for number in sorted(dropped))
    command = [compile_mutator(), copy.fresh, str(count), str(seed), numbers]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    copy.finish()
    return [read_mutant(line) for line in lines[1:]], int(lines[0].split("\t")[1])


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
    kept = folder / f"dropped-{digest(['Sources', 'Tests/Mutants/Mutator'])}"
    folder.mkdir(parents=True, exist_ok=True)
    dropped = {int(number) for number in kept.read_text().split()} if kept.exists() else set()
    for _ in range(rounds):
        mutants, candidates = write(count, seed, dropped)
        # The modules first: the tests take minutes, and have no mutants.
        for options in ["--target", "HRTimer"], ["--build-tests"]:
            result = copy.build(*options)
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
