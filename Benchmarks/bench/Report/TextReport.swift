import Foundation

/// What a person reads of a run. It shows what is in the JSON and nothing else, so that `bench report` can show it again.
struct TextReport {
    let session: Session
    let host: HostReport
    let isColoured: Bool

    var text: String { Self.text(of: [session], host: host, view: TextView(isColoured: isColoured)) }

    /// One report, or for a sweep the host and then a table for each interval.
    static func text(of sessions: [Session], host: HostReport, view: TextView) -> String {
        let json = JSONReport(sessions: sessions, host: host, command: CommandLine.arguments).text
        do {
            return ResultText(file: try ResultFile.parse(Data(json.utf8), name: "the result"), view: view).text
        } catch {
            // Both are of this program: a result that it cannot read is a mistake in it, and not lost for that.
            return "bench: \(error)\n\(json)"
        }
    }
}
