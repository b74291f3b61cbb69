#if compiler(>=6.3)
import Glibc
import HRTimer
import HRTimerExecutors

/// Called by the dynamic linker before `main`, and so before the first task: `.init_array`, in the System V ABI's words.
@section(".init_array") @used
private let atLaunch: @convention(c) () -> Void = { AtLaunch.install() }

/// Installs `TimerExecutors` in every program that this module is linked into, for what has no place to call
/// `TimerExecutors.install()`: test targets, and programs whose `main` is `async`. A dependency on the module is all it takes;
/// nothing need be imported.
///
/// The environment says how: `HRTIMER_EXECUTORS` is `normal`, as without it, `precise`, `coalesced`, or `off` for the standard
/// library's own. Ends the program at any other value.
public enum AtLaunch {
    /// The environment's name of the precision.
    public static let variable = "HRTIMER_EXECUTORS"

    fileprivate static func install() {
        switch getenv(variable).map({ String(cString: $0) }) ?? "normal" {
        case "normal": TimerExecutors.install()
        case "precise": TimerExecutors.install(precision: .precise)
        case "coalesced": TimerExecutors.install(precision: .coalesced)
        case "off": break
        case let unknown: fatalError("\(variable) is normal, precise, coalesced or off, and not \(unknown)")
        }
    }
}
#endif
