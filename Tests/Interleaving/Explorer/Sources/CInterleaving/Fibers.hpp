#pragma once
#include "Step.hpp"

/// A thread of a run: a stack of its own, and what it is about to do.
struct Fiber {
    char *stack = nullptr;
    void *stackPointer = nullptr;
    bool hasFinished = true;
    Operation next;
    void *slots[64] = {};

    /// Makes it start with `entry` when it is scheduled.
    void prepare(void (*entry)());
    /// Whether it can go on.
    bool isEnabled() const;
};

extern Fiber fibers[greatestThreadCount];
constexpr size_t stackSize = 1 << 20;

/// Goes on with fiber `to`, -1 for the explorer; returns when `from` goes on.
void switchFibers(int from, int to);
