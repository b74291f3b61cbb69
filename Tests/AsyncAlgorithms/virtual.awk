# SPDX-License-Identifier: Apache-2.0
# Makes a file of the tests one on virtual time: each test, as it is, becomes a function that a test of its name runs there.
BEGIN { test = "^  (public )?func test[A-Za-z0-9_]*\\(\\)( async)?( throws)? \\{$" }
# A long name stands on lines of its own.
/^  func$|^  func test[A-Za-z0-9_]*\(\)$/ { isLong = 1 }
isLong {
    sub(/^ +/, isLong == 1 ? "  " : " ")
    isLong = 2
    long = long $0
    if ($0 !~ /\{$/) next
    $0 = long
    long = ""
    isLong = 0
}
{
    gsub(/Task\.sleep\(/, "VirtualTask.sleep(")
    gsub(/ContinuousClock\(\)/, "MonotonicClock()")
    gsub(/XCTestExpectation\(/, "Expectation(")
    gsub(/clock: \.continuous/, "clock: .monotonic")
    # A test that runs another one several times is in virtual time already.
    gsub(/await test_/, "await body_test_")
}
$0 ~ test {
    name = $0
    sub(/^.*func /, "", name)
    sub(/\(.*$/, "", name)
    sub(/func test/, "func body_test")
    isInside = 1
}
{ print }
isInside && /^  }$/ {
    print ""
    print "  func " name "() async throws {"
    print "    try await inVirtualTime { try await self.body_" name "() }"
    print "  }"
    isInside = 0
}
