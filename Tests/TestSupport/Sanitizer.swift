import Glibc

/// Under Thread or Address Sanitizer, which make code several times slower and have a malloc of their own.
public let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

/// An upper bound for the best of many samples: what is asked of a build as users have it; a hundred times that of a
/// sanitized one, which beside other tests may not have one undisturbed sample.
public func atBest(_ bound: Duration) -> Duration {
    isSanitized ? bound * 100 : bound
}
