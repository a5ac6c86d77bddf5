extension [String] {
    /// Takes an option and its value out of the arguments of a program, and returns the value; nil if it is not there.
    package mutating func takeValue(of option: String) -> String? {
        guard let place = firstIndex(of: option), place + 1 < count else { return nil }
        defer { removeSubrange(place...(place + 1)) }
        return self[place + 1]
    }
}
