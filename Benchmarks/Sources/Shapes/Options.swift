import Foundation

/// The command line, and what it says of a result.
struct Options {
    private(set) var n = 1000
    private(set) var quantity = Meter.Quantity.steps
    /// Whether only what fails is printed.
    private(set) var showsFailuresOnly = false
    private var filter = ""

    init(_ arguments: [String]) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--failures": showsFailuresOnly = true
            case "--time": quantity = .time
            case "--memory": quantity = .memory
            case "--filter": filter = rest.popFirst() ?? ""
            case "--n": n = rest.popFirst().flatMap { Int($0) } ?? n
            default:
                print("usage: Shapes [--failures] [--filter TEXT] [--n N] [--time | --memory]")
                exit(2)
            }
        }
    }

    func selects(_ shape: Shape) -> Bool {
        filter.isEmpty || shape.name.contains(filter)
    }

    /// Whether 4n of something take too much more than n.
    func fails(_ part: String, _ small: Int, _ large: Int) -> Bool {
        switch quantity {
        // Linear is 4; n log n a little more. Few steps are not of n things.
        case .steps: large > 5 * small && large > 4 * n
        // It also grows where the memory does not fit into the processor's cache any more.
        case .time: large > 8 * small && large > 4 * n * 50
        case .memory: part == "left" && large - small > n
        }
    }
}
