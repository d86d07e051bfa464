/* convert_scalar.c - conversions, the definition: one element at a time. */
#include "kernel/convert/convert.h"

TAKT_KERNELS(convert, TAKT_KERNEL(convert, "scalar", 0, takt_convert_any, NULL));
