internal import CInterleaving

/// Takes the place of the standard library's function in the module: whether a reference is the only one depends
/// on what other threads release and retain.
func isKnownUniquelyReferenced<T: AnyObject>(_ object: inout T) -> Bool {
    il_point_references(IL_READ)
    return Swift.isKnownUniquelyReferenced(&object)
}

func isKnownUniquelyReferenced<T: AnyObject>(_ object: inout T?) -> Bool {
    il_point_references(IL_READ)
    return Swift.isKnownUniquelyReferenced(&object)
}
