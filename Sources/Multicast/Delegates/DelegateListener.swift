/// A weak reference to a delegate, which returns it as the `Delegate` that it was added as.
///
/// A cast of the object, `as! Delegate`, looks up the object's conformances each time:
/// measured, 50 of the 140 nanoseconds of a call. So the bytes of the `Delegate` are kept beside the weak
/// reference, unowned.
///
/// Soundness: a value that begins with the address of an object, and whose dynamic type is that object's
/// class, is the reference to the object and constants besides (type metadata, witness tables): a class
/// reference or an existential container; to copy it is to retain the object. (A container with a box of its
/// own, as `any Error` is, begins with the address of something of another type, and is refused.) So its
/// bytes are a `Delegate` for as long as the object lives, and are made into one only by a caller that retains
/// the object. The memory is written before anybody else sees this, and freed in `deinit` without being
/// deinitialised, since it owns nothing. `@unchecked Sendable` as for ``Listener``.
final class DelegateListener<Delegate>: Listener, @unchecked Sendable {
    private let unowned: UnsafeMutablePointer<Delegate>

    /// Whether a delegate whose dynamic type is a class is nothing but a reference to `object`.
    static func isPlainReference(_ delegate: Delegate, to object: AnyObject) -> Bool {
        type(of: object) == type(of: delegate as Any)
            && withUnsafeBytes(of: delegate) { bytes in
                bytes.load(as: UInt.self) == UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
            }
    }

    /// A listener for a delegate that is a plain reference to `object`.
    init(_ delegate: Delegate, _ object: AnyObject) {
        let memory = UnsafeMutablePointer<Delegate>.allocate(capacity: 1)
        withUnsafeBytes(of: delegate) { bytes in
            UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyMemory(from: bytes)
        }
        unowned = memory
        super.init(object)
    }

    deinit {
        unowned.deallocate()
    }

    /// Returns the delegate, whose object the caller retains.
    func delegate(_ object: AnyObject) -> Delegate {
        withExtendedLifetime(object) { unowned.pointee }
    }
}
