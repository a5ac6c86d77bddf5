#pragma once
#include "Step.hpp"
#include <string>

/// The search through the schedules, which is deterministic: each run repeats the beginning of the one before
/// up to the step in which it decides otherwise.
namespace search {
extern bool isStuck, isRedundant;

void begin(const il_config &config);
/// Prepares the next schedule; false when there is none.
bool next();
/// The thread that goes on; -1 when none can.
int decide(int threadCount);
/// Returns a number below `count`, each of which is tried.
int choose(int thread, int count);
int preemptions();
}
