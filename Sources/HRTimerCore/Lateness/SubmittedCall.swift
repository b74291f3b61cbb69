// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// What is known of a call when it is submitted to a queue, loop, actor or task. Instants are on the monotonic clock.
package struct SubmittedCall: Sendable {
    package var submitted_ns: Int64
    /// Why the call was submitted late, if it was.
    package var explanation: LatenessExplanation?
    /// The cause of what `explanation` does not account for in a late submission.
    package var cause = LatenessCause.wakeup

    package init(submitted_ns: Int64) { self.submitted_ns = submitted_ns }

    /// Returns the explanation with the wait since the submission added.
    package func explained(_ deadline_ns: Int64, _ called_ns: Int64) -> LatenessExplanation {
        let submitted_ns = min(submitted_ns, called_ns)
        var result = explanation ?? LatenessExplanation(parts: LatenessParts(0))
        let before_ns = max(0, submitted_ns.subtractingSaturating(deadline_ns))
        if result.parts.lateness_ns != before_ns {
            // The submission was not late beyond the bound, or the lateness counts from another deadline now.
            var parts = LatenessParts(before_ns)
            for cause in LatenessCause.allCases { parts.take(result.parts[cause], for: cause) }
            parts.take(parts.rest_ns, for: cause)
            result.parts = parts
        }
        result.parts.add(called_ns.subtractingSaturating(max(deadline_ns, submitted_ns)), for: .delivery)
        return result
    }
}
#endif
