// SPDX-License-Identifier: Apache-2.0
// Usage: HostProgram HOST SCENARIO. Exits with 0 if all conditions hold.
import Glibc

_ = mainThread
let arguments = CommandLine.arguments
guard arguments.count == 3, let host = Host(rawValue: arguments[1]) else {
    print("usage: HostProgram glib|libuv|sdl|frames timers|posts|idle|main|nested|not-nested")
    exit(64)
}
switch arguments[2] {
case "timers": try timers(host)
case "posts": try posts(host)
case "idle": try idle(host)
case "main": try main(host)
case "nested": require(try nested(canRecurse: true) >= 3, "timers go on in a nested loop that may recurse")
case "not-nested": require(try nested(canRecurse: false) == 0, "without g_source_set_can_recurse they stand still")
default: exit(64)
}
print("all holds")
