/* model.h - a GGUF file being turned into a graph.
 *
 * The text of the architecture (arch/NAME.takt) is evaluated with the file behind it: `setting` is
 * a key of the metadata, `stored`, `project` and `rows` append nodes for tensors (store.c).
 */
#ifndef TAKT_IO_GGUF_MODEL_H
#define TAKT_IO_GGUF_MODEL_H

#include "io/gguf/gguf.h"
#include "io/read.h"
#include "lang/parse.h"

typedef struct takt_gguf_model {
    takt_ctx *ctx;
    const takt_source *source;
    const takt_gguf *g;
    char architecture[64];
    int64_t context; /* rows of the cache */
    bool is_int8;    /* activations are rounded where they meet blocks */
} takt_gguf_model;

/* The functions of takt_parse_given; `user` is the model. */
bool takt_gguf_is_stored(void *user, const char *name);
takt_id takt_gguf_stored(void *user, takt_graph *g, const char *name, const takt_type *type);
takt_id takt_gguf_project(void *user, takt_graph *g, const char *name, takt_id x, int64_t units);
takt_id takt_gguf_rows(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size);

/* A tensor of blocks as the parts that block_matmul takes. Others stay the bytes of the file. */
typedef struct takt_gguf_parts {
    takt_id levels; /* [n, k] */
    takt_id scales; /* f16[n, blocks] */
    takt_id mins;   /* f16[n, blocks], or TAKT_NONE */
    double zero;    /* what is taken off a level */
} takt_gguf_parts;
bool takt_gguf_has_parts(const takt_gguf_model *m, const takt_gguf_type *type);
/* False: the failure is recorded. */
bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t,
                     takt_gguf_parts *parts);

/* The text of an architecture, or NULL; "common" is what they share. */
const char *takt_gguf_arch(const char *name);
const char *takt_gguf_arch_name(size_t index); /* NULL past the last */

#endif
