import SwiftSyntax

/// For each case that only one enum of the package has, and that has no values: the case that takes its place.
final class Enums: SyntaxVisitor {
    private var owners: [String: Int] = [:]
    private var next: [String: String] = [:]

    func replacement(of name: String) -> String? { owners[name] == 1 ? next[name] : nil }

    override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind {
        let elements = node.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap(\.elements)
        let names = elements.filter { $0.parameterClause == nil }.map(\.name.text)
        for name in elements.map(\.name.text) { owners[name, default: 0] += 1 }
        if names.count < 2 { return .visitChildren }
        for (index, name) in names.enumerated() { next[name] = names[(index + 1) % names.count] }
        return .visitChildren
    }
}
