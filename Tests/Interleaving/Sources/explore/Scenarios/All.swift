/// Defines all scenarios, in the order of the contract's rules.
func defineAllScenarios() {
    defineChainsScenarios()
    defineLateCancelsScenarios()
    definePausingScenarios()
    defineDispatchersScenarios()
    defineListsScenarios()
    defineWaitingScenarios()
    defineCoordinationScenarios()
    defineMulticastScenarios()
    defineAnswersScenarios()
    defineRecordingScenarios()
}
