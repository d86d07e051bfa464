/* convert_avx512.c - conversions, 512-bit vectors. */
#include "kernel/convert/convert_body.h"
