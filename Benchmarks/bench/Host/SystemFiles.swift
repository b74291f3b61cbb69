import Foundation

/// Where the doctor reads what the kernel reports: /proc and /sys, or texts that stand for them in a test.
struct SystemFiles: Sendable {
    /// The text of a file without white space around it; nil where it cannot be read.
    let read: @Sendable (String) -> String?
    /// The names in a directory, in order; none where there is no such directory.
    let list: @Sendable (String) -> [String]

    static let live = SystemFiles(
        read: { path in readText(path).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } },
        list: { path in ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    )

    /// The first of the files that can be read.
    func first(_ paths: String...) -> String? {
        for path in paths { if let text = read(path) { return text } }
        return nil
    }

    func number(_ path: String) -> Int64? {
        read(path).flatMap { Int64($0) }
    }

    /// The value of the first line "name : value", "name value" or "name=value".
    func field(_ name: String, of path: String) -> String? {
        for line in (read(path) ?? "").split(separator: "\n") where line.hasPrefix(name) {
            let rest = line.dropFirst(name.count)
            guard let next = rest.first, " \t:=".contains(next) else { continue }
            return rest.trimmingCharacters(in: CharacterSet(charactersIn: " \t:="))
        }
        return nil
    }

    /// What stands between brackets, as in "always [madvise] never".
    func chosen(_ path: String) -> String? {
        guard let text = read(path), let open = text.firstIndex(of: "["), let close = text.firstIndex(of: "]"),
            open < close
        else { return nil }
        return String(text[text.index(after: open)..<close])
    }
}
