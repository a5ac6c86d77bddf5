/// An error in the command line of a benchmark program.
package struct InvalidArguments: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
