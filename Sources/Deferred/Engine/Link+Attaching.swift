extension Link {
    /// Attaches a new link with `content` to do, and runs it here and now if this one is idle with its
    /// outcome (F3).
    @usableFromInline
    func attach(_ content: consuming Content, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer = Link(.waiting, content, site)
        attach(consumer)
        return consumer
    }

    /// Has `body` run at this link's turn to tell, after those attached before, without being a consumer of
    /// it.
    func observe(_ body: @escaping @Sendable () -> Void) {
        let observer = Link(
            .waiting,
            .step { _ in
                body()
                return .value(())
            }, made.of(.hidden))
        observer.onlyObserves = true
        attach(observer)
    }

    /// Attaches a new link that nobody else knows of yet.
    func attach(_ consumer: Link) {
        if Recording.isOn { Recording.attached(consumer, to: self) }
        let word = lock()
        if word & Word.settled == 0 {
            consumer.upstream = Upstream(self)
            unlock(Link.append(consumer, to: word))
            return
        }
        if Link.isIdle(word) {
            var frame = Frame()
            teller = frame.thread
            unlock(word | Word.busy)
            frame.tellFirst(consumer, of: self)
        } else {
            if word & Word.busy != 0 { consumer.teller = teller }
            unlock(Link.append(consumer, to: word))
        }
    }

    /// Makes an idle link that has its outcome `busy`, for a caller who attaches a step and is thereby the
    /// frame (F3). False if it is not idle, or if there has to be a link that a recording can show.
    @usableFromInline
    func beginTurn() -> Bool {
        if Recording.isOn { return false }
        guard Link.isIdle(word.load(ordering: .relaxed)) else { return false }
        let word = lock()
        let isIdle = Link.isIdle(word)
        if isIdle { teller = Platform.currentThread }
        unlock(isIdle ? word | Word.busy : word)
        return isIdle
    }

    /// Whether there is an outcome in `content`, at which the caller looks: a failure counts as handled.
    @usableFromInline
    func look() -> Bool {
        guard word.load(ordering: .acquiring) & Word.settled != 0 else { return false }
        if content.isFailure { locked { _ = flags.insert(.handled) } }
        return true
    }

    /// As `look()`, for one who would otherwise wait in turn: false while others are being told, or are held
    /// by a pause.
    @usableFromInline
    func lookIfIdle() -> Bool {
        Link.isIdle(word.load(ordering: .acquiring)) && look()
    }

    /// The outcome of a settled link, for one that takes it over.
    func takeLook() -> Content {
        _ = look()
        return content.copy()
    }
}
