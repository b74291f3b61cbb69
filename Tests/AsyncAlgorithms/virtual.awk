# Makes a file of the tests one on virtual time: the body of each test, as it is, becomes a function that runs in it.
BEGIN { test = "^  (public )?func test[A-Za-z0-9_]*\\(\\)( async)?( throws)? \\{$" }
{
    gsub(/Task\.sleep\(/, "VirtualTask.sleep(")
    gsub(/ContinuousClock\(\)/, "MonotonicClock()")
    gsub(/XCTestExpectation\(/, "Expectation(")
    gsub(/clock: \.continuous/, "clock: .monotonic")
}
$0 ~ test {
    effects = $0
    sub(/^.*\(\)/, "", effects)
    sub(/\).*$/, ") async throws {")
    print
    print "    func test()" effects
    isInside = 1
    next
}
isInside && /^  }$/ {
    print "    }"
    print "    try await inVirtualTime { try await test() }"
    isInside = 0
}
{ print }
