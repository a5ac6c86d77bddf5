#include "Races.hpp"
#include <algorithm>
#include <cstring>
#include <unordered_map>

// Which accesses race: dependent ones of different threads, with no order between them that other accesses
// cause (Flanagan and Godefroid, 2005). Orders are vector clocks: for each thread, its last step that comes
// before.
namespace {
constexpr int T = greatestThreadCount;

struct Clock {
    int last[T];

    void join(const Clock &other) {
        for (int i = 0; i < T; i++) last[i] = std::max(last[i], other.last[i]);
    }
};

/// The last accesses to a cell, by thread.
struct Accesses {
    int read[T], write[T], lock[T];
    /// Writes by a thread that did not hold the lock.
    int bareWrite[T];
    Clock reads, writes;
    int holder;

    /// None: every step is -1.
    Accesses() { memset((void *)this, 0xff, sizeof *this); }
};

std::unordered_map<const void *, Accesses> accesses;
Clock clocks[T];
}

bool areDependent(const Operation &first, const Operation &second) {
    if (!first.cell || first.cell != second.cell) return false;
    auto writes = [](const Operation &operation) {
        return operation.kind != IL_READ && operation.kind != IL_LOCK;
    };
    // Reads do not see the lock bit.
    return writes(first) || writes(second) || (first.kind == IL_LOCK && second.kind == IL_LOCK);
}

void resetRaces() {
    accesses.clear();
    memset(clocks, 0xff, sizeof clocks);
}

void recordAccess(int thread, const Operation &operation, int index, int threadCount, void (*race)(int, int)) {
    Clock &clock = clocks[thread];
    if (!operation.cell) {
        clock.last[thread] = index;
        return;
    }
    Accesses &all = accesses[operation.cell];
    for (int other = 0; other < threadCount; other++) {
        if (other == thread) continue;
        int step;
        switch (operation.kind) {
        case IL_READ:
            step = all.write[other];
            break;
        case IL_LOCK:
            // One that unlocks comes after its lock: the lock is where the order was decided.
            step = std::max(all.lock[other], all.bareWrite[other]);
            break;
        default:
            step = std::max(all.write[other], all.read[other]);
            if (all.holder != thread) step = std::max(step, all.lock[other]);
        }
        if (step > clock.last[other]) race(step, thread);
    }
    switch (operation.kind) {
    case IL_READ:
        clock.join(all.writes);
        clock.last[thread] = index;
        all.reads.join(clock);
        all.read[thread] = index;
        break;
    case IL_LOCK:
        clock.join(all.writes);
        clock.last[thread] = index;
        all.lock[thread] = index;
        all.holder = thread;
        break;
    default:
        clock.join(all.writes);
        clock.join(all.reads);
        clock.last[thread] = index;
        all.writes = clock;
        all.write[thread] = index;
        if (all.holder == thread) all.holder = -1;
        else all.bareWrite[thread] = index;
    }
}
