/* grids.c - the grids of iq1, iq2 and iq3. */
#include "kernel/ggml_f32/grids.h"

#define TAKT_GGML_GRID(name, words) const uint64_t name[words]
#include "kernel/ggml_f32/grids.def"
