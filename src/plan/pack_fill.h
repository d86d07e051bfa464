/* pack_fill.h - writes the packed form of one constant. */
#ifndef TAKT_PLAN_PACK_FILL_H
#define TAKT_PLAN_PACK_FILL_H

#include "plan/builder.h"
#include "plan/packs.h"

typedef struct takt_pack_work {
    const takt_pack_name *name;
    void *user; /* of its functions */
    const takt_tensor *tensor;
    size_t offset; /* of the constant in it, in bytes */
    void *to;
    bool is_last; /* nothing reads the constant afterwards */
} takt_pack_work;

TAKT_MUST_USE takt_status takt_builder_fill(takt_builder *b, const takt_pack_work *work);

#endif
