/* list.h - the backends that ship with Takt, in the order in which `takt backends` shows them. The
 * first is the default and the fallback: it runs everything, on the host. */
#ifndef TAKT_BACKEND_LIST_H
#define TAKT_BACKEND_LIST_H

#include "plan/backend.h"

#define TAKT_BACKEND_LIST(X) X(cpu) X(cuda) X(blas) X(ref)

#define TAKT_BACKEND_DECLARE(name) extern const takt_backend takt_backend_##name;
TAKT_BACKEND_LIST(TAKT_BACKEND_DECLARE)
#undef TAKT_BACKEND_DECLARE

#endif
