/// Defines all scenarios, in the order of the contract's rules.
func defineAllScenarios() {
    defineChainsScenarios()
    defineWaitingScenarios()
    defineCoordinationScenarios()
    defineMulticastScenarios()
    defineAnswersScenarios()
    defineRecordingScenarios()
}
