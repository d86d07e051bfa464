/* stream_scalar.c - how fast memory is read and written, one number at a time. */
#include "kernel/stream/stream_body.h"
