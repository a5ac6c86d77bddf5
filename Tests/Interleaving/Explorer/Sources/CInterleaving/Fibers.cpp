#include "Fibers.hpp"
#include <cstring>
#include <sys/mman.h>

Fiber fibers[greatestThreadCount];
static void *explorerStackPointer;

extern "C" void il_switch(void **from, void *to);

void switchFibers(int from, int to) {
    void **saved = from < 0 ? &explorerStackPointer : &fibers[from].stackPointer;
    il_switch(saved, to < 0 ? explorerStackPointer : fibers[to].stackPointer);
}

void Fiber::prepare(void (*entry)()) {
    if (!stack) {
        stack = (char *)mmap(nullptr, stackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    }
    // What il_switch takes from the stack: see FiberSwitch.S. The frame pointer is null, where walks end.
    void **top = (void **)(stack + stackSize);
#if defined(__x86_64__)
    *--top = nullptr;  // Where `entry`, which does not return, would return to.
    *--top = (void *)entry;
    for (int i = 0; i < 6; i++) *--top = nullptr;
#else
    top -= 20;
    memset(top, 0, 160);
    top[11] = (void *)entry;
#endif
    stackPointer = top;
    hasFinished = false;
    next = Operation();
    memset(slots, 0, sizeof slots);
}

bool Fiber::isEnabled() const {
    if (hasFinished) return false;
    switch (next.kind) {
    case IL_LOCK: return (*(const volatile uint8_t *)next.cell & 1) == 0;
    case IL_WAIT: return *(const volatile int64_t *)next.cell > 0;
    default: return true;
    }
}
