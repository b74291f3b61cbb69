# SPDX-License-Identifier: Apache-2.0
"""Mutants that only Thread Sanitizer can notice: a lock that is not taken, an atomic access with a weaker order."""
import re

import tree

swift_modules = ["Sources/HRTimerCore", "Sources/HRTimer"]
c_sources = "CSources/CHRTimer"
lock_file = "Sources/HRTimerCore/Driver/Locked.swift"
# What a mutant calls in place of `withLock`.
forgetful = """
#if os(Linux)
extension Locked where Value: ~Copyable {
    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        forgotten: Bool,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if forgotten { return try body(&value.pointee) }
        return try withLock(body)
    }
}
#endif
"""


def in_swift(text):
    """Each mutant of a file: where it is, its kind, the wrong text and what comes in its place if the mutant is chosen or not."""
    for found in re.finditer(r"(?<=[\w?)]\.)withLock(?: (?=\{)|\()", text):
        is_closure = found.group().endswith(" ")
        written = f"withLock(forgotten: mutant(#){')' if is_closure else ','} "
        yield found.start(), found.end(), "forgotten lock", written
    for found in re.finditer(r"rdering: \.(acquiring|releasing|acquiringAndReleasing|sequentiallyConsistent)\b", text):
        begin, end = call_around(text, found.start())
        call = text[begin:end]
        weaker = call[:found.start() - begin] + "rdering: .relaxed" + call[found.end() - begin:]
        # A fence has no weaker order than acquiring.
        if "Fence" in call:
            weaker = weaker.replace(".relaxed", ".acquiring")
        yield begin, end, "weaker order", f"(mutant(#) ? {weaker} : {call})"


def call_around(text, offset):
    """Where the call begins whose argument is at `offset`, with what it is called on, and where it ends."""
    depth, begin = 0, offset
    while depth >= 0:
        begin -= 1
        depth += {")": 1, "(": -1}.get(text[begin], 0)
    depth, end = 0, begin
    while True:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            break
    while re.match(r"[\w.?!]", text[begin - 1]):
        begin -= 1
    return begin, end


def in_c(text):
    for found in re.finditer(r"\bmemory_order_(acquire|release|acq_rel|seq_cst)\b|\b__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b", text):
        weaker = "__ATOMIC_RELAXED" if found.group().startswith("__") else "memory_order_relaxed"
        yield found.start(), found.end(), "weaker order", f"(hrt_mutant(#) ? {weaker} : {found.group()})"


def function_at(text, offset):
    """The name of the declaration before `offset`, which with the change makes a mutant's name."""
    names = re.findall(r"\b(?:func|var|init|deinit|subscript)\b ?(\w*)|^\w[\w *]*?(\w+)\([^;]*$", text[:offset], re.MULTILINE)
    return next((one or other for one, other in reversed(names) if one or other), "")


def begin(fresh):
    with (fresh / lock_file).open("a") as file:
        file.write(forgetful)


def mutate(fresh, numbers):
    """Puts the mutants with these numbers into the files of the copy. Returns all that they can have."""
    mutants = []
    paths = [(path, in_swift) for module in swift_modules for path in sorted((fresh / module).rglob("*.swift"))]
    paths += [(path, in_c) for path in sorted((fresh / c_sources).glob("*/*.c"))]
    for path, find in paths:
        own, text = str(path.relative_to(fresh)), path.read_text()
        if own == lock_file:
            continue
        written, copied = "", 0
        for first, last, kind, wrong in find(text):
            number, line = len(mutants) + 1, text.count("\n", 0, first) + 1
            shown = text[text.rfind("\n", 0, first) + 1:text.find("\n", last)].strip()
            mutants.append(tree.Mutant(number, own, line, line, line + text.count("\n", first, last), kind, function_at(text, first),
                                       " ".join(shown.split())[:160]))
            # Of those within one another the first is written.
            if number in numbers and first >= copied:
                written += text[copied:first] + wrong.replace("#", str(number))
                copied = last
        if copied:
            written += text[copied:]
            path.write_text(('#include "../include/hrt_mutant.h"\n' if find is in_c else "") + written)
    return mutants
