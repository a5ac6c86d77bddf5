#pragma once
#include "Step.hpp"

/// Forgets the accesses of the last run.
void resetRaces();
/// Takes note of the step at `index`, and has every earlier step that races with it run in the other order
/// too, by a call of `race(step, thread)`.
void recordAccess(int thread, const Operation &operation, int index, int threadCount, void (*race)(int, int));
