/* stream_avx2.c - how fast memory is read and written, 256-bit vectors. */
#include "kernel/stream/stream_body.h"
