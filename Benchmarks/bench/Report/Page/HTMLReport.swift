// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A result as one self-contained page: inline pictures, tables for readers who cannot see them, the machine, and the raw
/// result to download. It loads nothing.
struct HTMLReport {
    let file: ResultFile
    let json: String

    var text: String {
        let body = file.intervals_ns.map(section).joined() + operations + machine + download
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
            <meta name="color-scheme" content="light dark"><title>How late timers fire</title>
            <style>\(SVG.style)\(Self.style)</style></head><body><main>
            <h1>How late timers fire</h1>
            <p class="faint">\(subtitle)</p>
            \(warning)\(body)
            </main><script>\(Self.script)</script></body></html>

            """
    }

    private func escaped(_ text: String) -> String { SVG.escaped(text) }

    private var subtitle: String { escaped(file.host.inShort(["cpu", "cores", "kernel", "virtualisation"])) }

    private var warning: String {
        var sentences: [String] = []
        if file.build != "release" { sentences.append("This is a \(file.build) build: its numbers mean little.") }
        if file.isInterrupted { sentences.append("The run was interrupted: this is what there was until then.") }
        return sentences.isEmpty ? "" : "<p class=\"warning\">\(escaped(sentences.joined(separator: " ")))</p>"
    }

    private func section(_ interval_ns: Int64) -> String {
        let rows = file.rows(at: interval_ns)
        let measured = rows.filter { $0.fires > 0 }
        let coloured = PercentileChart.coloured(file, interval_ns)
        guard !measured.isEmpty else { return "<h2>Every \(timeText(interval_ns))</h2>" + Table.latencies(rows).html }
        let wide = PercentileChart(rows, coloured: coloured, width: 900, height: 460, hasNames: true)
        let narrow = PercentileChart(rows, coloured: coloured, width: 380, height: 360, hasNames: false)
        let axis = TimeAxis(measured.flatMap { row in row.distribution.buckets.map(\.low_ns) }.filter { $0 >= 0 })
        return """
            <h2>A timer every \(timeText(interval_ns))</h2>
            \(inShort(interval_ns))
            <figure><div class="wide">\(wide.svg)</div><div class="narrow">\(narrow.svg)</div>
            <figcaption>\(legend(coloured, hasOthers: measured.count > coloured.count))\
            Lateness from the deadline to the first instruction after the wait, logarithmic; to the right, ever rarer fires.\
            </figcaption></figure>
            <h3>All figures</h3>\(Table.latencies(rows, coloured: coloured).html)\(notes(interval_ns))
            \(pareto(rows, interval_ns))
            <h3>Histograms</h3>
            <p class="faint">Bars are in proportion, on one logarithmic axis of time; ▾ is the median.</p>
            <div class="grid">\(measured.map { histogram($0, axis) }.joined())</div>

            """
    }

    private func inShort(_ interval_ns: Int64) -> String {
        let families = Digest(file, interval_ns: interval_ns).families
        guard families.count > 1 else { return "" }
        let cards = families.map { family in
            let row = family.row
            let cost = row.cpuPerFire_ns.map { "\(timeText($0)) of CPU a fire" } ?? ""
            return """
                <div class="card"><b>\(escaped(family.name))</b>\
                <span class="figure">\(row.lateness.p50.map { timeText($0) } ?? "–")</span><span class="faint">\(cost)<br><code>\(escaped(row.id))</code></span></div>
                """
        }
        return "<p>Half of the fires are no later than:</p>"
            + "<div class=\"cards\">\(cards.joined())</div>"
    }

    private func legend(_ coloured: [ResultRow], hasOthers: Bool) -> String {
        let names = coloured.enumerated().map { number, row in
            "<span><i style=\"background:var(--c\(number % 10))\"></i>\(escaped(row.id))</span>"
        }
        let others = hasOthers ? ["<span><i style=\"background:var(--other)\"></i>all others</span>"] : []
        return "<span class=\"legend\">\((names + others).joined())</span>"
    }

    private func notes(_ interval_ns: Int64) -> String {
        let floors = Subject.Kind.allCases.compactMap { file.floor(of: $0, at: interval_ns) }
        guard !floors.isEmpty else { return "" }
        let texts = floors.map { floor in
            let p99 = floor.p99_ns.map { " and \(timeText($0)) at p99" } ?? ""
            return "\(escaped(floor.id)) by \(timeText(floor.p50_ns)) at p50\(p99)"
        }
        return
            "<p class=\"faint\">Noise: measured twice in this run, these differed: \(texts.joined(separator: "; ")). "
            + "Differences between others of their kind below that say nothing. The small figures are where a value lies 19 times "
            + "of 20. – means too few fires to tell.</p>"
    }

    private func pareto(_ rows: [ResultRow], _ interval_ns: Int64) -> String {
        let pareto = Pareto(rows, interval_ns: interval_ns)
        guard !pareto.margins.isEmpty else { return "" }
        return "<h3>Exactness against its cost</h3><figure>\(ParetoChart(pareto, width: 900, height: 420).svg)"
            + "<figcaption>To the right the processor time of a fire, upwards the share of the fires within 1 µs. The line is a "
            + "thread that sleeps until a fixed margin before each deadline and then reads the clock.</figcaption></figure>"
    }

    private func histogram(_ row: ResultRow, _ axis: TimeAxis) -> String {
        let p50 = row.lateness.p50.map { timeText($0) } ?? "–"
        return "<figure><figcaption><b>\(escaped(row.id))</b> <span class=\"faint\">p50 \(p50)</span></figcaption>"
            + "\(HistogramChart(row: row, axis: axis).svg)</figure>"
    }

    private var operations: String {
        file.operations.isEmpty ? "" : "<h2>Operations</h2>\(Table.operations(file.operations).html)"
    }

    private var machine: String {
        let facts = file.host.lines.map {
            "<tr><th scope=\"row\">\(escaped($0.title))</th><td class=\"left\">\(escaped($0.text))</td></tr>"
        }
        let findings = file.host.findings.map { finding in
            let fix = finding.fix.map { "<br>Fix: \(escaped($0))" } ?? ""
            return "<tr><td class=\"left \(escaped(finding.verdict))\">\(escaped(finding.verdict))</td>"
                + "<th scope=\"row\">\(escaped(finding.id))</th><td class=\"left\">\(escaped(finding.value))"
                + "<br><span class=\"faint\">\(escaped(finding.why))\(fix)</span></td></tr>"
        }
        let doctor =
            findings.isEmpty
            ? ""
            : "<details><summary>What the doctor found: \(findings.count) checks</summary>"
                + "<div class=\"scroll\"><table class=\"text\">"
                + "\(findings.joined(separator: "\n"))</table></div></details>"
        return "<h2>Machine</h2><div class=\"scroll\"><table class=\"text\">\(facts.joined())</table></div>\(doctor)"
            + "<h2>Again</h2><pre>\(escaped(file.commandText))</pre>"
    }

    private var download: String {
        let data = Data(json.utf8).base64EncodedString()
        return "<p><a download=\"bench.json\" href=\"data:application/json;base64,\(data)\">"
            + "Download the raw result (JSON)</a></p>"
    }

    private static let style = """
        *{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);
        font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        main{max-width:1080px;margin:0 auto;padding:24px 20px 64px}h1{margin:0 0 4px;font-size:30px}
        h2{margin:40px 0 8px;font-size:22px}h3{margin:32px 0 8px;font-size:17px}p{margin:8px 0}
        .faint{color:var(--faint)}.warning{padding:10px 14px;border-left:4px solid var(--c0);background:var(--grid)}
        figure{margin:16px 0}figure svg{display:block;width:100%;height:auto}figcaption{font-size:14px;color:var(--faint)}
        figcaption b{color:var(--text)}.narrow{display:none}.narrow svg,.wide svg{font-size:13px}
        .legend{display:none;flex-wrap:wrap;gap:2px 14px;margin:6px 0;color:var(--text)}
        i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}
        .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:12px;margin:12px 0}
        .card{border:1px solid var(--grid);border-radius:8px;padding:10px 12px;display:flex;flex-direction:column;
        font-size:13px}
        .card b{font-size:14px}.figure{font-size:24px;font-weight:600}.card code{font-size:12px;overflow-wrap:anywhere}
        .grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:8px 24px}.grid figure{margin:8px 0}.grid figcaption{font-size:12.5px}
        .scroll{overflow-x:auto}table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
        th,td{padding:4px 9px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
        tbody th,thead th:first-child{text-align:left;font-weight:500;position:sticky;left:0;background:var(--back)}
        .text th,.text td{white-space:normal;vertical-align:top;text-align:left}.text{width:100%}.left{text-align:left}
        thead button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;cursor:pointer}
        .alarm,.bad{color:var(--c0);font-weight:600}.warn{color:var(--c3);font-weight:600}.ok{color:var(--c2)}
        tr.on th,tr:hover th,tr:hover td{background:var(--grid)}details{margin:14px 0}summary{cursor:pointer}
        pre{overflow-x:auto;padding:10px 14px;background:var(--grid);border-radius:6px;font-size:13px}a{color:var(--c1)}
        @media(max-width:720px){main{padding:16px 14px 48px}.wide{display:none}.narrow{display:block}.legend{display:flex}
        h1{font-size:24px}.cards{grid-template-columns:repeat(auto-fill,minmax(145px,1fr))}.figure{font-size:20px}
        tbody th{white-space:normal;overflow-wrap:anywhere;min-width:150px;max-width:150px;font-size:12.5px}}
        @media print{details{display:block}}

        """

    /// Sorts a table by the clicked column; a second click reverses the order. Without the script the page lacks only that.
    private static let script = """
        document.querySelectorAll('thead button').forEach(b=>b.onclick=()=>{const t=b.closest('table'),
        n=[...b.closest('tr').children].indexOf(b.closest('th')),u=t.dataset.by!=n;t.dataset.by=u?n:'';
        const k=r=>{const c=r.children[n];if(!c)return Infinity;const v=c.dataset.value;
        return v===undefined?c.textContent:v===''?Infinity:+v};
        const r=[...t.tBodies[0].rows].sort((a,b)=>{const x=k(a),y=k(b);return(x<y?-1:x>y?1:0)*(u?1:-1)});
        t.tBodies[0].append(...r)});
        """
}
