import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import TestSupport
import Testing

/// V1: a value that passes through an operation is received or given back, once.
@Suite(.ownThreads, .watchdog)
struct PassedValueTests {
    /// The ways of a value through an operation.
    enum Way: CaseIterable {
        case awaiting, follow, shielded, deferredFollowing, manager

        /// Returns the outcome of an operation that has that of `source`, and the operation, if it is there.
        func request(_ source: Deferred<Int>, on queue: OperationQueue, _ place: (any Dispatcher)?)
            -> (Deferred<Int>, Operation?)
        {
            if self == .deferredFollowing {
                return (queue.deferredFollowing(deliveringOn: place) { source }, nil)
            }
            let operation: ConcurrentDataSource<Int> =
                switch self {
                case .follow: ConcurrentDataSource { resolver in resolver.follow(source) }
                case .shielded: ConcurrentDataSource { resolver in resolver.follow(source.shielded()) }
                default: ConcurrentDataSource(awaiting: { source })
                }
            if self == .manager {
                return (DataSourceManager().request(operation, deliveringOn: place), operation)
            }
            return (operation.request(on: queue, deliveringOn: place), operation)
        }
    }

    /// Where the outcome is delivered.
    enum Place: CaseIterable {
        case none, inline, queue

        func dispatcher(_ queue: OperationQueue) -> (any Dispatcher)? {
            switch self {
            case .none: nil
            case .inline: InlineDispatcher()
            case .queue: queue
            }
        }
    }

    @Test(
        "V1, O2: an operation neither loses nor doubles a value that it passes on", arguments: Way.allCases,
        ValueFate.allCases)
    func passed(_ way: Way, _ fate: ValueFate) {
        for place in Place.allCases {
            for isSettledFirst in [false, true] {
                let queue = OperationQueue()
                var operation: Operation?
                let count = fate.count(of: 5, isSettledFirst: isSettledFirst) { source in
                    let (request, own) = way.request(source, on: queue, place.dispatcher(queue))
                    operation = own
                    return request
                } _: {
                    operation?.waitUntilFinished()
                    queue.finishAll()
                }
                let text: Comment = "\(place), settled first: \(isSettledFirst)"
                #expect(count.received + count.returned == 1, text)
                if let expected = fate.expected(isSettledFirst: isSettledFirst) {
                    #expect(count == expected, text)
                }
            }
        }
    }

    @Test(
        "V1: a value with which an operation's own resolver is completed is given back",
        arguments: [true, false])
    func own(isLate: Bool) {
        let (queue, returned) = (OperationQueue(), SharedLog<Int>())
        do {
            let resolvers = SharedLog<Deferred<Int>.Resolver>()
            let started = DispatchSemaphore(value: 0)
            let request = ConcurrentDataSource<Int> { resolver in
                resolvers.add(resolver)
                started.signal()
            }.request(on: queue)
            started.wait()
            if isLate { request.cancel() }
            resolvers.removeFirst()?.resolve(7, onUndelivered: returned.add)
            queue.finishAll()
            #expect(returned.all == (isLate ? [7] : []), "a handle has it")
            request.fail { _ in }
        }
        #expect(returned.all == [7])
    }

    @Test("V1: an operation that has finished has no part in a value that nobody received")
    func finished() {
        let (queue, returned) = (OperationQueue(), SharedLog<Int>())
        let operation = ConcurrentDataSource<Int> { $0.resolve(7, onUndelivered: returned.add) }
        do {
            let request = operation.request(on: queue)
            queue.finishAll()
            #expect(returned.all.isEmpty)
            withExtendedLifetime(request) {}
        }
        #expect(returned.all == [7])
        #expect(operation.isFinished)
    }

    /// Stores work, and signals.
    private struct Busy: Dispatcher {
        let base = ManualDispatcher()
        let signal = DispatchSemaphore(value: 0)

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            base.dispatch(work)
            signal.signal()
        }
    }

    @Test(
        "V1, O2: a value that was decided is delivered, or given back, though the link was cancelled on its dispatcher",
        arguments: [true, false])
    func delivered(isReceived: Bool) throws {
        let (queue, returned, busy) = (OperationQueue(), SharedLog<Int>(), Busy())
        do {
            let source = Deferred.resolved(7, onUndelivered: returned.add)
            let request = ConcurrentDataSource(awaiting: { source }).request(on: queue, deliveringOn: busy)
            busy.signal.wait()
            request.cancel()
            busy.base.run()
            queue.finishAll()
            if isReceived { #expect(try successResult(of: request) == 7) }
            #expect(returned.all == [])
        }
        #expect(returned.all == (isReceived ? [] : [7]))
    }
}
