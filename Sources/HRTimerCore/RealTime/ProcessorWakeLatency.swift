// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A bound for some processors alone: pm_qos_resume_latency_us of each (Documentation/ABI/testing/sysfs-devices-power).
///
/// The file keeps the written value when the process ends, so the former value is written back. Several threads of the process
/// may bound one processor: the least of their bounds and of the former value holds.
final class ProcessorWakeLatency {
    private let processors: [Int]
    private let latency_us: Int32
    private var isHeld = false

    /// What the process has written into one processor's file.
    private struct File {
        let before: String
        var bounds_us: [Int32] = []

        /// The text to write. In the file "0" is no bound, and "n/a" is a bound of 0.
        var text: String {
            guard var least_us = bounds_us.min() else { return before }
            if before == "n/a" { least_us = 0 }
            if let before_us = Int32(before), before_us > 0 { least_us = min(least_us, before_us) }
            return least_us == 0 ? "n/a" : "\(least_us)"
        }
    }

    private static let files = Locked<[Int: File]>([:])

    init(_ latency: Duration, _ processors: Set<Int>?) throws(TimerError) {
        let request = SettingRequest(
            operation: "set processorWakeLatency to \(latency.inWords) by pm_qos_resume_latency_us",
            rights: "the right to write these files, which root has",
            range: "0 ... 2000 s, and processors"
        )
        latency_us = try microseconds(latency, request)
        guard let processors, !processors.isEmpty else { throw request.refusal(EINVAL) }
        self.processors = processors.sorted()
        // Writing the present value again changes nothing, and tells whether the process may write the file.
        try Self.files.withLock { files throws(TimerError) in
            for processor in self.processors {
                guard let text = files[processor]?.text ?? read(processor), write(text, processor) else {
                    throw request.refusal(errno)
                }
            }
        }
    }

    deinit { hold(false) }

    func hold(_ isHeld: Bool) {
        if isHeld == self.isHeld { return }
        self.isHeld = isHeld
        Self.files.withLock { files in
            for processor in processors { change(&files[processor], processor) }
        }
    }

    /// Adds this bound to one processor's file, or removes it. `file` is nil while the process does not bound that processor.
    private func change(_ file: inout File?, _ processor: Int) {
        guard var changed = file ?? read(processor).map({ File(before: $0) }) else { return }
        if isHeld {
            changed.bounds_us.append(latency_us)
        } else if let index = changed.bounds_us.firstIndex(of: latency_us) {
            changed.bounds_us.remove(at: index)
        }
        _ = write(changed.text, processor)
        file = changed.bounds_us.isEmpty ? nil : changed
    }
}

private func open(_ processor: Int, _ flags: Int32) -> Int32 {
    unsafe open("/sys/devices/system/cpu/cpu\(processor)/power/pm_qos_resume_latency_us", flags | O_CLOEXEC)
}

/// Returns nil with errno on failure.
private func read(_ processor: Int) -> String? {
    let descriptor = open(processor, O_RDONLY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 32)
    let length = unsafe HRTimerLibc.read(descriptor, &text, text.count)
    guard length > 0 else { return nil }
    return String(decoding: text[..<length].prefix { $0 != 10 }, as: UTF8.self)
}

/// Returns false with errno on failure.
private func write(_ text: String, _ processor: Int) -> Bool {
    let descriptor = open(processor, O_WRONLY)
    guard descriptor >= 0 else { return false }
    let written = unsafe HRTimerLibc.write(descriptor, text, text.utf8.count)
    let error = errno
    close(descriptor)
    errno = error
    return written == text.utf8.count
}
#endif
