/* sweep.h - the curve of a tuning knob. */
#ifndef TAKT_TESTS_KERNEL_SWEEP_H
#define TAKT_TESTS_KERNEL_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

/* `what`: "tile", "prefetch" or both with a comma; `family`: one, or NULL for all; the number of
 * settings that changed bits. */
int check_sweep(const char *what, const char *family);
/* Sweeps the steps that pass the knobs to their products: f64, 16 bits, convolutions, attention;
 * adds their number to `swept`. */
int check_sweep_steps(const char *what, const char *family, size_t *swept);

/* Operations of map_f32 and reduce_f32 on 2^10 to 2^24 floats, each against the bandwidth of the
 * level that holds them; how many were wrong. `once`: only the shortest. */
int check_sweep_levels(const char *family, bool once);

#endif
