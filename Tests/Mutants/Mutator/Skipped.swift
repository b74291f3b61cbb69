// SPDX-License-Identifier: Apache-2.0
import SwiftSyntax

// What no mutant is made of: no test may depend on it, or it does not compile with a call of `mutant` inside.

/// Texts for people and for probes, and calls that only end the process.
private let skippedCalls: Set<String> = [
    "precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError", "usageWarning", "warnOfUsage",
]

private let skippedNames: Set<String> = ["description", "debugDescription", "customMirror", "playgroundDescription"]

extension FunctionCallExprSyntax {
    var isSkipped: Bool {
        let name = calledExpression.trimmedDescription
        return skippedCalls.contains(name) || name.hasPrefix("hrt_probe_") || name.contains("UsageWarning")
            || name.hasSuffix(".init") || onlyExtendsLifetime
    }

    /// The tests run in a build for debugging, where variables live to the end of their scope anyway.
    private var onlyExtendsLifetime: Bool {
        calledExpression.trimmedDescription == "withExtendedLifetime" && trailingClosure?.statements.isEmpty == true
    }

    /// Whether the call makes a thread or a task go on.
    var isWake: Bool {
        let name = calledExpression.trimmedDescription.split(separator: ".").last ?? ""
        return ["wake", "notify", "signal", "broadcast", "resume", "hrt_wait_wake"].contains { name.hasPrefix($0) }
    }
}

extension AttributeListSyntax {
    /// Inlined code cannot call an internal function.
    var isInlined: Bool {
        contains { element in
            guard let name = element.as(AttributeSyntax.self)?.attributeName.trimmedDescription else { return true }
            return ["inlinable", "_alwaysEmitIntoClient", "_transparent"].contains(name)
        }
    }
}

extension VariableDeclSyntax {
    var isSkipped: Bool {
        attributes.isInlined || bindings.contains { skippedNames.contains($0.pattern.trimmedDescription) }
    }
}

extension IfConfigClauseSyntax {
    /// Each file of the package is in this condition. Other conditions may be for other compilers, which nobody runs here.
    var isForThisPlatform: Bool { condition?.trimmedDescription == "os(Linux)" }
}

extension CodeBlockItemSyntax {
    /// Whether the statement is the value of what it stands in: the only one of a body that has a result, or of a closure, of which
    /// the syntax does not tell.
    var isValue: Bool {
        guard let list = parent?.as(CodeBlockItemListSyntax.self), list.count == 1, let owner = list.parent else {
            return false
        }
        if owner.is(ClosureExprSyntax.self) { return true }
        if owner.is(SwitchCaseSyntax.self) { return owner.enclosingStatementIsValue }
        if let block = owner.as(AccessorBlockSyntax.self) { return block.accessors.is(CodeBlockItemListSyntax.self) }
        guard let holder = owner.parent else { return false }
        if let function = holder.as(FunctionDeclSyntax.self) { return function.signature.returnClause != nil }
        if let accessor = holder.as(AccessorDeclSyntax.self) {
            return accessor.accessorSpecifier.tokenKind == .keyword(.get)
        }
        if holder.is(IfExprSyntax.self) || holder.is(DoStmtSyntax.self) { return owner.enclosingStatementIsValue }
        return false
    }
}

extension SyntaxProtocol {
    /// Whether the `if` or `switch` around this is a value: on the right of something, or as a value of what it stands in.
    fileprivate var enclosingStatementIsValue: Bool {
        var node = parent
        while let current = node, !current.is(IfExprSyntax.self), !current.is(SwitchExprSyntax.self) {
            node = current.parent
        }
        // An `else if` is a part of the first `if`.
        while let current = node, let outer = current.parent, outer.is(IfExprSyntax.self) { node = outer }
        guard let statement = node?.parent?.as(ExpressionStmtSyntax.self) else { return true }
        return statement.parent?.as(CodeBlockItemSyntax.self)?.isValue ?? true
    }
}
