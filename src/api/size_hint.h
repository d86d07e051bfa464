/* size_hint.h - sizes that a model works with, where those that were assumed do not. */
#ifndef TAKT_API_SIZE_HINT_H
#define TAKT_API_SIZE_HINT_H

#include "api/model.h"

/* A plan failed: if names without a size, which are 1, are the reason, the context's error gets the
 * first sizes that work as its hint. `sizes` are those of takt_plan_options. */
void takt_size_hint(const takt_model *m, const char *sizes);

#endif
