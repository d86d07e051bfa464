/* plan_options.h - the options of a plan as a table: their copy and their part of a plan's key. */
#ifndef TAKT_API_PLAN_OPTIONS_H
#define TAKT_API_PLAN_OPTIONS_H

#include "api/model.h"
#include "base/text.h"

#include <takt/plan.h>

typedef enum takt_option_kind {
    TAKT_OPTION_SIZE,
    TAKT_OPTION_INT,
    TAKT_OPTION_U64,
    TAKT_OPTION_BOOL,
    TAKT_OPTION_ASIDE,
    TAKT_OPTION_TEXT,
    TAKT_OPTION_SIZES,
    TAKT_OPTION_CAPS,
    TAKT_OPTION_FIXED,
    TAKT_OPTION_CACHE,
} takt_option_kind;

/* A field of takt_plan_options, or one of its cache. */
typedef struct takt_option {
    const char *name;
    takt_option_kind kind;
    size_t offset; /* in takt_plan_options */
} takt_option;

/* Field `i`; NULL beyond the last. All of TAKT_PLAN_OPTIONS except `cache`, which is replaced by
 * its fields. */
const takt_option *takt_option_at(size_t i);
/* A copy of `o` and of everything that it points to, in the arena. */
TAKT_MUST_USE takt_status takt_plan_options_keep(takt_arena *arena, const takt_plan_options *o,
                                                 const takt_plan_options **kept);
/* The part of the options that a plan of `m` depends on, as text: equal texts, equal plans. */
TAKT_MUST_USE takt_status takt_plan_options_key(const takt_model *m, const takt_plan_options *o,
                                                takt_text *text);

#endif
