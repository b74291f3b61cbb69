// SPDX-License-Identifier: Apache-2.0
import SwiftSyntax

/// The functions and initializers that the modules declare, for arguments that can be exchanged: those whose types are the same text
/// in each declaration of that name with those labels.
final class Functions: SyntaxVisitor {
    private var types: [String: [[String]]] = [:]

    /// Returns the places of arguments that can take each other's, for a call with these labels: of each, the next of its type.
    func exchangeable(_ name: String, _ labels: [String]) -> [(Int, Int)] {
        guard let declared = types[Self.key(name, labels)] else { return [] }
        var pairs: [(Int, Int)] = []
        for one in labels.indices {
            let next = labels.indices.first { other in
                other > one && declared.allSatisfy { $0[one] == $0[other] && Self.isPlain($0[one]) }
            }
            if let next { pairs.append((one, next)) }
        }
        return pairs
    }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        add(node.name.text, node.signature.parameterClause.parameters)
        return .visitChildren
    }

    override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
        if let name = node.nameOfType { add(name, node.signature.parameterClause.parameters) }
        return .visitChildren
    }

    private func add(_ name: String, _ parameters: FunctionParameterListSyntax) {
        let labels = parameters.map(\.firstName.text)
        types[Self.key(name, labels), default: []].append(parameters.map(\.type.trimmedDescription))
    }

    private static func key(_ name: String, _ labels: [String]) -> String {
        name + "(" + labels.map { $0 + ":" }.joined() + ")"
    }

    /// Not a closure, and nothing that its function changes or takes.
    private static func isPlain(_ type: String) -> Bool {
        let words = ["(", "inout ", "some ", "consuming ", "borrowing ", "sending ", "isolated "]
        return words.allSatisfy { !type.contains($0) }
    }
}

extension InitializerDeclSyntax {
    fileprivate var nameOfType: String? {
        var node = parent
        while let current = node {
            if let type = current.asProtocol((any NamedDeclSyntax).self) { return type.name.text }
            if let type = current.as(ExtensionDeclSyntax.self) { return type.extendedType.trimmedDescription }
            node = current.parent
        }
        return nil
    }
}

extension FunctionCallExprSyntax {
    /// The name that is called, without what it is called on.
    var name: String? {
        if let reference = calledExpression.as(DeclReferenceExprSyntax.self) { return reference.baseName.text }
        return calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    }

    var labels: [String] { arguments.map { $0.label?.text ?? "_" } }

    /// Whether a choice between two such calls compiles: not within a chain that an optional may end, and without closures.
    var canBeChosen: Bool {
        let base = calledExpression.as(MemberAccessExprSyntax.self)?.base
        return trailingClosure == nil && base?.is(OptionalChainingExprSyntax.self) != true
            && parent?.is(MemberAccessExprSyntax.self) != true && parent?.is(OptionalChainingExprSyntax.self) != true
            && arguments.allSatisfy { $0.expression.isSimple }
    }
}

extension ExprSyntax {
    /// A name, a literal, a member or an operation of such: nothing that has an effect or is taken.
    fileprivate var isSimple: Bool {
        let text = trimmedDescription
        return text.count <= 80 && ["{", "&", "await ", "try ", "consume ", "copy "].allSatisfy { !text.contains($0) }
    }
}
