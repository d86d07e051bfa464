/* cuda_device.h - where the device kernels of check_kernels run: on fibers, or on a device. */
#ifndef TAKT_TESTS_KERNEL_CUDA_DEVICE_H
#define TAKT_TESTS_KERNEL_CUDA_DEVICE_H

#include "kernel/cuda/launch.h"
#include "kernel/kernel.h"
#include "kernel/map/map.h"
#include "util/grid.h"

/* The address that a kernel reads `bytes` at `host` from; fibers read them in place. */
const void *device_in(const void *host, size_t bytes);
/* The same for memory that it writes. */
void *device_out(void *host, size_t bytes);
/* Scratch. */
void *device_scratch(size_t bytes);
/* Words that are 0; device_end() checks that they are 0 again. */
uint32_t *device_tickets(uint32_t count);
/* A launch that cannot be made ends the program with a sentence. */
void device_launch(const takt_cuda_launch *launches, size_t count);
/* After the last launch of a call. */
void device_end(void);
/* The order in which fibers run from now on. */
void device_order(grid_order order);
/* Kernels run on the first device from now on; NULL, or why they cannot. */
const char *device_open(void);

/* From now on launches of `kernel` run `broken` on fibers, and a fatal error calls `give_up`; NULL:
 * no longer. */
void device_plant(const char *kernel, takt_lane_fn *broken, void (*give_up)(void));

/* The device variants of families, as check_kernels expects them; NULL beyond the last. Those of
 * cuda_mixed.c come after the others. */
const takt_kernel_unit *device_unit(size_t index);
const takt_kernel_unit *device_mixed_unit(size_t index);
/* Called once for every kernel that is checked: the order of threads changes. */
void device_next(void);
extern uint32_t device_calls; /* so far */
/* Removes entries that the scalar table of `family` lacks. */
void device_fit_map_table(const char *family, takt_map_table *table);

#endif
