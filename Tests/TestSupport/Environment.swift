import Glibc

/// The value of an environment variable, if it is set.
public func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
