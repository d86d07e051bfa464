/* open_grids.h - the levels of entries in the grids of iq1, iq2 and iq3, as bytes.
 *
 * An entry has eight bytes, in iq3 four: the levels of neighbours, the first in the lowest byte.
 * Those of iq1 are eighths. Signs are bytes, too: 0, or 255 for minus.
 */
#ifndef TAKT_KERNEL_GGML_I8_OPEN_GRIDS_H
#define TAKT_KERNEL_GGML_I8_OPEN_GRIDS_H

#include <stdint.h>

extern const uint64_t takt_ggml_open_iq2_xxs[256];
extern const uint64_t takt_ggml_open_iq2_xs[512];
extern const uint64_t takt_ggml_open_iq2_s[1024];
extern const uint64_t takt_ggml_open_iq1[2048];
extern const uint32_t takt_ggml_open_iq3_xxs[256];
extern const uint32_t takt_ggml_open_iq3_s[512];
/* By eight bits, and by seven with an eighth that makes the number of minus signs even. */
extern const uint64_t takt_ggml_open_signs[256];
extern const uint64_t takt_ggml_open_even[128];

#endif
