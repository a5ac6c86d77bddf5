internal import Synchronization

/// The task-local values that closures carry.
///
/// A callback belongs to no Task: without further ado it sees the task-local values of the code that runs it. A program
/// whose task-local values are a request's id, a tracing span or a logger's metadata names their keys once, at its
/// start:
///
/// ```swift
/// DeferredTaskLocals.carry(ServiceContext.$current, Request.$id)
/// ```
///
/// From then on each closure that is passed to the library runs with the values that these keys have where it is passed:
/// see <doc:TaskLocals>.
public enum DeferredTaskLocals {
    /// Has the values of `keys` travel with every closure that is passed to the library from now on: it runs with the
    /// values of the call that passed it, whatever code runs it.
    ///
    /// Keys of several calls add up; one that is named twice counts once. There is no way to remove a key: name those of
    /// the whole program once, before it creates Deferreds. Closures that were passed before are not affected.
    ///
    /// A closure that has to wait takes 150 bytes more for the first key and about 70 for each further one, and half a
    /// microsecond for each. The values are released with the closure. Safe from any thread.
    ///
    /// - Parameter keys: The projected values of task-local properties, such as `Request.$id`.
    public static func carry<each Value: Sendable>(_ keys: repeat TaskLocal<each Value>) {
        for key in repeat each keys { CarriedKeys.add(CarriedKey(key)) }
    }
}

/// The keys that have been named. Replaced when one is added, and never released, so that they can be read without a
/// lock.
final class CarriedKeys: Sendable {
    private let keys: [any CapturingKey]

    private init(_ keys: [any CapturingKey]) { self.keys = keys }

    private static let all = SpinLocked<[CarriedKeys]>([])
    private static let present = Atomic<Unmanaged<CarriedKeys>?>(nil)

    static func add(_ key: any CapturingKey) {
        all.withLock { all in
            let keys = all.last?.keys ?? []
            if keys.contains(where: { $0.identity == key.identity }) { return }
            let more = CarriedKeys(keys + [key])
            all.append(more)
            present.store(Unmanaged.passUnretained(more), ordering: .releasing)
            ProcessFlags.set(ProcessFlags.carriesTaskLocals)
        }
    }

    /// Returns the present values of all keys; nil if there is no key.
    ///
    /// Sound: what `present` refers to is in `all` for as long as the program runs.
    static func capture() -> CarriedValues? {
        present.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { keys in
            var values: CarriedValues?
            for key in keys.keys { values = key.capture(before: values) }
            return values
        }
    }
}

/// A key, whatever the type of its values.
protocol CapturingKey: Sendable {
    var identity: ObjectIdentifier { get }
    /// Returns the key's present value, followed by `next`.
    func capture(before next: CarriedValues?) -> CarriedValues
}

private struct CarriedKey<Value: Sendable>: CapturingKey {
    let key: TaskLocal<Value>

    init(_ key: TaskLocal<Value>) { self.key = key }

    var identity: ObjectIdentifier { ObjectIdentifier(key) }

    func capture(before next: CarriedValues?) -> CarriedValues { CarriedValue(key, key.get(), next) }
}

/// What closures carry: the value of one key, and those of the next ones.
///
/// Sound as `@unchecked Sendable`: it never changes; the subclasses are final, and checked.
package class CarriedValues: @unchecked Sendable {
    fileprivate let next: CarriedValues?

    fileprivate init(_ next: CarriedValues?) { self.next = next }

    /// Runs `body`, which sees these values.
    fileprivate func bind(_ body: () -> Void) {}

    /// Runs `body`, which sees these values.
    package final func run<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var result: Swift.Result<Result, Failure>?
        bind {
            do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
        }
        guard let result else { preconditionFailure("bind(_:) runs its argument once") }
        return try result.get()
    }

    /// As `run`, for a body that returns an outcome.
    final func run(step body: () -> Payload) -> Payload {
        var outcome = Payload.none
        bind { outcome = body() }
        return outcome
    }
}

private final class CarriedValue<Value: Sendable>: CarriedValues, @unchecked Sendable {
    private let key: TaskLocal<Value>
    private let value: Value

    init(_ key: TaskLocal<Value>, _ value: Value, _ next: CarriedValues?) {
        self.key = key
        self.value = value
        super.init(next)
    }

    override func bind(_ body: () -> Void) {
        key.withValue(value) {
            if let next { next.bind(body) } else { body() }
        }
    }
}

extension DeferredTaskLocals {
    /// The present values of the keys that have been named; nil if there are none. For a closure that is stored.
    package static var carried: CarriedValues? {
        ProcessFlags.areNone(of: ProcessFlags.carriesTaskLocals) ? nil : CarriedKeys.capture()
    }

    /// Whether keys have been named.
    ///
    /// Ask before `carrying`, and use the closure itself if not: what a generic function returns is converted, which takes
    /// two closures more.
    package static var areCarried: Bool { !ProcessFlags.areNone(of: ProcessFlags.carriesTaskLocals) }

    // Two functions for each number of arguments: one with a typed error, for both, does not compile with Swift 6.3.

    /// Returns `work`, which carries the present values. No generic function: there is no need to ask before.
    package static func carrying(_ work: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let values = carried else { return work }
        return { values.run { work() } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<Output>(
        _ closure: @escaping @Sendable () -> Output
    ) -> @Sendable () -> Output {
        guard let values = carried else { return closure }
        return { values.run { closure() } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<Output>(
        _ closure: @escaping @Sendable () throws -> Output
    ) -> @Sendable () throws -> Output {
        guard let values = carried else { return closure }
        return { () throws -> Output in try values.run { () throws -> Output in try closure() } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<Input, Output>(
        _ closure: @escaping @Sendable (Input) -> Output
    ) -> @Sendable (Input) -> Output {
        guard let values = carried else { return closure }
        return { input in values.run { closure(input) } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<Input, Output>(
        _ closure: @escaping @Sendable (Input) throws -> Output
    ) -> @Sendable (Input) throws -> Output {
        guard let values = carried else { return closure }
        return { (input) throws -> Output in try values.run { () throws -> Output in try closure(input) } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<First, Second, Output>(
        _ closure: @escaping @Sendable (First, Second) -> Output
    ) -> @Sendable (First, Second) -> Output {
        guard let values = carried else { return closure }
        return { first, second in values.run { closure(first, second) } }
    }

    /// Returns `closure`, which carries the present values.
    package static func carrying<First, Second, Output>(
        _ closure: @escaping @Sendable (First, Second) throws -> Output
    ) -> @Sendable (First, Second) throws -> Output {
        guard let values = carried else { return closure }
        return { (first, second) throws -> Output in
            try values.run { () throws -> Output in try closure(first, second) }
        }
    }
}
