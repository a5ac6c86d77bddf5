import Testing

@testable import Instrumenting

/// Plants changes, written as in a file of faults, in a source.
private func planted(_ changes: String, in source: String) throws -> String {
    let faults = try PlantedFault.parse("7 a fault\n" + changes, name: "test")
    return try Planting.plant(faults, in: [source])[0].text
}

private func problem(_ changes: String, in source: String) -> String {
    do { return try planted(changes, in: source) } catch { return "\(error)" }
}

@Suite("Faults are planted by symbol")
struct PlantingTests {
    /// One function in a type, with such a body.
    private func body(_ text: String) -> String {
        "struct S {\n    func f(_ a: Int, of b: Int) -> Int {\n        \(text)\n    }\n}\n"
    }

    @Test(
        "each operation changes what it names",
        arguments: [
            ("skips `g`", "g(a)", "if !isPlanted(7) { g(a) }"),
            ("skips `g`", "if a > 0 { g(a) }", "if a > 0 { if !isPlanted(7) { g(a) } }"),
            (
                "skips `n = nil`", "switch a { case 1, 2: n = nil; default: break }",
                "switch a { case 1, 2: if !isPlanted(7) { n = nil }; default: break }"
            ),
            ("skips `g`", "h { x in g(x) }", "h { x in if !isPlanted(7) { g(x) } }"),
            ("holds `b`", "if a > 0, !g(b) || c { h() }", "if a > 0, !g(((b) || isPlanted(7))) || c { h() }"),
            (
                "holds `!g`", "if a > 0, !g(b) || c { h() }",
                "if a > 0, ((!g(b)) || isPlanted(7)) || c { h() }"
            ),
            ("fails `g`", "let x = a && g(b) ? 1 : 2", "let x = a && ((g(b)) && !isPlanted(7)) ? 1 : 2"),
            (
                "fails `g`", "guard let x = g(b), x > 0 else { return 1 }",
                "guard let x = g(b), !isPlanted(7), x > 0 else { return 1 }"
            ),
            (
                "fails `_ == nil`", "return a?.b ?? c == nil ? 1 : 2",
                "return ((a?.b ?? c == nil) && !isPlanted(7)) ? 1 : 2"
            ),
            (
                "drops guard `a > 0`", "guard a > 0, b.c else { return 1 }",
                "guard ((a > 0) || isPlanted(7)), ((b.c) || isPlanted(7)) else { return 1 }"
            ),
            (
                "guard `a > 0` answers `2`", "guard a > 0 else { return 1 }",
                "guard a > 0 else { return (isPlanted(7) ? (2) : 1) }"
            ),
            ("answers `%p2`", "a + b", "return isPlanted(7) ? (b) : (a + b)"),
            ("answers `0`", "return a + b", "if isPlanted(7) { return 0 }; return a + b"),
            (
                "call `_.g` becomes `%0.h(%2, %1)`", "let x = y.g(a + 1, of: b)",
                "let x = (isPlanted(7) ? (y.h(b, (a + 1))) : y.g(a + 1, of: b))"
            ),
            ("call `g` becomes `%_; %0.h()`", "g(a)", "if isPlanted(7) { g(a); h() } else { g(a) }"),
            (
                "call `_.g { h(_) }` becomes `k(%b)`", "let z = y.g { h(x) }",
                "let z = (isPlanted(7) ? (k(x)) : y.g { h(x) })"
            ),
            (
                "text `0..<_` becomes `1..<%a`", "for i in 0..<b { g(i) }",
                "for i in (isPlanted(7) ? (1..<b) : 0..<b) { g(i) }"
            ),
            ("before `g` does `h(%1)`", "let x = y + g(a)", "if isPlanted(7) { h(a) }; let x = y + g(a)"),
            ("after `g` does `h(%1)`", "let x = y + g(a)", "let x = y + g(a); if isPlanted(7) { h(a) }"),
            (
                "swaps `g` and `h`", "g(a)\n        h(b)",
                "if isPlanted(7) { h(b); g(a) } else { g(a)\n        h(b) }"
            ),
        ])
    func operations(change: String, before: String, after: String) throws {
        #expect(try planted("  S.f \(change)", in: body(before)) == body(after))
    }

    @Test("renamed variables, other line breaks and comments break nothing")
    func rewording() throws {
        let changes = """
              Queue.take fails `_.isEmpty,`
              Queue.take call `lock.unlock` becomes `%1.drop()`
            """
        let one =
            "class Queue { func take() { let word = lock(); if word.isEmpty, ready { lock.unlock(word) } } }"
        let other = """
            extension Queue {
                // Moved, renamed, and written anew: "word.isEmpty,"
                public mutating func take(
                ) {
                    let seen = lock()
                    if
                        seen
                            .isEmpty,
                        ready
                    {
                        lock.unlock(/* { */ seen)
                    }
                }
            }
            """
        #expect(
            try planted(changes, in: one).contains(
                "if ((word.isEmpty) && !isPlanted(7)), ready { if isPlanted(7) { word.drop() } else { lock.unlock(word) } }"
            ))
        let text = try planted(changes, in: other)
        #expect(text.contains("((seen\n                .isEmpty) && !isPlanted(7)),"))
        #expect(text.contains("if isPlanted(7) { seen.drop() } else { lock.unlock(/* { */ seen) }"))
        #expect(text.count { $0 == "\n" } == other.count { $0 == "\n" })
    }

    @Test("a function is found by its types, its base name and, where that is not enough, its labels")
    func symbols() throws {
        let source = """
            struct A { struct B { func f() { g() } } }
            extension A.C { var f: Int { h() } ; init(x: Int) { g() }; deinit { k() } }
            extension B where X == Y { func f(of a: Int) { m() }; static func + (l: B, r: B) { } }
            func f() { n() }
            protocol P { func f(); var v: Int { get } }
            """
        for (symbol, call) in [
            ("A.B.f", "g"), ("C.f", "h"), ("C.init", "g"), ("C.deinit", "k"), ("B.f(of:)", "m"),
            ("B.f()", "g"),
        ] {
            #expect(
                try planted("  \(symbol) skips `\(call)`", in: source).contains("!isPlanted(7)"), "\(symbol)")
        }
        #expect(
            problem("  B.f returns", in: source).contains(
                "is the name of several functions: A.B.f(), B.f(of:)"))
    }

    @Test("a missing symbol, or place, is reported with what there is")
    func missing() {
        let source =
            "struct Link { func attach() { lock(); lock() }\n func detach() {} }\nclass Other { func attached() {} }"
        #expect(
            problem("  Link.atach skips `lock`", in: source)
                == "planted fault 7, a fault: there is no function Link.atach; there are Link.attach(), Link.detach(), Other.attached()"
        )
        #expect(
            problem("  Link.attach skips `unlock`", in: source).hasSuffix(
                "Link.attach has 0 places with `unlock`; it mentions lock"))
        #expect(problem("  Link.attach skips `lock`", in: source).contains("has 2 places"))
        #expect(problem("  Link.attach drops guard `lock() ;`", in: source).hasSuffix("this is no guard"))
    }

    @Test("faults may be in one another, and not overlap otherwise")
    func nesting() throws {
        let both = try PlantedFault.parse("1 a\n  f skips `g`\n2 b\n  f call `h` becomes `0`\n", name: "test")
        let text = try Planting.plant(both, in: ["func f() { g(h(1)) }"])[0].text
        #expect(text == "func f() { if !isPlanted(1) { g((isPlanted(2) ? (0) : h(1))) } }")
        let crossing = try PlantedFault.parse(
            "1 a\n  f text `a + b` becomes `0`\n2 b\n  f text `b + c` becomes `0`\n", name: "test")
        #expect(throws: PlantingFailure.self) {
            try Planting.plant(crossing, in: ["func f() { g(a + b + c) }"])
        }
    }

    @Test("what surrounds code hides nothing: strings, comments, interpolations, raw and long strings")
    func tokens() {
        let source = #"""
            let a = "x \(f("}")) y" // "
            /* { */ let b = #"\("# + """
            " } \(c)
            """
            """#
        #expect(
            Tokens(source).all.map { String($0.text).prefix(5) }
                == ["let", "a", "=", "\"x \\(", "let", "b", "=", "#\"\\(\"", "+", "\"\"\"\n\""].map {
                    $0.prefix(5)
                })
        #expect(
            Tokens("0..<20_000.5e1 x?.y&+z").all.map(\.text) == [
                "0", "..<", "20_000.5e1", "x", "?", ".", "y", "&+", "z",
            ])
    }

    @Test("a file of faults says what is wrong in it")
    func format() throws {
        let fault = try PlantedFault.parse(
            "# a\n5 b c\n  found by d size 3 place 4 bound 2\n  T.f skips `g`\n", name: "x")[0]
        #expect(
            fault.number == 5 && fault.title == "b c"
                && fault.finder == .search("d", size: 3, place: 4, bound: "2"))
        #expect(fault.changes.map(\.operation) == [.skips("g")])
        #expect(try PlantedFault.parse("6 b\n  seen by A|B\n", name: "x")[0].finder == .tests("A|B"))
        for (text, message) in [
            ("  T.f skips `g`", "x:1: no fault precedes this"),
            ("five", "x:1: a fault begins with its number and a title"),
            ("5 a\n  T.f omits `g`", "x:2: no operation is written like “T.f omits `g`”"),
            ("5 a\n  found by", "x:2: no operation is written like “found by”"),
        ] {
            #expect { try PlantedFault.parse(text, name: "x") } throws: { "\($0)" == message }
        }
    }
}
