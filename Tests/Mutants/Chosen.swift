#if os(Linux)
import HRTimerLibc

/// The number of the mutant that this process runs; 0 if it runs the package as it is.
private let chosenMutant: Int = {
    guard let text = getenv("HRTIMER_MUTANT") else { return 0 }
    return Int(String(cString: text)) ?? 0
}()

/// Whether this process runs that mutant. `make mutants` copies this file into each module that it changes.
@inline(never)
func mutant(_ number: Int) -> Bool { number == chosenMutant }
#endif
