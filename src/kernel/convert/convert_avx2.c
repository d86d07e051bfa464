/* convert_avx2.c - conversions, 256-bit vectors. */
#include "kernel/convert/convert_body.h"
