import Multicast

/// A protocol as users write them: bound to classes, not Sendable.
protocol Hearing: AnyObject {
    func hear(_ text: String)
}

/// Says what it hears, with its name, in a log.
final class Hearer: Hearing, Sendable {
    let name: String
    let log: Log<String>

    init(_ name: String, _ log: Log<String>) {
        self.name = name
        self.log = log
    }

    func hear(_ text: String) {
        log.append("\(name) \(text)")
    }
}

/// Does what it was told to when it hears.
final class Reacting: Hearing, Sendable {
    let reaction: @Sendable (Reacting, String) -> Void

    init(_ reaction: @escaping @Sendable (Reacting, String) -> Void) {
        self.reaction = reaction
    }

    func hear(_ text: String) {
        reaction(self, text)
    }
}

/// Removes itself when it ends, as GCDMulticastDelegate's users do.
final class Leaving: Hearing, Sendable {
    let delegates: MulticastDelegate<any Hearing>
    let log: Log<String>

    init(_ delegates: MulticastDelegate<any Hearing>, _ log: Log<String>) {
        self.delegates = delegates
        self.log = log
    }

    func hear(_ text: String) {
        log.append("leaving \(text)")
    }

    deinit {
        delegates.remove(self)
        log.append("gone")
    }
}

/// Something that a closure captures, to see when that lets go of it.
final class Witness: Sendable {
    let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    deinit {
        log.append("let go")
    }
}

/// A reference that several closures share and that one of them empties.
final class Holder: @unchecked Sendable {
    // Soundness of @unchecked Sendable: each test uses one from one thread at a time.
    var held: AnyObject?
}
