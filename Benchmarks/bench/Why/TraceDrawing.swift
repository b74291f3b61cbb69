import Foundation

/// `bench report --trace`: draws a file in the Trace Event Format, around its latest fire.
enum TraceDrawing {
    /// Writes the picture. The same file always gives the same picture.
    static func draw(_ data: Data, named name: String, to files: [String]) throws {
        guard files.count == 1, let file = files.first, file.hasSuffix(".svg") else {
            throw BenchError("report --trace takes one -o FILE.svg")
        }
        let picture = try svg(data, named: name)
        guard FileManager.default.createFile(atPath: file, contents: Data(picture.utf8)) else {
            throw BenchError("\(file) cannot be written")
        }
    }

    struct Event {
        let phase: String
        let name: String
        let thread: Int
        let at_us: Double
        let length_us: Double
        let id: String?
        let arguments: [String: Any]
    }

    static func events(_ data: Data, named name: String) throws -> [Event] {
        guard let file = try? JSONSerialization.jsonObject(with: data) as? [String: Any],
            let all = file["traceEvents"] as? [[String: Any]]
        else {
            throw BenchError("\(name) is no trace: report --trace takes a file of run --trace or of a flight recorder")
        }
        return try all.map { event in
            guard let phase = event["ph"] as? String, let title = event["name"] as? String,
                let thread = event["tid"] as? Int, let at_us = event["ts"] as? Double
            else { throw BenchError("\(name): an event lacks ph, name, tid or ts") }
            return Event(
                phase: phase,
                name: title,
                thread: thread,
                at_us: at_us,
                length_us: event["dur"] as? Double ?? 0,
                id: event["id"] as? String,
                arguments: event["args"] as? [String: Any] ?? [:]
            )
        }
    }

    private static let (width, left, row) = (1200.0, 170.0, 34.0)

    static func svg(_ data: Data, named name: String) throws -> String {
        let events = try events(data, named: name)
        let timed = events.filter { $0.phase != "M" }
        guard let first = timed.map(\.at_us).min(), let last = timed.map({ $0.at_us + $0.length_us }).max() else {
            throw BenchError("\(name) has no events")
        }
        // Around the latest fire: three times its lateness, at least ten milliseconds.
        let late = pairs(events).filter { $0.begin.name.hasPrefix("late") }
        let worst = late.max { $0.end.at_us - $0.begin.at_us < $1.end.at_us - $1.begin.at_us }
        let span = worst.map { max(10_000, 3 * ($0.end.at_us - $0.begin.at_us)) } ?? min(20_000, last - first)
        let begin = max(first, (worst?.begin.at_us ?? first) - span / 3)
        let names = threadNames(events)
        let threads = Set(timed.filter { $0.at_us < begin + span && $0.at_us + $0.length_us > begin }.map(\.thread))
            .sorted()
        func x(_ at_us: Double) -> Double { left + (width - left - 40) * min(1, max(0, (at_us - begin) / span)) }
        var parts = [SVG.text("\(name): \(us(span)) around the latest fire", 10, 22, "head")]
        var height = 40.0
        for thread in threads {
            let spans = pairs(events).filter {
                $0.begin.thread == thread && $0.begin.at_us < begin + span && $0.end.at_us > begin
            }
            let rows = rows(spans)
            parts.append(SVG.text(names[thread] ?? "thread \(thread)", 10, height + 17, "small"))
            for event in timed where event.thread == thread && event.phase == "X" {
                if event.at_us > begin + span || event.at_us + event.length_us < begin { continue }
                let style = event.name == "park" ? "park" : event.name == "spin" ? "c3" : "c1"
                let top = height + (event.name == "call" ? 2 : 6)
                let wide = max(1, x(event.at_us + event.length_us) - x(event.at_us))
                parts.append(rect(x(event.at_us), top, wide, event.name == "call" ? 20 : 12, style, tooltip(event)))
            }
            for event in timed
            where event.thread == thread && event.name == "deadline" && (begin...begin + span).contains(event.at_us) {
                parts.append(SVG.line(x(event.at_us), height - 2, x(event.at_us), height + 24, "axis"))
            }
            height += row
            for (number, row) in rows.enumerated() {
                for pair in row {
                    let style = pair.begin.name.hasPrefix("late") ? "c0" : "c4"
                    let top = height + Double(number) * 18
                    let wide = max(2, x(pair.end.at_us) - x(pair.begin.at_us))
                    parts.append(rect(x(pair.begin.at_us), top, wide, 8, style, tooltip(pair.begin)))
                    let text = pair.begin.name + " " + us(pair.end.at_us - pair.begin.at_us)
                    if wide > 40 { parts.append(SVG.text(text, x(pair.begin.at_us), top + 17, "small")) }
                }
            }
            height += Double(rows.count) * 18 + 8
        }
        for tick in 0...5 {
            let at = span * Double(tick) / 5
            parts.append(SVG.line(x(begin + at), 34, x(begin + at), height, "grid"))
            parts.append(SVG.text(us(at), x(begin + at), height + 16, "small middle"))
        }
        parts.append(
            SVG.text(
                "grey: parked, orange: spinning, blue: a handler runs, red: late, violet: on its way, thin lines: deadlines",
                left,
                height + 38,
                "small"
            )
        )
        let style = SVG.style + "svg rect.park{fill:var(--other)}svg{background:var(--back)}"
        return SVG.element(
            "svg",
            [
                ("xmlns", "http://www.w3.org/2000/svg"), ("width", "\(Int(width))"), ("height", "\(Int(height + 50))"),
                ("viewBox", "0 0 \(Int(width)) \(Int(height + 50))"),
            ],
            "<style>\(style)</style>" + parts.joined(separator: "\n")
        ) + "\n"
    }

    private static func rect(
        _ x: Double,
        _ y: Double,
        _ width: Double,
        _ height: Double,
        _ style: String,
        _ title: String
    ) -> String {
        SVG.element(
            "rect",
            [
                ("x", SVG.number(x)), ("y", SVG.number(y)), ("width", SVG.number(width)),
                ("height", SVG.number(height)),
                ("class", style),
            ],
            SVG.element("title", [], SVG.escaped(title))
        )
    }

    private static func tooltip(_ event: Event) -> String {
        ([event.name] + event.arguments.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }).joined(
            separator: "\n"
        )
    }

    private static func us(_ us: Double) -> String { timeText(Int64(us * 1000)) }

    /// Returns begin and end of the events that have an id, which makes them a track of their own.
    static func pairs(_ events: [Event]) -> [(begin: Event, end: Event)] {
        var open: [String: Event] = [:]
        var pairs: [(begin: Event, end: Event)] = []
        for event in events {
            guard let id = event.id else { continue }
            if event.phase == "b" { open[id] = event }
            if event.phase == "e", let begin = open.removeValue(forKey: id) { pairs.append((begin, event)) }
        }
        return pairs
    }

    /// Distributes spans over at most eight rows so that none overlaps another; spans beyond that are left out.
    private static func rows(_ spans: [(begin: Event, end: Event)]) -> [[(begin: Event, end: Event)]] {
        var rows: [[(begin: Event, end: Event)]] = []
        for span in spans.sorted(by: { $0.begin.at_us < $1.begin.at_us }) {
            if let free = rows.firstIndex(where: { ($0.last?.end.at_us ?? 0) <= span.begin.at_us }) {
                rows[free].append(span)
            } else if rows.count < 8 {
                rows.append([span])
            }
        }
        return rows
    }

    private static func threadNames(_ events: [Event]) -> [Int: String] {
        var names: [Int: String] = [:]
        for event in events where event.name == "thread_name" {
            names[event.thread] = event.arguments["name"] as? String
        }
        return names
    }
}
