/* gpu.h - the name of the machine's GPU. */
#ifndef TAKT_OS_GPU_H
#define TAKT_OS_GPU_H

#include <stdbool.h>
#include <stddef.h>

/* As the driver tells it, in one line; false if there is no GPU that Takt knows. `root` is put
 * before paths; only with "" is the driver's library asked. */
bool takt_gpu_name(const char *root, char *to, size_t size);

#endif
