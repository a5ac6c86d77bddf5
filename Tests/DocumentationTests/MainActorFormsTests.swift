import Foundation
import TestSupport
import Testing

/// Every public function that stores a closure has a form for one of the main actor, as MainActorByDefault.md says.
@Suite(.watchdog) struct MainActorFormsTests {
    /// A public function or initializer that takes a closure.
    private struct Form: Hashable, CustomStringConvertible {
        let type: String
        let signature: String
        let isOnMainActor: Bool

        var description: String { "\(type): \(signature)" }

        /// The form, without what differs between one of the main actor and one that names a dispatcher or none.
        init(_ type: String, _ line: String) {
            self.type = type
            isOnMainActor = line.contains("on _: _Concurrency.MainActor.Type")
            // An argument that may be left out, as `canceller:` of `withResolver`, has to be there on the main actor.
            signature =
                line
                .replacing(#/^.*?public /#, with: "")
                .replacing(
                    #/on \w+: (\(any Deferred.Dispatcher\)\? = nil|_Concurrency.MainActor.Type)(, )?/#,
                    with: ""
                )
                .replacing("@_Concurrency.MainActor ", with: "")
                .replacing(#/\((@Sendable [^=]*?)\)\? = nil/#) { "@escaping \($0.output.1)" }
        }
    }

    /// What stores a closure and has no such form: by the beginning of its signature, and why.
    private static let exceptions = [
        ("func resolve", "`onUndelivered` runs where the last reference to the value is released"),
        ("static func resolved", "`onUndelivered` runs where the last reference to the value is released"),
        ("func dispatch", "a dispatcher is a place itself"),
        ("func deferred", "a queue is a place itself"),
        ("static func exponential", "a source of random numbers"),
        ("static func retryAfter", "a source of random numbers"),
        ("static func custom", "computes a delay between two attempts"),
        ("init(awaiting body", "the work of an operation's queue"),
        ("init(stop", "the work of an operation's queue"),
        ("init(_ body: @escaping @Sendable (Foundation.Operation", "the work of an operation's queue"),
        // `reportProgress(on: MainActor.self)`; the others are asked on the transfer's queue, and may return a Deferred.
        ("init(acceptedStatuses", "options of a transfer"),
        (
            "init(canPause",
            "a stub's answer: the transport is asked on the session's queue, and must not wait"
        ),
        ("func makeBodyStream", "a transport's own: it is on no actor"),
        ("init(existing", "a check of a file that is to be moved into place"),
    ]

    private static func forms() throws -> [Form] {
        var forms: [Form] = []
        for file in Package.files(under: "Documentation/API", named: ".swiftinterface") {
            var type = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(
                    of: #/^(?=\S).*?(?:extension|class|struct|enum|protocol) ([\w.]+)/#)
                {
                    type = String(match.output.1.split(separator: ".").last!)
                }
                let isFunction = line.contains(#/public .*?\b(func \w+|init)[<(]/#)
                if isFunction, line.contains(#/: (@escaping |\()(@_Concurrency.MainActor )?@Sendable/#),
                    !line.contains("async throws")
                {
                    forms.append(Form(type, String(line)))
                }
            }
        }
        return forms
    }

    @Test("Main actor: what stores a closure has a form with on: MainActor.self")
    func everyForm() throws {
        let forms = try Self.forms()
        let onMainActor = Set(forms.filter(\.isOnMainActor).map(\.description))
        #expect(onMainActor.count > 50)
        let missing = Set(forms.filter { !onMainActor.contains($0.description) })
        let unexplained = missing.filter { form in
            !Self.exceptions.contains { form.signature.hasPrefix($0.0) }
        }
        for form in unexplained { Issue.record("\(form)") }
        #expect(missing.count > 10)
    }
}
