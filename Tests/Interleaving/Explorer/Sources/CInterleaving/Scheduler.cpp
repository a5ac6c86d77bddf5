#include "Cells.hpp"
#include "Fibers.hpp"
#include "Search.hpp"
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int il_planted_fault = 0;

namespace {
il_config config;
int threadCount, current = -1;
bool isRunning, isUnscheduled;
void (*threadBody)(void *, int);
void *threadContext;
std::string failure, name = "?";
void *slotsOutside[64];
bool isSilent;

/// Goes on with whichever thread is decided on.
void schedule(int from) {
    int next = search::decide(threadCount);
    if (next != from || next < 0) {
        current = next;
        switchFibers(from, next);
    }
    if (from >= 0 && config.stepped) config.stepped();
}

void runThread() {
    if (config.stepped) config.stepped();
    int thread = current;
    threadBody(threadContext, thread);
    fibers[thread].hasFinished = true;
    schedule(thread);
    abort();
}

void point(const void *cell, long kind) {
    if (current < 0 || !isRunning || isUnscheduled) return;
    if (!config.includesGlobals && kind < IL_LOCK && isGlobal(cell)) return;
    int thread = current;
    fibers[thread].next = {(uint8_t)kind, cell};
    schedule(thread);
}

void printCrash(int signal) {
    if (isSilent) _exit(100 + signal);
    // Allocates nothing: the crash may have been in the allocator.
    char text[4000];
    int count = snprintf(
        text, sizeof text, "\ncrash (signal %d) in %s, thread %d, step %zu; failure before: %s\nschedule ",
        signal, name.c_str(), current, steps.size(), failure.empty() ? "none" : failure.c_str());
    (void)!write(1, text, count < (int)sizeof text ? count : sizeof text);
    for (auto &step : steps) {
        char digit = '0' + step.thread;
        (void)!write(1, &digit, 1);
    }
    (void)!write(1, "\n", 1);
    _exit(70);
}

/// On a stack of its own, as the crash may be an overflow of one.
void catchCrashes() {
    static bool isDone = false;
    // With that set, the runtime shows where it crashed.
    if (isDone || getenv("SWIFT_BACKTRACE")) return;
    isDone = true;
    stack_t stack = {};
    stack.ss_sp = malloc(1 << 16);
    stack.ss_size = 1 << 16;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = printCrash;
    action.sa_flags = SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS}) sigaction(signal, &action, nullptr);
}
}

// MARK: Called by the instrumented code

void il_point(const void *cell, long kind) {
    point(cell, kind);
    if (cell) checkLifetime(cell);
}

void il_lock(const void *cell) {
    point(cell, IL_LOCK);
    checkLifetime(cell);
    if (*(const uint8_t *)cell & 1) il_fail("a lock was taken twice by one thread");
}

void il_wait(const void *cell) {
    point(cell, IL_WAIT);
    checkLifetime(cell);
}

void il_point_references(long kind) {
    static int64_t references;
    point(&references, kind);
}

void il_unscheduled(bool isOn) { isUnscheduled = isOn; }

int il_choose(int count) { return current < 0 || !isRunning ? 0 : search::choose(current, count); }

unsigned long il_thread(void) { return 2 * (1001 + current); }

static void *&slot(uint32_t key) { return current < 0 ? slotsOutside[key & 63] : fibers[current].slots[key & 63]; }

void *il_slot_get(uint32_t key) { return slot(key); }

void il_slot_set(uint32_t key, void *value) { slot(key) = value; }

void il_fail(const char *text) {
    if (failure.empty()) failure = text;
}

// MARK: Called by the explorer

void il_flush_lines(void) { setvbuf(stdout, nullptr, _IOLBF, 0); }

void il_set_name(const char *newName) { name = newName; }

void il_begin(const il_config *newConfig) {
    catchCrashes();
    config = *newConfig;
    search::begin(config);
    config.replay = nullptr;
    beginCells();
}

bool il_next(void) {
    failure.clear();
    reuseCells();
    return search::next();
}

long il_run(int count, void (*body)(void *, int), void *context) {
    threadCount = count;
    threadBody = body;
    threadContext = context;
    for (int i = 0; i < count; i++) fibers[i].prepare(runThread);
    isRunning = true;
    schedule(-1);
    isRunning = false;
    current = -1;
    return search::isStuck ? IL_STUCK : search::isRedundant ? IL_REDUNDANT : IL_ENDED;
}

const char *il_failure(void) { return failure.empty() ? nullptr : failure.c_str(); }

const char *il_schedule(void) {
    static std::string schedule;
    schedule.clear();
    for (auto &step : steps) schedule += '0' + step.thread;
    return schedule.c_str();
}

int il_preemptions(void) { return search::preemptions(); }

// MARK: Steps

uint64_t il_step_count(void) { return steps.size(); }
int il_step_thread(uint64_t step) { return steps[step].thread; }
long il_step_kind(uint64_t step) { return steps[step].operation.kind; }
long il_step_cell(uint64_t step) { return numberOf(steps[step].operation.cell); }

// MARK: Processes

static int resultOf(pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    if (WIFSIGNALED(status)) return -WTERMSIG(status);
    int code = WEXITSTATUS(status);
    return code > 100 ? 100 - code : code;
}

static pid_t startProcess(bool (*body)(void *), void *context) {
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    bool result = body(context);
    fflush(stdout);
    _exit(result ? 0 : 1);
}

int il_in_process(bool (*body)(void *), void *context) {
    bool wasSilent = isSilent;
    isSilent = true;
    pid_t child = startProcess(body, context);
    isSilent = wasSilent;
    return resultOf(child);
}

static std::atomic<long> *tickets;

bool il_in_processes(int count, bool (*body)(void *), void *context) {
    void *shared = mmap(nullptr, sizeof *tickets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    tickets = new (shared) std::atomic<long>(0);
    // What a process prints of one part of the work is not mixed with what others print.
    setvbuf(stdout, nullptr, _IOFBF, 1 << 20);
    std::vector<pid_t> children;
    for (int i = 0; i < count; i++) children.push_back(startProcess(body, context));
    bool areFine = true;
    for (pid_t child : children) areFine = resultOf(child) == 0 && areFine;
    return areFine;
}

long il_ticket(void) { return tickets->fetch_add(1); }

void il_flush(void) { fflush(stdout); }
