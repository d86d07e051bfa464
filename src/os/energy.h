/* energy.h - joules counted by the machine itself: RAPL, hwmon, NVML. Nothing is ever estimated. */
#ifndef TAKT_OS_ENERGY_H
#define TAKT_OS_ENERGY_H

#include <stdbool.h>

#include "base/inner.h"

typedef struct takt_energy {
    const char *source; /* "rapl", "hwmon", "nvml" */
    double joules;      /* since an arbitrary moment */
    double range;       /* value at which the counter wraps; 0: never */
} takt_energy;

/* `root` is put before the paths of system files, for tests; NVML is used only without it. False:
 * there is no counter, or no permission. */
TAKT_INNER bool takt_energy_read(const char *root, takt_energy *e);
/* Joules from `a` to `b`, which have the same source. */
TAKT_INNER double takt_energy_between(const takt_energy *a, const takt_energy *b);

#endif
