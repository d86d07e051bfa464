/* stream_sve512.c - how fast memory is read and written, scalable vectors of 512 bits. */
#include "kernel/stream/stream_body.h"
