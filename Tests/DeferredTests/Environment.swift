#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FixedWidthInteger {
    /// The number in an environment variable; nil if it is not set to one.
    init?(environment name: String) {
        guard let value = getenv(name), let number = Self(String(cString: value)) else { return nil }
        self = number
    }
}
