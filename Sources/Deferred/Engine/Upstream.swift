/// The way from a link to what it waits for: a pointer that does not keep it alive, under the link's lock.
///
/// It is set while the link stands, or is about to stand, in the list of a pending upstream, and cleared
/// under the same lock before upstream may go. What keeps a pending upstream alive is its own side of the
/// chain, which tells those in its list (and so clears their pointers) before it lets go; then whoever has
/// the lock and finds the pointer set may retain it.
///
/// A source that is owned by its handles has no such side: it may be in its `deinit`, with nothing left to
/// retain, which will abandon it, and tell this link, once the lock is free. Its memory is there as long as
/// the lock is held, and forming a weak reference tells whether it is still alive: to an object in its
/// `deinit` that gives nil.
struct Upstream {
    private let bits: UInt

    static var none: Upstream { Upstream(bits: 0) }

    private init(bits: UInt) { self.bits = bits }

    @inline(__always)
    init(_ link: Link) {
        let address = UInt(bitPattern: Unmanaged.passUnretained(link).toOpaque())
        bits = link.isFiredByHandles ? address | 1 : address
    }

    var isNone: Bool { bits == 0 }

    /// What tells two apart. Not for following.
    var identity: UInt { bits & ~1 }

    /// Whether upstream is a source that waits for nothing but its handles. Under the link's lock, which
    /// keeps its memory.
    ///
    /// Spares the searches a weak reference, which would make the source's every retain and release slow from
    /// then on.
    var isPlainSource: Bool {
        guard bits & 1 != 0, let address = UnsafeRawPointer(bitPattern: identity) else { return false }
        return Unmanaged<Link>.fromOpaque(address)._withUnsafeGuaranteedRef { !$0.hasFollowed }
    }

    /// Upstream, retained; nil if there is none, or none any more. Under the link's lock.
    func retained() -> Link? {
        guard let address = UnsafeRawPointer(bitPattern: identity) else { return nil }
        let link = Unmanaged<Link>.fromOpaque(address)
        if bits & 1 == 0 { return link.takeUnretainedValue() }
        // Held from here on, and let go by the caller after the lock: no count that the compiler makes for
        // the weak reference is the last one. Held and let go in its `deinit` an object is none the worse.
        let held = link.takeUnretainedValue()
        weak var alive: Link?
        alive = held
        return alive == nil ? nil : held
    }
}

extension Link {
    /// Whether this is a source that its handles may fire: that of `Deferred()` and `Deferred(canceller:)`.
    @usableFromInline
    var isFiredByHandles: Bool { lineAndOwner & Link.firedByHandlesBit != 0 }

    /// Where a source was fired by hand. Under its lock.
    ///
    /// A source stands in no list and has no upstream, so this is kept in the two words that others use for
    /// that: the file in the one, the line in the other.
    var fired: DeferredDiagnostic.Location? {
        get {
            guard let file = UnsafeRawPointer(bitPattern: upstream.fileBits), let line = next else {
                return nil
            }
            return DeferredDiagnostic.Location(
                file: file.assumingMemoryBound(to: UInt8.self),
                storedLine: UInt32(truncatingIfNeeded: UInt(bitPattern: line.toOpaque())))
        }
        set {
            guard let newValue else { return }
            upstream = Upstream(file: newValue.file)
            next = UnsafeRawPointer(bitPattern: UInt(newValue.storedLine)).map { Unmanaged.fromOpaque($0) }
        }
    }
}

extension Upstream {
    fileprivate init(file: UnsafePointer<UInt8>) { self.init(bits: UInt(bitPattern: file)) }

    fileprivate var fileBits: UInt { bits }
}
