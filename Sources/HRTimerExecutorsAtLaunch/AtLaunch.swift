// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3)
import HRTimerLibc
import HRTimer
import HRTimerExecutors

/// The dynamic linker calls this before `main`, and so before the first task: `.init_array` of the System V ABI.
@section(".init_array") @used
private let atLaunch: @convention(c) () -> Void = { AtLaunch.install() }

/// The installation of `TimerExecutors` in every program that links this module.
///
/// It is for programs that have no place to call `TimerExecutors.install()`: test targets, and programs with an `async` `main`.
/// A dependency on the module is enough; no import is needed.
///
/// The environment variable `HRTIMER_EXECUTORS` is `normal` (the default), `precise`, `coalesced`, or `off` for the standard
/// library's executors. Any other value ends the program.
public enum AtLaunch {
    /// The name of the environment variable that selects the precision.
    public static let variable = "HRTIMER_EXECUTORS"

    fileprivate static func install() {
        // Safe: before `main`, no thread changes the environment.
        switch unsafe getenv(variable).map({ unsafe String(cString: $0) }) ?? "normal" {
        case "normal": TimerExecutors.install()
        case "precise": TimerExecutors.install(precision: .precise)
        case "coalesced": TimerExecutors.install(precision: .coalesced)
        case "off": break
        case let unknown: fatalError("\(variable) is normal, precise, coalesced or off, and not \(unknown)")
        }
    }
}
#endif
#endif
