/* context.h - the context of the driver's shared library, one for all its calls. */
#ifndef PEERS_CONTEXT_H
#define PEERS_CONTEXT_H

#include "base/error.h"

/* NULL if there is no memory for it. It lives as long as the process. */
takt_ctx *peers_context(void);

#define PEERS_API __attribute__((visibility("default")))

#endif
