/* sweep.h - the curve of a tuning knob. */
#ifndef TAKT_TESTS_KERNEL_SWEEP_H
#define TAKT_TESTS_KERNEL_SWEEP_H

/* `what`: "tile", "prefetch" or both with a comma; the number of settings that changed bits. */
int check_sweep(const char *what);

#endif
