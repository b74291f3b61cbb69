// SPDX-License-Identifier: Apache-2.0
import SwiftSyntax

/// Finds all mutants of one file. Operators must be folded.
final class Candidates: SyntaxVisitor {
    private(set) var mutants: [Mutant] = []
    private let source: [UInt8]
    private let enums: Enums
    private let functions: Functions
    private let lines: SourceLocationConverter

    init(of file: SourceFileSyntax, _ source: [UInt8], _ enums: Enums, _ functions: Functions) {
        self.source = source
        self.enums = enums
        self.functions = functions
        lines = SourceLocationConverter(fileName: "", tree: file)
        super.init(viewMode: .sourceAccurate)
        walk(file)
    }

    // MARK: What is skipped

    override func visit(_: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: WhereClauseSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: EnumCaseDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: ExpressionPatternSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

    override func visit(_ node: IfConfigClauseSyntax) -> SyntaxVisitorContinueKind {
        guard node.isForThisPlatform else { return .skipChildren }
        if let elements = node.elements { walk(elements) }
        return .skipChildren
    }

    override func visit(_ node: InitializerClauseSyntax) -> SyntaxVisitorContinueKind {
        node.parent?.is(FunctionParameterSyntax.self) == true ? .skipChildren : .visitChildren
    }

    override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
        node.attributes.isInlined ? .skipChildren : .visitChildren
    }

    override func visit(_ node: SubscriptDeclSyntax) -> SyntaxVisitorContinueKind {
        node.attributes.isInlined ? .skipChildren : .visitChildren
    }

    // MARK: Expressions

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        if node.isSkipped { return .skipChildren }
        if let name = node.name, node.canBeChosen {
            for (one, other) in functions.exchangeable(name, node.labels) { exchange(one, other, of: node) }
        }
        return .visitChildren
    }

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        let swapped = [
            "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===", "&&": "||",
            "||": "&&",
        ]
        let name = node.operator.trimmedDescription
        guard let other = swapped[name] else { return .visitChildren }
        let wrong = text(node.leftOperand) + " " + other + " " + text(node.rightOperand)
        replace(node, by: wrong, "<=>=".contains(name) ? .boundary : .comparison, shown: node)
        return .visitChildren
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        guard let operation = node.parent?.as(InfixOperatorExprSyntax.self),
            let name = operation.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
        else { return .skipChildren }
        let digits = node.literal.text
        let isDropped = digits == "1" && ["+", "-", "+=", "-=", "&+", "&-", "&+=", "&-="].contains(name)
        let wrong = isDropped ? "0" : Int(digits).map { String($0 + 1) } ?? "(\(digits) + 1)"
        replace(node, by: wrong, .literal, shown: operation)
        return .skipChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        // After a loop without end the compiler needs no return.
        if node.parent?.is(ConditionElementSyntax.self) == true { return .skipChildren }
        replace(node, by: node.literal.text == "true" ? "false" : "true", .constant, shown: surroundings(of: node))
        return .skipChildren
    }

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
        let name = node.declName.baseName.text
        guard node.base == nil, let wrong = enums.replacement(of: name), let parent = node.parent,
            !parent.is(MemberAccessExprSyntax.self), !parent.is(FunctionCallExprSyntax.self)
        else { return .visitChildren }
        let kind = enums.isClock(name) ? MutantKind.wrongClock : .constant
        replace(node, by: "." + wrong, kind, shown: surroundings(of: node))
        return .skipChildren
    }

    override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
        let clocks = [
            "HRT_CLOCK_MONOTONIC": "HRT_CLOCK_BOOT", "HRT_CLOCK_BOOT": "HRT_CLOCK_WALL",
            "HRT_CLOCK_WALL": "HRT_CLOCK_MONOTONIC",
        ]
        if let wrong = clocks[node.baseName.text] {
            replace(node, by: wrong, .wrongClock, shown: surroundings(of: node))
        }
        return .skipChildren
    }

    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        if let condition = node.condition.as(ExprSyntax.self) { negate(condition) }
        return .visitChildren
    }

    override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
        negate(node.condition)
        return .visitChildren
    }

    // MARK: Statements

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        guard let expression = node.item.as(ExprSyntax.self), let call = expression.unusedCall else {
            return .visitChildren
        }
        if call.isSkipped { return .skipChildren }
        if node.isValue { return .visitChildren }
        let kind = call.isWake ? MutantKind.forgottenWake : .droppedCall
        add(kind, around: expression, before: "if !mutant(#) { ", after: " }", change: text(expression))
        return .visitChildren
    }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        if node.attributes.isInlined { return .skipChildren }
        let result = node.signature.returnClause?.type.trimmedDescription
        if let statements = node.body?.statements { returnEarly(from: statements, result) }
        return .visitChildren
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        if node.isSkipped { return .skipChildren }
        for binding in node.bindings {
            guard let type = binding.typeAnnotation?.type.trimmedDescription, type == "Bool",
                let statements = binding.accessorBlock?.accessors.as(CodeBlockItemListSyntax.self)
            else { continue }
            returnEarly(from: statements, type)
        }
        return .visitChildren
    }

    /// A function without a result returns at once; a question is answered without a look.
    private func returnEarly(from statements: CodeBlockItemListSyntax, _ result: String?) {
        guard let first = statements.first, result == nil || result == "Bool" else { return }
        var word = ""
        if result != nil, statements.count == 1 {
            let isStatement = first.item.is(ExpressionStmtSyntax.self)
            // The branches of such an expression are its values, which they are no more after another statement.
            if isStatement, !text(first).contains("return") { return }
            if first.item.is(ExprSyntax.self) { word = "return " }
        }
        for answer in result == nil ? [""] : [" true", " false"] {
            let before = "if mutant(#) { return\(answer) }; "
            add(.earlyReturn, around: statements, before: before + word, after: "", change: "return" + answer)
        }
    }

    // MARK: Making mutants

    private func negate(_ condition: ExprSyntax) {
        if let mark = condition.as(UnsafeExprSyntax.self) { return negate(mark.expression) }
        let name = condition.as(InfixOperatorExprSyntax.self)?.operator.trimmedDescription ?? ""
        // Those are negated already.
        if ["==", "!=", "===", "!=="].contains(name) || condition.is(BooleanLiteralExprSyntax.self) { return }
        let was = text(condition)
        let before = "(mutant(#) ? !(\(was)) : ("
        add(.condition, around: condition, before: before, after: "))", change: was + " => !(\(was))")
    }

    private func exchange(_ one: Int, _ other: Int, of call: FunctionCallExprSyntax) {
        let arguments = Array(call.arguments).map(\.expression)
        let (first, second) = (bytes(arguments[one]), bytes(arguments[other]))
        if text(first) == text(second) { return }
        let whole = bytes(call)
        let wrong =
            text(whole.lowerBound..<first.lowerBound) + text(second) + text(first.upperBound..<second.lowerBound)
            + text(first) + text(second.upperBound..<whole.upperBound)
        replace(call, by: wrong, .swappedArguments, shown: call)
    }

    private func replace(_ node: some SyntaxProtocol, by wrong: String, _ kind: MutantKind, shown: some SyntaxProtocol)
    {
        let shownWrong =
            text(bytes(shown).lowerBound..<bytes(node).lowerBound) + wrong
            + text(bytes(node).upperBound..<bytes(shown).upperBound)
        let change = text(shown) + " => " + shownWrong
        add(kind, around: node, before: "(mutant(#) ? \(wrong) : ", after: ")", change: change)
    }

    private func add(
        _ kind: MutantKind,
        around node: some SyntaxProtocol,
        before: String,
        after: String,
        change: String
    ) {
        let line = lines.location(for: node.positionAfterSkippingLeadingTrivia).line
        mutants.append(
            Mutant(
                kind: kind,
                bytes: bytes(node),
                before: before,
                after: after,
                function: node.enclosingDeclaration,
                change: change.onOneLine,
                line: line
            )
        )
    }

    private func bytes(_ node: some SyntaxProtocol) -> Range<Int> {
        node.positionAfterSkippingLeadingTrivia.utf8Offset..<node.endPositionBeforeTrailingTrivia.utf8Offset
    }

    private func text(_ node: some SyntaxProtocol) -> String { text(bytes(node)) }

    private func text(_ bytes: Range<Int>) -> String { String(decoding: source[bytes], as: UTF8.self) }

    /// As much around a literal as a line shows, since `false` alone says nothing.
    private func surroundings(of node: some SyntaxProtocol) -> Syntax {
        var shown = Syntax(node)
        while let outer = shown.parent, bytes(outer).count <= 100 {
            // One statement is enough, if it is more than the literal.
            if outer.is(CodeBlockItemListSyntax.self), bytes(shown).count > bytes(node).count { break }
            shown = outer
        }
        return shown
    }
}

extension ExprSyntax {
    /// The call that this statement is, if nobody uses its result.
    fileprivate var unusedCall: FunctionCallExprSyntax? {
        if let attempt = self.as(TryExprSyntax.self) { return attempt.expression.unusedCall }
        if let wait = self.as(AwaitExprSyntax.self) { return wait.expression.unusedCall }
        if let mark = self.as(UnsafeExprSyntax.self) { return mark.expression.unusedCall }
        if let chain = self.as(OptionalChainingExprSyntax.self) { return chain.expression.unusedCall }
        if let assignment = self.as(InfixOperatorExprSyntax.self), assignment.operator.is(AssignmentExprSyntax.self),
            assignment.leftOperand.is(DiscardAssignmentExprSyntax.self)
        {
            return assignment.rightOperand.unusedCall
        }
        return self.as(FunctionCallExprSyntax.self)
    }
}

extension SyntaxProtocol {
    /// The name of the function or property around this, or of this.
    fileprivate var enclosingDeclaration: String {
        var node: Syntax? = Syntax(self)
        while let current = node {
            if let function = current.as(FunctionDeclSyntax.self) {
                let labels = function.signature.parameterClause.parameters.map { $0.firstName.text + ":" }
                return function.name.text + "(" + labels.joined() + ")"
            }
            if let start = current.as(InitializerDeclSyntax.self) {
                return "init(" + start.signature.parameterClause.parameters.map { $0.firstName.text + ":" }.joined()
                    + ")"
            }
            if current.is(DeinitializerDeclSyntax.self) { return "deinit" }
            if current.is(SubscriptDeclSyntax.self) { return "subscript" }
            if let variable = current.as(VariableDeclSyntax.self), !variable.isLocal {
                return variable.bindings.first?.pattern.trimmedDescription ?? "variable"
            }
            node = current.parent
        }
        return "file"
    }
}

extension VariableDeclSyntax {
    fileprivate var isLocal: Bool {
        parent?.is(MemberBlockItemSyntax.self) != true && parent?.parent?.parent?.is(SourceFileSyntax.self) != true
    }
}
