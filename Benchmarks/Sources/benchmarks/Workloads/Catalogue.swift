/// All workloads, in the order of the report.
enum Catalogue {
    static func all() -> [Workload] {
        workloads(Int.self) + workloads(Wide.self) + workloads(Reference.self)
            // These do not depend on the type of the value.
            + [
                HopRoundTrip<Int>.workload(), HopPipelined<Int>.workload(), Contention<Int>.workload(),
                Dropping<Int>.workload(), CancelledChain<Int>.workload(), CancelledList<Int>.workload(),
            ]
            + Asking<Int>.workloads()
    }

    /// Called with three concrete types, so that each library's generic code is specialised to them, as it is
    /// in a program that uses it.
    private static func workloads<Value: BenchmarkValue>(_: Value.Type) -> [Workload] {
        [
            SettledThen<Value>.workload(),
            ChainEnd<Value>.resolvedWorkload(),
            PendingThen<Value>.workload(),
            ChainEnd<Value>.doneWorkload(),
            ChainEnd<Value>.failWorkload(),
            Chain<Value>.workload(),
            NestedSettled<Value>.workload(),
            NestedPending<Value>.workload(),
            Gather<Value>.workload(),
            FanOut<Value>.workload(),
            FanOut<Value>.mappingWorkload(),
            Recursion<Value>.workload(),
            PendingLinks<Value>.workload(),
            AwaitSettled<Value>.workload(),
            AwaitPending<Value>.workload(),
            AwaitPending<Value>.cancellableWorkload(),
        ]
    }
}
