#pragma once

/// Whether `cell` is an atomic that was there before the run began.
bool isGlobal(const void *cell);
/// Fails the run if `cell` is an atomic whose lifetime has ended.
void checkLifetime(const void *cell);
/// Makes the cells of the last run available again, unless there are some left, as after a failure.
void reuseCells();
/// What is there now is older than the run that begins.
void beginCells();
/// The number of a cell among those of the run; -1 for others.
long numberOf(const void *cell);
