/* usage.h - limits of processors and memory that runs obey. */
#ifndef TAKT_API_USAGE_H
#define TAKT_API_USAGE_H

#include <takt/usage.h>

#include "base/inner.h"

/* Waits until the share of the processors that the context may use allows a run. */
void takt_cpu_wait(takt_ctx *ctx);
/* Memory that the pages of this process take; 0 where the system does not say. */
TAKT_INNER uint64_t takt_resident_bytes(void);

#endif
