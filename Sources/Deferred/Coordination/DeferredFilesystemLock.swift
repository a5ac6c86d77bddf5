public import Dispatch

/// One process at a time (Twisted's `DeferredFilesystemLock`), by a file that all of them name.
///
/// ```swift
/// let lock = DeferredFilesystemLock(path: "/var/run/importer.lock")
/// let done = lock.run(timeout: .seconds(10)) { importEverything() }
/// done.fail { print($0) }     // … is locked by process 4711
/// ```
///
/// The lock is the kernel's, so that it ends with the process that holds it, however that ends; whoever comes
/// next takes over. The file holds the number of the process, and is there only while the lock is held.
/// Nothing tells when another process lets go: who waits looks again and again. Within one process, those who
/// wait at one object come in the order in which they asked, and one of them looks. Not for a file system
/// that several machines share unless that can `flock`.
public final class DeferredFilesystemLock: Sendable {
    /// Where the file is.
    public let path: String
    private let interval: Duration
    private let dispatcher: any DelayedDispatcher
    private let line = DeferredLock()

    /// A lock by the file at `path`, which is made when it is first acquired; its folder has to be there.
    ///
    /// - Parameters:
    ///   - interval: How often to look whether the lock is free again.
    ///   - dispatcher: Keeps that time, and the time of timeouts.
    public init(
        path: String, lookingEvery interval: Duration = .milliseconds(200),
        on dispatcher: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.path = path
        self.interval = interval
        self.dispatcher = dispatcher
    }

    /// The lock, if it is free now; throws ``Failure`` if it is not. A few calls of the file system, on this
    /// thread.
    public func tryAcquire() throws(Failure) -> Permit {
        guard let place = line.tryAcquire() else { throw .held(path: path, owner: LockFile.currentProcess) }
        return try lock(place)
    }

    /// The lock, when it is this one's turn; cancelled while it waits, it leaves the line.
    ///
    /// - Parameter timeout: How long to wait at most; after that it fails with ``Failure/held(path:owner:)``.
    ///   Without, it waits for ever. A lock that cannot be had however long one waits fails at once, with
    ///   ``Failure/unusable(path:reason:)``.
    public func acquire(
        timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Permit> {
        let permit = self.line.acquire(fileID: fileID, line: line)
            .then({ [self] place in look(place) }, fileID: fileID, line: line)
        guard let timeout else { return permit }
        return permit.timeout(
            timeout, on: dispatcher,
            { [path] in throw Failure.held(path: path, owner: LockFile.owner(at: path)) },
            fileID: fileID, line: line)
    }

    /// Runs `body` with the lock, and lets go of it when the Deferred that it returns has an outcome: a
    /// value, an error or a cancel. What `body` throws is the outcome.
    public func run<T: Sendable>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () throws -> Deferred<T>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        acquire(timeout: timeout, fileID: fileID, line: line).then(
            { permit -> Deferred<T> in
                Deferred<T>(catching: body).both(
                    { result throws -> T in
                        permit.release()
                        return try result.get()
                    }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }

    /// As the form above, for a `body` that is done when it returns.
    public func run<T: Sendable>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(timeout: timeout, { Deferred<T>(catching: body) }, fileID: fileID, line: line)
    }

    /// Done when `body` has run. May be left alone: a failure that nobody handles is reported.
    @discardableResult
    public func run(
        timeout: Duration? = nil, _ body: @escaping @Sendable () throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        run(timeout: timeout, { Deferred<Void>(catching: body) }, fileID: fileID, line: line)
    }

    /// What an asynchronous `body` gives, which runs in a Task; a cancel cancels that.
    @_disfavoredOverload
    public func run<T: Sendable>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(
            timeout: timeout, { Deferred<T>(operation: body, fileID: fileID, line: line) },
            fileID: fileID, line: line)
    }

    /// Looks until the lock is there, first in the line of this process.
    private func look(_ place: DeferredLock.Permit) -> Deferred<Permit> {
        do throws(Failure) {
            return .resolved(try lock(place))
        } catch .held {
            return Deferred<Void>.after(interval, on: dispatcher).then { [self] in look(place) }
        } catch {
            return .rejected(error)
        }
    }

    private func lock(_ place: DeferredLock.Permit) throws(Failure) -> Permit {
        do throws(LockFile.Failure) {
            return Permit(try LockFile(path), place)
        } catch {
            switch error {
            case .held(let owner): throw .held(path: path, owner: owner)
            case .unusable(let reason): throw .unusable(path: path, reason: reason)
            }
        }
    }
}

extension DeferredFilesystemLock {
    /// The right to hold the lock. It ends with ``release()``, at the latest when the last reference to it
    /// goes: hold on to it.
    public final class Permit: Sendable {
        /// The process that died holding the lock before, if one did: what it was at may be half done.
        public let predecessor: Int32?
        private let held: Guarded<Held?>

        private struct Held {
            let file: LockFile
            let place: DeferredLock.Permit
        }

        fileprivate init(_ file: LockFile, _ place: DeferredLock.Permit) {
            predecessor = file.predecessor
            held = Guarded(Held(file: file, place: place))
        }

        /// Lets go of the lock, and lets in who waits in this process, within this call. Doing so again does
        /// nothing.
        public func release() {
            guard let held = held.withLock({ $0.take() }) else { return }
            held.file.release()
            held.place.release()
        }

        deinit { release() }
    }

    /// Why the lock is not to be had.
    public enum Failure: Error, Hashable {
        /// Another has it: `owner` is that process, nil if that is not yet to be seen.
        case held(path: String, owner: Int32?)
        /// No lock can be made of this file.
        case unusable(path: String, reason: String)
    }
}

extension DeferredFilesystemLock.Failure: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .held(let path, let owner?): "\(path) is locked by process \(owner)"
        case .held(let path, nil): "\(path) is locked by another process"
        case .unusable(let path, let reason): "\(path) cannot be used as a lock: \(reason)"
        }
    }
}
