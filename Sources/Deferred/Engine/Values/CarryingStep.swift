/// A step that runs with the task-local values that it carries (X2).
///
/// Sound as `@unchecked Sendable`: `step` is accessed by the one run of the step, or by the `deinit`.
private final class CarryingStep: @unchecked Sendable {
    private var step: Payload
    private let values: CarriedValues

    init(_ step: consuming Payload, _ values: CarriedValues) {
        self.step = step
        self.values = values
    }

    func run(_ input: borrowing Payload) -> Payload {
        values.run(step: { take().run(input) })
    }

    private func take() -> Payload {
        var taken = Payload.none
        swap(&taken, &step)
        return taken
    }
}

extension Payload {
    /// Returns this payload, whose closure carries the present task-local values if it is a step. To be called before
    /// other threads know of it.
    @inline(never)
    consuming func carryingTaskLocals() -> Payload {
        guard kind == .step, let values = DeferredTaskLocals.carried else { return self }
        let step = CarryingStep(self, values)
        return .step { input in step.run(input) }
    }
}
