/* format.h - one kind of file that holds tensors by name.
 *
 * The folder is the list: format/<name>.c defines `const takt_weights_format takt_weights_<name>`.
 * Files are recognised by their first bytes, so at most one of them recognises a file.
 */
#ifndef TAKT_IO_WEIGHTS_FORMAT_H
#define TAKT_IO_WEIGHTS_FORMAT_H

#include <string.h>

#include "io/skim.h"
#include "io/weights/weights.h"

typedef struct takt_weights_reader {
    takt_ctx *ctx;
    takt_arena arena; /* freed after the file */
    const char *path;
    takt_weights_fn *visit;
    void *user;
    takt_skim *skim;    /* reads the bytes of tensors when they are visited; NULL: all are there */
    size_t undone;      /* offset in `skim`: bytes before it were returned to the system */
    bool is_types_only; /* bytes of tensors are read to be checked, if at all */
} takt_weights_reader;

/* The tensors to write. */
typedef struct takt_weights_set {
    const takt_named_tensor *tensors;
    size_t count;
    uint64_t shard_bytes; /* most bytes of a part, for formats with parts */
} takt_weights_set;

typedef struct takt_weights_format {
    const char *name;
    /* Whether a file that begins with these bytes has this format. */
    bool (*recognises)(const uint8_t *bytes, size_t length);
    /* Reads the part that `each` needs without fetching it; NULL: the whole file. */
    takt_status (*skim)(takt_skim *s);
    /* Passes every tensor to r->visit. */
    takt_status (*each)(takt_weights_reader *r, const uint8_t *bytes, size_t length);
    const char *ending; /* suffix of files that `save` writes: ".npz"; NULL: it writes none */
    takt_status (*save)(takt_ctx *ctx, const char *path, const takt_weights_set *set);
} takt_weights_format;

/* All formats, by name; the one for a path's suffix, or NULL. */
extern const takt_weights_format *const takt_weights_formats[];
extern const size_t takt_weights_format_count;
const takt_weights_format *takt_weights_by_ending(const char *path);

static inline bool takt_weights_starts(const uint8_t *bytes, size_t length, const char *magic)
{
    const size_t n = strlen(magic);
    return length >= n && memcmp(bytes, magic, n) == 0;
}

/* The tensors of a safetensors file, in the order of its bytes; their bools are checked. */
takt_status takt_weights_list(takt_weights_reader *r, const char *path, const uint8_t *file,
                              size_t length, takt_weight_list *list);
/* Passes one to r->visit: its bytes are read for it, then returned to the system. */
takt_status takt_weights_visit_bytes(takt_weights_reader *r, const char *path, const takt_weight *w,
                                     const uint8_t *file);
takt_status takt_weights_skim_safetensors(takt_skim *s);
takt_status takt_weights_visit(takt_weights_reader *r, const char *name, const takt_tensor_view *v);
takt_tensor_view takt_weights_view(const takt_tensor *t);
takt_status takt_weights_save_safetensors(takt_ctx *ctx, const char *path,
                                          const takt_weights_set *set);

#endif
