#include "Search.hpp"
#include "Fibers.hpp"
#include "Races.hpp"

std::vector<Step> steps;

namespace search {
bool isStuck, isRedundant;

namespace {
/// A set of threads, as bits.
typedef uint32_t Threads;

/// A decision: what could go on, and what has been tried.
struct Decision {
    Threads enabled, tried = 0;
    /// Those that have to be tried, as far as races have shown; and those whose next step was tried in an
    /// earlier decision, with nothing since that depends on it. Both for the reduced search.
    Threads wanted = 0, asleep = 0;
    uint8_t chosen;
    int8_t previous;
    int preemptions = 0;

    bool wasPreempted() const {
        return previous >= 0 && (enabled >> previous & 1) && chosen != previous;
    }
};

il_config config;
std::string replay;
std::vector<Decision> decisions;
size_t plannedCount;
bool isFirst;
Threads asleep;
/// How long one thread has gone on alone; how often one was made to wait in this run.
int runLength, forcedInRun;

/// The thread that went on, if it can; else the first.
int usual(Threads among) {
    int previous = steps.empty() ? -1 : steps.back().thread;
    return previous >= 0 && (among >> previous & 1) ? previous : __builtin_ctz(among);
}

/// One that has gone on for long spins, and has to wait for another. (Not always for equally many steps: that
/// could fall into step with the loop.)
Threads fair(Threads enabled) {
    size_t count = steps.size();
    int previous = count ? steps[count - 1].thread : -1;
    runLength = count > 1 && steps[count - 2].thread == previous ? runLength + 1 : 0;
    Threads others = enabled & ~(previous < 0 ? 0 : 1u << previous);
    if (runLength < 397 + forcedInRun * 3 % 11 || !others) return enabled;
    runLength = 0;
    forcedInRun++;
    return others;
}

int replayed(Threads enabled) {
    size_t index = steps.size();
    int chosen = index < replay.size() ? replay[index] - '0' : usual(enabled);
    if (enabled >> chosen & 1) return chosen;
    il_fail("the schedule does not fit: another thread was to go on here");
    return usual(enabled);
}

int repeated(Threads enabled) {
    Decision &decision = decisions[steps.size()];
    if (decision.enabled != enabled) {
        il_fail("not deterministic: other threads can go on than in the run before");
        isRedundant = true;
    }
    return enabled >> decision.chosen & 1 ? decision.chosen : usual(enabled);
}

int decided(Threads enabled) {
    Decision decision;
    decision.enabled = enabled;
    decision.previous = steps.empty() ? -1 : steps.back().thread;
    if (!decisions.empty()) {
        decision.preemptions = decisions.back().preemptions + decisions.back().wasPreempted();
    }
    if (config.mode == IL_REDUCED) decision.asleep = asleep;
    Threads awake = enabled & ~decision.asleep;
    if (!awake) {
        isRedundant = true;
        return usual(enabled);
    }
    decision.chosen = usual(awake);
    decision.wanted = 1u << decision.chosen;
    decisions.push_back(decision);
    return decision.chosen;
}

/// The step at `step` is to be tried with `thread` going on instead.
void race(int step, int thread) {
    Decision &decision = decisions[step];
    decision.wanted |= decision.enabled >> thread & 1 ? 1u << thread : decision.enabled;
}

void reduce(int chosen, const Operation &operation, int threadCount) {
    const Decision &decision = decisions[steps.size()];
    Threads candidates = (decision.asleep | decision.tried) & ~(1u << chosen);
    asleep = 0;
    for (int other = 0; other < threadCount; other++) {
        if (candidates >> other & 1 && !areDependent(fibers[other].next, operation)) asleep |= 1u << other;
    }
    recordAccess(chosen, operation, (int)steps.size(), threadCount, race);
}
}

void begin(const il_config &newConfig) {
    config = newConfig;
    replay = config.replay ? config.replay : "";
    decisions.clear();
    steps.clear();
    isFirst = true;
}

bool next() {
    isStuck = isRedundant = false;
    asleep = 0;
    runLength = forcedInRun = 0;
    resetRaces();
    steps.clear();
    if (isFirst) {
        isFirst = false;
        plannedCount = 0;
        return true;
    }
    if (config.mode == IL_REPLAY) return false;
    while (!decisions.empty()) {
        Decision &last = decisions.back();
        last.tried |= 1u << last.chosen;
        Threads open = config.mode == IL_REDUCED ? last.wanted & ~last.asleep : last.enabled;
        open &= last.enabled & ~last.tried;
        bool mayGoOn = last.previous >= 0 && (last.enabled >> last.previous & 1);
        if (config.mode == IL_BOUNDED && mayGoOn && last.preemptions >= config.bound) {
            open &= 1u << last.previous;
        }
        if (open) {
            last.chosen = __builtin_ctz(open);
            plannedCount = decisions.size();
            return true;
        }
        decisions.pop_back();
    }
    return false;
}

int decide(int threadCount) {
    Threads enabled = 0;
    bool haveFinished = true;
    for (int i = 0; i < threadCount; i++) {
        haveFinished = haveFinished && fibers[i].hasFinished;
        if (fibers[i].isEnabled()) enabled |= 1u << i;
    }
    if (!enabled) {
        isStuck = !haveFinished;
        return -1;
    }
    if (steps.size() == 100'000) {
        il_fail("no end after 100,000 steps");
        isStuck = true;
        return -1;
    }
    enabled = fair(enabled);

    int chosen;
    if (config.mode == IL_REPLAY) chosen = replayed(enabled);
    else if (isRedundant) chosen = usual(enabled);
    else if (steps.size() < plannedCount) chosen = repeated(enabled);
    else chosen = decided(enabled);

    const Operation &operation = fibers[chosen].next;
    if (config.mode == IL_REDUCED && !isRedundant) reduce(chosen, operation, threadCount);
    steps.push_back({(uint8_t)chosen, operation});
    return chosen;
}

int choose(int thread, int count) {
    if (isRedundant) return 0;
    Threads all = (1u << count) - 1;
    if (steps.size() >= plannedCount) {
        Decision decision;
        decision.enabled = decision.wanted = all;
        // Another choice than the first counts as a preemption, so that the smallest bound finds the simplest runs.
        decision.chosen = decision.previous = 0;
        if (!decisions.empty()) {
            decision.preemptions = decisions.back().preemptions + decisions.back().wasPreempted();
        }
        decisions.push_back(decision);
    }
    int chosen = decisions[steps.size()].chosen;
    steps.push_back({(uint8_t)thread, Operation()});
    return chosen;
}

int preemptions() {
    int count = 0;
    for (size_t i = 1; i < steps.size() && i < decisions.size(); i++) count += decisions[i].wasPreempted();
    return count;
}
}
