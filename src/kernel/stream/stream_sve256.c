/* stream_sve256.c - how fast memory is read and written, scalable vectors of 256 bits. */
#include "kernel/stream/stream_body.h"
