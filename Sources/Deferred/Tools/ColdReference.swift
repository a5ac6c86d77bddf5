/// A reference that is mostly `nil`, and is then not released: to have the runtime find that out costs ten
/// instructions, for each such reference of each link and each drain loop.
///
/// Sound: it has one reference to the object, which its `deinit` releases.
struct ColdReference<Object: AnyObject>: ~Copyable {
    private let reference: Unmanaged<Object>?

    @inline(__always)
    init(_ object: Object?) { reference = object.map { .passRetained($0) } }

    @inline(__always)
    deinit { reference?.release() }

    @inline(__always)
    var object: Object? { reference?.takeUnretainedValue() }
}
