// SPDX-License-Identifier: Apache-2.0
import SwiftSyntax

/// For each case that only one enum of the package has, that has no values and whose name no static property has: the case that takes
/// its place.
final class Enums: SyntaxVisitor {
    private var owners: [String: Int] = [:]
    private var next: [String: String] = [:]

    private var clocks: Set<String> = []

    func isClock(_ name: String) -> Bool { clocks.contains(name) }

    func replacement(of name: String) -> String? { owners[name] == 1 || isClock(name) ? next[name] : nil }

    override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind {
        let elements = node.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap(\.elements)
        let names = elements.filter { $0.parameterClause == nil }.map(\.name.text)
        for name in elements.map(\.name.text) { owners[name, default: 0] += 1 }
        if node.name.text == "TimerClock" { clocks = Set(names) }
        if names.count < 2 { return .visitChildren }
        for (index, name) in names.enumerated() { next[name] = names[(index + 1) % names.count] }
        return .visitChildren
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        if node.modifiers.contains(where: { $0.name.tokenKind == .keyword(.static) }) {
            for binding in node.bindings { owners[binding.pattern.trimmedDescription, default: 0] += 1 }
        }
        return .visitChildren
    }
}
