#pragma once
#include "interleaving.h"
#include <cstddef>
#include <vector>

constexpr int greatestThreadCount = 8;

/// An access that a thread is about to make.
struct Operation {
    uint8_t kind = IL_START;
    const void *cell = nullptr;
};

/// Whether the order of two accesses of different threads can make a difference.
bool areDependent(const Operation &first, const Operation &second);

struct Step {
    uint8_t thread;
    Operation operation;
};

extern std::vector<Step> steps;
