extension CacheEntry {
    struct Request: Sendable {
        /// Tells the requests of an entry apart.
        let number: Int
        /// What the callers' Deferreds follow, before which the cache has recorded the outcome.
        let outcome: Deferred<Value>
        /// A consumer of `outcome`, too, so that nothing but the callers decide when the request is cancelled: with the
        /// keeper.
        let keeper: Deferred<Value>
    }

    /// An outcome that is kept.
    struct Kept: Sendable {
        let result: Result<Value, any Error>
        /// Ends that.
        let expiry = DelayedCall()
        /// Has the next call renew it.
        fileprivate(set) var renewal = DelayedCall()
        fileprivate(set) var isDue = false

        func stopTimers() {
            expiry.stop()
            renewal.stop()
        }
    }

    /// The request in progress, with those who share it, and what is kept. Without either, the entry has ended.
    ///
    /// Each transition is one critical section. It returns what the caller is to do after that, with what it has taken out,
    /// so that nothing of a user's is released under the lock.
    struct State: Sendable {
        /// Who asked for the request in progress and has not cancelled. One that renews a value is asked for by the cache,
        /// which counts as a caller from outside.
        private(set) var callers = CacheCallers()
        /// Nil unless the request is in progress.
        private(set) var request: Request?
        /// Whether further callers share the request in progress.
        private(set) var isShared = false
        /// Whether the cache itself asked for the request in progress.
        private(set) var isRenewal = false
        private(set) var kept: Kept?
        /// The number of the latest request.
        private var number = 0

        private mutating func exchange(for new: State) -> State {
            let before = self
            self = new
            return before
        }

        // MARK: Calls

        /// Begins the first request, which one caller asked for, from inside of `origin`, and others may share.
        mutating func begin(_ request: Request, _ origin: (any CacheRequest)?) -> State {
            var new = State()
            (new.callers, new.request, new.isShared) = (CacheCallers(origin), request, true)
            return exchange(for: new)
        }

        enum Lookup: Sendable {
            case nothing
            case kept(Result<Value, any Error>)
            /// What is kept is to be renewed, by a request of that number.
            case due(Result<Value, any Error>, renewal: Int)
        }

        /// Returns what is kept to one caller.
        mutating func lookUp() -> Lookup {
            guard let kept else { return .nothing }
            guard kept.isDue, request == nil else { return .kept(kept.result) }
            self.kept?.isDue = false
            number += 1
            return .due(kept.result, renewal: number)
        }

        enum Renewal: Sendable {
            case begins
            /// The value is not kept any more.
            case isObsolete
        }

        /// Begins a request that renews the value.
        mutating func renew(_ request: Request) -> Renewal {
            guard kept != nil, self.request == nil else { return .isObsolete }
            (self.request, isShared, isRenewal) = (request, true, true)
            callers = CacheCallers(nil)
            return .begins
        }

        enum Joining: Sendable {
            case kept(Result<Value, any Error>)
            case shares(Deferred<Value>)
            case hasEnded
        }

        /// Adds a caller to a request that may be shared, or returns what is kept.
        mutating func join(_ origin: (any CacheRequest)?) -> Joining {
            if let kept { return .kept(kept.result) }
            guard let request, isShared else { return .hasEnded }
            callers.add(origin)
            return .shares(request.outcome)
        }

        enum Leaving: Sendable {
            /// The request has ended, or somebody from outside waits for it.
            case someStay
            /// Those that stay are requests, which may wait only for each other.
            case requestsStay
            /// The caller was the last: the entry has ended.
            case ended(Request, State)
        }

        /// Removes a caller of the request with that outcome.
        mutating func leave(_ outcome: Deferred<Value>, _ origin: (any CacheRequest)?) -> Leaving {
            guard let request, request.outcome == outcome else { return .someStay }
            callers.remove(origin)
            if callers.isEmpty { return .ended(request, end()) }
            return callers.areRequestsOnly ? .requestsStay : .someStay
        }

        // MARK: The request ends

        /// What becomes of an entry whose request has ended.
        enum Ending: Sendable {
            /// It was of use only for those who share it, and has ended.
            case ended
            /// It was ended, or another request has begun.
            case obsolete
            case keeps(Kept)
            /// The older value is kept, until it expires.
            case keepsOlder(Kept)
        }

        struct Finish: Sendable {
            let ending: Ending
            /// What was kept until then, and is not any more.
            var replaced: Kept?
            /// To be released.
            var before: State?
            /// Whether nobody but the cache asked for the request.
            var isUnseen = false
        }

        /// Records the outcome of a request. Keeps it if the request may be shared and `isKept` says so.
        mutating func finish(_ number: Int, _ result: Result<Value, any Error>, isKept: Bool) -> Finish {
            guard request?.number == number else { return Finish(ending: .obsolete) }
            var new = State()
            new.number = self.number
            let before = exchange(for: new)
            let isUnseen = before.isRenewal && before.callers.isOneFromOutside
            if case .failure = result, var older = before.kept {
                // The next call tries again; if failures are kept, after that time.
                older.isDue = !isKept
                older.renewal = DelayedCall()
                kept = older
                return Finish(ending: .keepsOlder(older), before: before, isUnseen: isUnseen)
            }
            guard isKept, before.isShared else {
                return Finish(ending: .ended, replaced: before.kept, before: before, isUnseen: isUnseen)
            }
            let kept = Kept(result: result)
            self.kept = kept
            return Finish(ending: .keeps(kept), replaced: before.kept, before: before, isUnseen: isUnseen)
        }

        // MARK: What is kept ends

        /// Has the next call renew what is kept, and expires with `expiry`.
        mutating func setDue(_ expiry: DelayedCall) {
            if kept?.expiry === expiry { kept?.isDue = true }
        }

        enum Expiry: Sendable {
            /// Something else is kept, or nothing.
            case isObsolete
            /// The value is released; a request in progress renews it.
            case released(Kept)
            /// As `released`, and the entry has ended.
            case ended(Kept)
        }

        /// Releases what is kept, and expires with `expiry`.
        mutating func expire(_ expiry: DelayedCall) -> Expiry {
            guard let kept, kept.expiry === expiry else { return .isObsolete }
            self.kept = nil
            return request == nil ? .ended(kept) : .released(kept)
        }

        enum Eviction: Sendable {
            case isInProgress
            case ended(State)
        }

        /// Ends an entry that is the least recently used, unless its request is in progress.
        mutating func evict() -> Eviction {
            request == nil ? .ended(end()) : .isInProgress
        }

        /// Has the request in progress continue for those who share it, and be shared no more; what is kept is released.
        /// Returns the state before. Nil, and nothing changes, unless there is a request.
        mutating func endSharing() -> State? {
            guard let request else { return nil }
            var new = State()
            (new.callers, new.request, new.number) = (callers, request, number)
            return exchange(for: new)
        }

        /// As ``endSharing()``; without a request, ends the entry.
        mutating func forget() -> State { endSharing() ?? end() }

        /// Ends the entry, and returns the state before.
        mutating func end() -> State { exchange(for: State()) }
    }
}
