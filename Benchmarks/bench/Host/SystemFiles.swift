import Foundation

/// The doctor's source of what the kernel reports: /proc and /sys, or texts that replace them in a test.
struct SystemFiles: Sendable {
    /// Returns the text of a file without white space around it; nil if it cannot be read.
    let read: @Sendable (String) -> String?
    /// Returns the names in a directory, sorted; empty if there is no such directory.
    let list: @Sendable (String) -> [String]

    static let live = SystemFiles(
        read: { path in readText(path).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } },
        list: { path in ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    )

    /// Returns the text of the first file that can be read.
    func first(_ paths: String...) -> String? {
        for path in paths { if let text = read(path) { return text } }
        return nil
    }

    func number(_ path: String) -> Int64? {
        read(path).flatMap { Int64($0) }
    }

    /// Returns the value of the first line "name : value", "name value" or "name=value".
    func field(_ name: String, of path: String) -> String? {
        for line in (read(path) ?? "").split(separator: "\n") where line.hasPrefix(name) {
            let rest = line.dropFirst(name.count)
            guard let next = rest.first, " \t:=".contains(next) else { continue }
            return rest.trimmingCharacters(in: CharacterSet(charactersIn: " \t:="))
        }
        return nil
    }

    /// Returns the text between brackets, as in "always [madvise] never".
    func chosen(_ path: String) -> String? {
        guard let text = read(path), let open = text.firstIndex(of: "["), let close = text.firstIndex(of: "]"),
            open < close
        else { return nil }
        return String(text[text.index(after: open)..<close])
    }
}
