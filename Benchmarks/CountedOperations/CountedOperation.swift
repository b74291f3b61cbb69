// SPDX-License-Identifier: Apache-2.0
/// An operation whose instructions are counted.
struct CountedOperation: Sendable {
    let face: String
    /// The verb of the face, so that a report names the call.
    let name: String
    /// Makes what the operation needs, which is the same for each count, and returns what does the operation so many times.
    let prepare: Prepare

    typealias Prepare = @Sendable (FrozenWorld) throws -> (_ count: Int) -> Void

    init(_ face: String, _ name: String, _ prepare: @escaping Prepare) {
        self.face = face
        self.name = name
        self.prepare = prepare
    }

    /// No run does more operations. So many timers are pending when it begins.
    static let most = 6000
    /// Whole batches.
    static let counts = stride(from: FrozenWorld.batch, through: most, by: FrozenWorld.batch)
}
