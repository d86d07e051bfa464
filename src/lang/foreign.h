/* foreign.h - words of other frameworks and what they are called here. */
#ifndef TAKT_LANG_FOREIGN_H
#define TAKT_LANG_FOREIGN_H

#include "base/inner.h"
#include "base/near.h"

/* The hint for the name of a call, with or without its module (nn.Linear), or NULL. */
TAKT_INNER const char *takt_foreign_call(const char *name);
/* The hint for a name used as a value (True, x.T), or NULL. */
const char *takt_foreign_value(const char *name);
/* takt_nearest_try for a keyword: `ours` is the nearest if the wanted word is another framework's
 * name for it. */
void takt_foreign_keyword(takt_nearest *n, const char *ours);
/* A warning for a parameter of a built-in layer that was left to a default which differs from other
 * frameworks, or NULL. */
const char *takt_foreign_default(const char *layer, const char *parameter);

#endif
