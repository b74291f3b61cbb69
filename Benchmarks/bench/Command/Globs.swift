// SPDX-License-Identifier: Apache-2.0
import Glibc

extension String {
    /// Returns whether the text matches a shell pattern, fnmatch(3).
    func matches(_ pattern: String) -> Bool { fnmatch(pattern, self, 0) == 0 }

    /// Returns whether the text matches one of the patterns.
    func matches(anyOf patterns: [String]) -> Bool { patterns.contains(where: matches) }

    /// Returns whether the text is chosen by `--only` and `--skip`: without the first everything is.
    func isChosen(only: [String], skip: [String] = []) -> Bool {
        (only.isEmpty || matches(anyOf: only)) && !matches(anyOf: skip)
    }
}
