/// The location of a caller, for diagnostics and for messages that stop the program.
struct CallSite: Sendable {
    let fileID: StaticString
    let line: UInt
}
