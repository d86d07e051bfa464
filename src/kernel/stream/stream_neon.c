/* stream_neon.c - how fast memory is read and written, 128-bit vectors. */
#include "kernel/stream/stream_body.h"
