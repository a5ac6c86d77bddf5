#include "Cells.hpp"
#include "interleaving.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

// The memory of atomics. Within a run each has an address that no other had, so that accesses to different
// ones are never taken for accesses to the same.
namespace {
enum : uint64_t { alive = 1, ended = 2 };

struct Cell {
    uint64_t value, state;
};

constexpr size_t cellCount = 1 << 24;
Cell *cells;
size_t nextCell, firstOfRun;
long aliveCount, aliveBefore;

bool isCell(const void *address) {
    return address >= (void *)cells && address < (void *)(cells + cellCount);
}
}

bool isGlobal(const void *cell) { return isCell(cell) && (Cell *)cell < cells + firstOfRun; }

void checkLifetime(const void *cell) {
    if (isCell(cell) && ((Cell *)cell)->state == ended) {
        il_fail("an atomic was accessed after the end of its lifetime");
    }
}

void beginCells() {
    firstOfRun = nextCell;
    aliveBefore = aliveCount;
}

void reuseCells() {
    if (aliveCount == aliveBefore) nextCell = firstOfRun;
    else beginCells();
}

long numberOf(const void *cell) {
    return isCell(cell) && (Cell *)cell >= cells + firstOfRun ? (Cell *)cell - cells - (long)firstOfRun : -1;
}

void *il_cell_new(void) {
    if (!cells) {
        cells = (Cell *)mmap(
            nullptr, cellCount * sizeof(Cell), PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    }
    if (nextCell == cellCount) {
        fprintf(stderr, "explore: more than %zu atomics in one run\n", cellCount);
        abort();
    }
    Cell *cell = &cells[nextCell++];
    cell->value = 0;
    cell->state = alive;
    aliveCount++;
    return cell;
}

void il_cell_end(void *cell) {
    if (((Cell *)cell)->state != alive) il_fail("the lifetime of an atomic ended twice");
    ((Cell *)cell)->state = ended;
    aliveCount--;
}

long il_cells_alive(void) { return aliveCount; }
