# SPDX-License-Identifier: Apache-2.0
"""Mutants of the C queue, found in clang's syntax tree and written into the copy's files."""
import json
import shutil
import subprocess

import tree

sources = "CSources/CHRTimer/queue"
# Swift's are numbered from 1 on.
first_number = 20001
swapped = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
arithmetic = {"+", "-", "<<", ">>", "&", "|", "%", "*", "/", "<", "<=", ">", ">=", "==", "!="}


class Candidates:
    """The mutants of one file. Each has text before and after a part of it, so that parts may lie within each other."""

    def __init__(self, path):
        self.source = path.read_bytes()
        self.found = []
        command = [shutil.which("clang") or "clang", "-x", "c", "-D_GNU_SOURCE", "-DHRT_CHECKING", "-fsyntax-only",
                   "-Wno-everything", "-Xclang", "-ast-dump=json", path]
        root = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for node in root["inner"]:
            if node["kind"] == "FunctionDecl" and "includedFrom" not in node["loc"]:
                self.visit_function(node)

    def visit_function(self, node):
        bodies = [inner for inner in node.get("inner", []) if inner["kind"] == "CompoundStmt"]
        if not bodies or self.bytes_of(node) is None:
            return
        self.function = node["name"]
        result = node["type"]["qualType"].split("(")[0].strip()
        begin = self.bytes_of(bodies[0])[0] + 1
        answers = {"void": [""], "bool": [" true", " false"], "_Bool": [" true", " false"]}
        for answer in answers.get(result, []):
            self.add("early return", begin, begin, f" if (hrt_mutant(#)) return{answer};", "", "return" + answer)
        self.visit(bodies[0], None)

    def visit(self, node, parent):
        if self.bytes_of(node) is None or node["kind"] == "ConstantExpr":
            return
        if parent is not None and parent["kind"] in ("CompoundStmt", "IfStmt", "ForStmt", "WhileStmt"):
            self.drop(node, parent)
        if node["kind"] == "BinaryOperator" and node["opcode"] in swapped:
            self.exchange_operator(node)
        if node["kind"] in ("IfStmt", "ConditionalOperator"):
            self.negate(node["inner"][0])
        if node["kind"] == "IntegerLiteral" and parent is not None and parent.get("opcode") in arithmetic:
            self.change_literal(node, parent)
        # A cast that is not written down is not there for those within it.
        inner_parent = parent if node["kind"] == "ImplicitCastExpr" else node
        for inner in node.get("inner", []):
            if "range" in inner:
                self.visit(inner, inner_parent)

    def drop(self, node, parent):
        """A statement that is a call or changes something is left out."""
        is_condition = parent["kind"] != "CompoundStmt" and node is parent["inner"][0]
        is_change = node.get("opcode") in ("=", "++", "--") or node["kind"] == "CompoundAssignOperator"
        is_in_head = parent["kind"] == "ForStmt" and node is not parent["inner"][-1]
        if is_condition or is_in_head or not (is_change or node["kind"] == "CallExpr"):
            return
        kind = "dropped call" if node["kind"] == "CallExpr" else "dropped statement"
        begin, end = self.bytes_of(node)
        self.add(kind, begin, end, "(void)(hrt_mutant(#) ? 0 : ((", "), 0))", self.text(begin, end))

    def exchange_operator(self, node):
        begin, end = self.bytes_of(node)
        sides = [self.bytes_of(inner) for inner in node["inner"]]
        if None in sides:
            return
        other = swapped[node["opcode"]]
        kind = "boundary" if node["opcode"] in ("<", "<=", ">", ">=") else "comparison"
        self.replace(kind, begin, end, f"{self.text(*sides[0])} {other} {self.text(*sides[1])}", (begin, end))

    def negate(self, condition):
        if condition.get("opcode") in ("==", "!=") or self.bytes_of(condition) is None:
            return
        begin, end = self.bytes_of(condition)
        self.replace("condition", begin, end, f"!({self.text(begin, end)})", (begin, end))

    def change_literal(self, node, parent):
        begin, end = self.bytes_of(node)
        value = int(node["value"])
        wrong = 0 if value == 1 and parent["opcode"] in ("+", "-") else value + 1
        self.replace("literal", begin, end, str(wrong), self.bytes_of(parent))

    def replace(self, kind, begin, end, wrong, shown):
        was = self.text(*shown)
        change = was + " => " + self.text(shown[0], begin) + wrong + self.text(end, shown[1])
        self.add(kind, begin, end, f"(hrt_mutant(#) ? ({wrong}) : (", "))", change)

    def add(self, kind, begin, end, before, after, change):
        line = self.source.count(b"\n", 0, begin) + 1
        self.found.append((begin, end, before, after, line, kind, self.function, " ".join(change.split())))

    def bytes_of(self, node):
        """Where a node is in this file; None if a macro made it."""
        begin, end = node["range"]["begin"], node["range"]["end"]
        if "offset" not in begin or "offset" not in end:
            return None
        return begin["offset"], end["offset"] + end["tokLen"]

    def text(self, begin, end):
        return self.source[begin:end].decode()


def written(source, chosen):
    """The file's text with these mutants."""
    inserted = []
    for number, (begin, end, before, after, *_) in chosen:
        # At one place ends come first, then begins from the outermost on; ends from the innermost on.
        inserted.append((begin, 1, -end, number, before.replace("#", str(number))))
        inserted.append((end, 0 if end > begin else 1, -begin if end > begin else -end, -number, after))
    text, copied = b'#include "../include/hrt_mutant.h"\n', 0
    for offset, *_, part in sorted(inserted):
        text += source[copied:offset] + part.encode()
        copied = offset
    return text + source[copied:]


def mutate(fresh, numbers):
    """Puts the mutants with these numbers into the files of the copy. Returns all that they can have."""
    mutants, number = [], first_number
    for path in sorted((fresh / sources).glob("*.[ch]")):
        candidates = Candidates(path)
        numbered = list(enumerate(candidates.found, number))
        number += len(numbered)
        own = str(path.relative_to(fresh))
        mutants += [tree.Mutant(found, own, line, 0, 0, kind, function, change)
                    for found, (_, _, _, _, line, kind, function, change) in numbered]
        chosen = [one for one in numbered if one[0] in numbers]
        if chosen:
            path.write_bytes(written(candidates.source, chosen))
    return mutants
