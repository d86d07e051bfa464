/* grids.h - the levels of an entry in a grid of iq1, iq2 or iq3. */
#ifndef TAKT_KERNEL_GGML_F32_GRIDS_H
#define TAKT_KERNEL_GGML_F32_GRIDS_H

#include <stdint.h>

extern const uint64_t takt_ggml_iq2_xxs[64];
extern const uint64_t takt_ggml_iq2_xs[128];
extern const uint64_t takt_ggml_iq2_s[256];
extern const uint64_t takt_ggml_iq1[512];
extern const uint64_t takt_ggml_iq3_xxs[64];
extern const uint64_t takt_ggml_iq3_s[128];

#endif
