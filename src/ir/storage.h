/* storage.h - what a storage costs besides its bytes, for statements that are exact. */
#ifndef TAKT_IR_STORAGE_H
#define TAKT_IR_STORAGE_H

#include <stddef.h>

size_t takt_storage_overhead(void);

#endif
