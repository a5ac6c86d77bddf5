/// The error of tests that need one of no particular type; several differ by their numbers.
struct TestError: Error, Hashable {
    var number = 0
}
