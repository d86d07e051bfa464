/* meter.h - memory that is counted. */
#ifndef TAKT_TESTS_METER_H
#define TAKT_TESTS_METER_H

#include <stdbool.h>
#include <stddef.h>

#include <takt/ctx.h>

typedef struct meter {
    size_t live, peak, asked; /* bytes now, at most, in all */
    bool fills;               /* new memory has `filling` in all its bytes */
    unsigned char filling;
} meter;

void *meter_get(void *user, size_t size, size_t align);
void meter_put(void *user, void *block, size_t size);

/* Counts in a meter, which must outlive its contexts. */
#define METER_ALLOCATOR(meter)                                                                     \
    {                                                                                              \
        .get = meter_get, .put = meter_put, .user = (meter)                                        \
    }

#endif
