/* late.h - weights that stay in their file until a plan packs them (ir/late.h). */
#ifndef TAKT_IO_GGUF_LATE_H
#define TAKT_IO_GGUF_LATE_H

#include "io/gguf/model.h"
#include "io/gguf/stash.h"

/* Blocks [first, first + count) of a tensor as a part of the stored value. */
typedef void takt_gguf_part_fn(const takt_gguf_type *type, const uint8_t *blocks, size_t count,
                               uint8_t *to);

/* What part of the blocks a tensor of the graph has; `part` NULL: all their bytes. */
typedef struct takt_gguf_part {
    takt_gguf_part_fn *part, *other; /* other: for the stash; NULL: this is what the stash has */
    size_t width, other_width;       /* bytes of a block's part */
    takt_gguf_stash *stash;          /* or NULL */
} takt_gguf_part;

/* A tensor of the stack's bytes. If the model is not opened to be read late, or the tensor is
 * small, `*tensor` has no storage and the caller reads it. */
TAKT_MUST_USE takt_status takt_gguf_late(const takt_gguf_model *m, const takt_gguf_stack *s,
                                         const takt_type *type, takt_gguf_part part,
                                         takt_tensor *tensor);

#endif
