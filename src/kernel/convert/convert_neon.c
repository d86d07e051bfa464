/* convert_neon.c - conversions, 128-bit vectors. */
#include "kernel/convert/convert_body.h"
