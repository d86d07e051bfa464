/* stream_avx512.c - how fast memory is read and written, 512-bit vectors. */
#include "kernel/stream/stream_body.h"
