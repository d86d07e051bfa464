/* traffic.h - how fast this machine moves bytes to disk and through its loopback network. */
#ifndef TAKT_OS_TRAFFIC_H
#define TAKT_OS_TRAFFIC_H

#include "base/error.h"
#include "base/inner.h"

typedef struct takt_disk_rates {
    double write_mbs, read_mbs; /* write: until it is on the disk; read: past the page cache */
    double sync_ms;             /* a page written through to the disk, median */
    bool is_cached;             /* the system kept the pages cached, so `read_mbs` is memory's
                                 * rate */
} takt_disk_rates;

typedef struct takt_loopback_rates {
    double mbs, round_trip_us; /* one stream of TCP; median round trip of a byte */
} takt_loopback_rates;

/* In a file beneath `folder` that is removed afterwards. 0 or a positive errno. */
TAKT_INNER int takt_disk_measure(takt_ctx *ctx, const char *folder, takt_disk_rates *rates);
TAKT_INNER int takt_loopback_measure(takt_ctx *ctx, takt_loopback_rates *rates);

#endif
