/// A fault that is compiled into the instrumented sources, and switched on by its number.
///
/// The search has to find each of them; otherwise it could not be relied on to find others of that kind.
public struct PlantedFault: Sendable {
    /// Replaces `original`, which must occur once in the module, by `planted`, which calls
    /// `il_is_planted(number)` and behaves as the original unless that is true.
    public struct Change: Sendable {
        /// Text in a file of the module.
        public let original: String
        /// The text that replaces it.
        public let planted: String
    }

    /// Its name on the command line.
    public let number: Int
    /// A description of the fault.
    public let title: String
    /// The module that contains it.
    public let module: String
    /// The changes to the sources.
    public let changes: [Change]
    /// The class or the scenario that finds it.
    public let scenario: String

    init(
        _ number: Int, _ title: String, in module: String = "Deferred", foundBy scenario: String,
        _ changes: Change...
    ) {
        self.number = number
        self.title = title
        self.module = module
        self.scenario = scenario
        self.changes = changes
    }

    /// All of them, in the order of their numbers.
    public static let all = (draining + cancelling + nesting + sources + coordination + others + mended)
        .sorted { $0.number < $1.number }
}

func change(_ original: String, _ planted: String) -> PlantedFault.Change {
    PlantedFault.Change(original: original, planted: planted)
}
