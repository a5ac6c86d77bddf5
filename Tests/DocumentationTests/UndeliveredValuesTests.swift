import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import Multicast
import Synchronization
import TestSupport
import Testing

/// The table of UndeliveredValues.md is true, and has every function that a value may come to.
@Suite(.watchdog) struct UndeliveredValuesTests {
    /// What each name of the table that is not an operator's stands for: what it does with a Deferred whose value may be given back.
    private static let uses: [String: @Sendable (Deferred<Int>) async -> Void] = [
        "thenReturn": { $0.thenReturn(1).done { _ in } },
        "value": { _ = try? await $0.value }, "result": { _ = await $0.result },
        "wait": { source in await onQueue { _ = try? source.wait() } },
        "currentResult": { _ = $0.currentResult },
        "results": { _ = DeferredList([$0]).results() }, "values": { _ = DeferredList([$0]).values() },
        "first": { _ = DeferredList([$0]).first() }, "gather": { _ = gather($0, .resolved(1)) },
        "completed": { for await _ in DeferredList([$0]).completed {} },
        "a cache, if it keeps it": { source in
            let cache = DeferredCache<Int, Int>(keepingFor: .seconds(60), timer: ManualClock())
            cache.value(for: 1) { source }.fail { _ in }
        },
        "a cache that keeps nothing": { source in
            let cache = DeferredCache<Int, Int>()
            cache.value(for: 1) { source }.fail { _ in }
        },
        "finally": { $0.finally { _ in } },
        "timeout": { _ = $0.timeout(.seconds(1), timer: ManualClock()) }, "shielded": { _ = $0.shielded() },
        "follow": { Deferred<Int>().follow($0) }, "isSettled": { _ = $0.isSettled },
        "a list that is decided otherwise": { _ = DeferredList([.resolved(1), $0]).first() },
        "a nested Deferred": { source in Deferred.resolved(0).then { _ in source }.fail { _ in } },
        "the input of a list": { _ = DeferredList([$0], limit: 1) { $0 } },
        "retry": { source in Deferred.retry { source }.fail { _ in } },
        "run": { source in DeferredLock().run { source }.fail { _ in } },
        "a worker of a queue": { source in
            let queue = DeferredQueue<Int>()
            queue.run { _ in source }.fail { _ in }
            try? queue.put(1)
        },
        "a RepeatingWork": { source in
            let clock = ManualClock()
            let work = RepeatingWork(every: .seconds(1), timer: clock) { source }
            clock.advance(by: .seconds(1))
            work.stop()
        },
        "the operation of a data source": { source in
            let queue = OperationQueue()
            ConcurrentDataSource(awaiting: { source }).request(on: queue).fail { _ in }
            await withCheckedContinuation { ended in queue.addBarrierBlock { ended.resume() } }
        },
        "collectDeferred of delegates, when all": { source in
            let (delegates, asked) = delegates(1)
            delegates.collectDeferred { _ in source }.fail { _ in }
            withExtendedLifetime(asked) {}
        },
        "collectDeferred that fails": { source in
            let (delegates, asked) = delegates(2)
            delegates.collectDeferred { $0 === asked[0] ? source : .rejected(DeferredError.empty) }.fail {
                _ in
            }
        },
    ]

    private final class Asked: Sendable {}

    private static func delegates(_ count: Int) -> (MulticastDelegate<Asked>, [Asked]) {
        let (delegates, asked) = (MulticastDelegate<Asked>(), (0..<count).map { _ in Asked() })
        for delegate in asked { delegates.add(delegate, on: nil) }
        return (delegates, asked)
    }

    /// What takes no value: it makes, ends, stops or completes a Deferred, or makes more of them.
    private static let others: Set<String> = [
        "after", "asyncRetry", "cancel", "complete", "hash", "never", "pause", "reject", "rejected",
        "repeating",
        "resolve",
        "resolved", "retry", "store", "unpause", "withResolver", "wrappingError",
    ]

    private static func onQueue(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting").async {
                work()
                continuation.resume()
            }
        }
    }

    /// The cells of the table, those that receive first.
    private static func cells() throws -> (receives: [Substring], passesOn: [Substring]) {
        let text = try Package.text(of: "Sources/Deferred/Deferred.docc/UndeliveredValues.md")
        let rows = text.split(separator: "\n").drop { $0 != "| receives | passes on |" }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }.map { $0.split(separator: "|") }
        return (rows.map { $0[0] }, rows.map { $0[1] })
    }

    private static func isNamed(_ name: String, in cells: [Substring]) -> Bool {
        cells.contains {
            $0.contains("`\(name)`") || $0.contains("`\(name)()`") || name.contains(" ") && $0.contains(name)
        }
    }

    @Test(
        "V1: the table of what receives a value and what passes it on is true", arguments: uses.keys.sorted())
    func table(_ name: String) async throws {
        let cells = try Self.cells()
        let receives = Self.isNamed(name, in: cells.receives)
        #expect(receives != Self.isNamed(name, in: cells.passesOn), "it is in one column")
        let returned = Atomic(0)
        do {
            let source = Deferred<Int>()
            source.resolve(5) { _ in returned.add(1, ordering: .relaxed) }
            await Self.uses[name]!(source)
        }
        #expect(returned.load(ordering: .relaxed) == (receives ? 0 : 1))
    }

    @Test("V1: the table has every function of a Deferred that a value may come to, and nothing else")
    func complete() throws {
        var names: Set<String> = []
        var isOfDeferred = false
        for line in try Package.text(of: "Documentation/API/Deferred.swiftinterface").split(separator: "\n") {
            if line.hasPrefix("extension ") || line.hasPrefix("public ") {
                isOfDeferred = line.contains(#/^(public struct|extension Deferred\.)Deferred\b/#)
            }
            if isOfDeferred, let match = line.firstMatch(of: #/public (static )?func (\w+)/#) {
                names.insert(String(match.2))
            }
        }
        #expect(names.count > 30)
        let operators = Dictionary(grouping: OperatorForm.all, by: \.function)
        let missing = names.subtracting(Self.uses.keys).subtracting(Self.others).subtracting(operators.keys)
        #expect(missing.isEmpty, "operators are added to OperatorForm, others to `uses` and the table")
        let cells = try Self.cells()
        for (column, receives) in [(cells.receives, true), (cells.passesOn, false)] {
            for word in column.joined().matches(of: #/`(\w+)(\(\))?`/#).map({ String($0.1) }) {
                // Whether an operator does what is true of its forms is tested with the rules.
                if let form = operators[word]?.first(where: { !$0.isPair }) {
                    #expect(form.receivesValues == receives, "\(word) is in the wrong column")
                } else {
                    #expect(Self.uses[word] != nil, "no test for \(word)")
                }
            }
        }
    }
}
