// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Whether this is a build with Thread or Address Sanitizer. Both make code several times slower and have their own malloc.
public let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

/// Returns an upper bound for the best of many samples: `bound` for a build as users have it, a hundred times that for a
/// sanitized build, which may not have a single undisturbed sample beside other tests.
public func atBest(_ bound: Duration) -> Duration {
    isSanitized ? bound * 100 : bound
}
