import CInterleaving
import Interleaving
import Testing

extension ExploringTests {
    /// Two threads that each read a cell and write it.
    private func increments(_ mode: SearchOptions.Mode, _ count: Int = 1) -> Judgement {
        explore(mode) {
            let cell = Cell(), box = Box(0)
            func increment() {
                for _ in 0..<count {
                    cell.read()
                    let value = box.value!
                    cell.write()
                    box.value = value + 1
                }
            }
            return Program(increment, increment) {
                expect(box.value == 2 * count, "\(box.value!) increments")
            }
        }
    }

    @Test("a lost update needs one preemption")
    func lostUpdate() {
        #expect(increments(.bounded(0)).violation == nil)
        #expect(increments(.bounded(1)).violation?.text == "1 increments")
        #expect(increments(.reduced).violation != nil)
    }

    @Test("a schedule can be replayed")
    func replay() throws {
        let violation = try #require(increments(.bounded(1), 2).violation)
        let again = increments(.replay(violation.schedule), 2)
        #expect(again.schedules == 1)
        #expect(again.violation?.text == violation.text)
    }

    @Test("a schedule that does not fit is reported")
    func wrongReplay() {
        #expect(increments(.replay("0000000000000")).violation?.text.contains("does not fit") == true)
    }

    @Test("of independent accesses one order is run, of dependent ones every order")
    func reduction() {
        func schedules(_ mode: SearchOptions.Mode, sharing: Bool) -> Int {
            explore(mode) {
                let first = Cell(), second = sharing ? first : Cell()
                return Program({ first.write() }, { second.write() }) { nil }
            }.schedules
        }
        #expect(schedules(.reduced, sharing: false) == 1)
        #expect(schedules(.reduced, sharing: true) == 2)
        #expect(schedules(.bounded(9), sharing: false) == schedules(.bounded(9), sharing: true))
    }

    @Test("the schedules with up to so many preemptions are as many as they must be")
    func bounds() {
        // Two threads of three steps each: (6 choose 3) orders, of which two have no preemption.
        func schedules(_ bound: Int) -> Int {
            explore(.bounded(bound)) {
                let cell = Cell()
                func write() { for _ in 0..<2 { cell.write() } }
                return Program(write, write) { nil }
            }.schedules
        }
        #expect(schedules(0) == 2)
        #expect(schedules(9) == 20)
    }

    @Test("three threads are run in every order")
    func threeThreads() {
        var orders: Set<String> = []
        _ = explore(.bounded(0)) {
            let log = Log()
            return Program({ log.add("a") }, { log.add("b") }, { log.add("c") }) {
                orders.insert(log.text)
                return nil
            }
        }
        #expect(orders.count == 6)
    }

    @Test(
        "one thread waits until another has signalled; without that, no thread can go on",
        arguments: [true, false])
    func signals(isSent: Bool) {
        let seen = explore {
            let signal = Signal(), log = Log()
            return Program(
                {
                    signal.wait()
                    log.add("b")
                },
                {
                    log.add("a")
                    if isSent { signal.send() }
                }
            ) { expect(log.text == "a b", log.text) }
        }
        #expect(seen.violation?.text == (isSent ? nil : "no thread can go on"))
    }

    @Test("two callbacks of one group that overlap are reported")
    func overlapping() {
        let seen = explore {
            let log = Log()
            return Program({ log.within("a") }, { log.within("b") }) {
                expect(log.entries.count == 2, log.text)
            }
        }
        #expect(seen.violation?.text == "two callbacks of one group ran at the same time")
    }

    @Test("what is left of a run, and what is used after its end, is reported")
    func lifetimes() {
        var kept: [Cell] = []
        let leaking = explore {
            Program({ kept.append(Cell()) }, {}) { nil }
        }
        #expect(leaking.violation?.text.hasPrefix("leaked") == true)
        let dangling = explore {
            let cell = il_cell_new()
            return Program({ il_point(cell, IL_READ) }, { il_cell_end(cell) }) { nil }
        }
        #expect(dangling.violation?.text == "an atomic was accessed after the end of its lifetime")
    }

    @Test("each choice is tried")
    func choices() {
        var chosen: Set<Int> = []
        _ = explore(.bounded(3)) {
            let log = Log()
            return Program({ log.add("\(il_choose(3))") }, {}) {
                if let choice = Int(log.text) { chosen.insert(choice) }
                return nil
            }
        }
        #expect(chosen == [0, 1, 2])
    }

    @Test("a loop that waits by spinning lets others go on, and one without end is ended")
    func spinning() {
        func spin(for isWritten: Bool) -> Judgement {
            explore(.bounded(0)) {
                let cell = Cell(), box = Box(false)
                return Program(
                    { while box.value == false { cell.read() } },
                    {
                        cell.write()
                        if isWritten { box.value = true }
                    }
                ) { nil }
            }
        }
        #expect(spin(for: true).violation == nil)
        #expect(spin(for: false).violation?.text == "no end after 100,000 steps")
    }
}
