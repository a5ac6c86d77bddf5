/// Defines all scenarios, in the order of the contract's rules.
func defineAllScenarios() {
    defineChainsScenarios()
    defineCoordinationScenarios()
    defineMulticastScenarios()
    defineAnswersScenarios()
    defineRecordingScenarios()
}
