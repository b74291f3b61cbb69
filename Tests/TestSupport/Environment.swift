// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Returns the value of an environment variable, or nil if it is not set.
public func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
