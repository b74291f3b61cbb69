import Foundation

/// The text of a run for people. It shows only what is in the JSON, so that `bench report` can show it again.
struct TextReport {
    let session: Session
    let host: HostReport
    let isColoured: Bool

    var text: String { Self.text(of: [session], host: host, view: TextView(isColoured: isColoured)) }

    /// Returns one report, or for a sweep the host and then a table for each interval.
    static func text(of sessions: [Session], host: HostReport, view: TextView) -> String {
        let json = JSONReport(sessions: sessions, host: host, command: CommandLine.arguments).text
        do {
            return ResultText(file: try ResultFile.parse(Data(json.utf8), name: "the result"), view: view).text
        } catch {
            // This program wrote the result: if it cannot read it, that is a bug of its own, but the result must not be
            // lost.
            return "bench: \(error)\n\(json)"
        }
    }
}
