// SPDX-License-Identifier: Apache-2.0
// HRTimerCore alone, as a package that depends on no other: what our traits, the bench and the tests need is left out.
let core: Set = ["HRTimerCore", "CHRTimer", "HRTimerLibc"]
package.products.removeAll { $0.name != "HRTimerCore" }
package.targets.removeAll { !core.contains($0.name) }
package.dependencies = []
package.traits = []
