import MainThreadScenario

@main struct AsyncMainProgram {
    @MainActor static func main() async throws {
        if CommandLine.arguments.contains("later") { try await Task.sleep(for: .milliseconds(1)) }
        let model = ViewModel(onMainThread: false)
        try model.begin()
        try await Task.sleep(for: .seconds(60))
    }
}
