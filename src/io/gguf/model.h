/* model.h - a GGUF file, or what is read as if it were one, being turned into a graph.
 *
 * The text of the architecture (arch/NAME.takt) is evaluated with the file behind it: `setting` is
 * a key of the metadata, `stored`, `project` and `rows` append nodes for tensors (store.c).
 */
#ifndef TAKT_IO_GGUF_MODEL_H
#define TAKT_IO_GGUF_MODEL_H

#include "io/gguf/shards.h"
#include "lang/parse.h"

typedef struct takt_gguf_model {
    takt_ctx *ctx;
    const takt_source *source;
    const takt_gguf *g;
    const takt_gguf_shards *shards; /* parts after the first; NULL: `source` is all of it */
    /* The bytes of a tensor that lie in no GGUF file; NULL: `source` has them at its offset. */
    takt_status (*fetch)(void *user, const takt_gguf_tensor *t, uint8_t *to);
    void *user;
    const char *format; /* of the lineage */
    char architecture[64];
    int64_t context;      /* rows of the cache */
    const char *cache[2]; /* types of keys and values in it */
    bool is_int8;         /* activations are rounded where they meet blocks */
    bool *is_read;        /* for each tensor, set when the text asks for it; or NULL */
} takt_gguf_model;

/* The graph of a model whose metadata and tensors are known; the first fields are set. */
TAKT_MUST_USE takt_status takt_gguf_build(takt_gguf_model *m, takt_graph **graph);
/* The file that has the tensor, unless it is fetched. */
const takt_source *takt_gguf_home(const takt_gguf_model *m, const takt_gguf_tensor *t);
/* All bytes of a tensor. */
TAKT_MUST_USE takt_status takt_gguf_bytes(const takt_gguf_model *m, const takt_gguf_tensor *t,
                                          uint8_t *to);

/* The functions of takt_parse_given; `user` is the model. */
bool takt_gguf_is_stored(void *user, const char *name);
takt_id takt_gguf_stored(void *user, takt_graph *g, const char *name, const takt_type *type);
takt_id takt_gguf_packed(void *user, takt_graph *g, const char *name, const takt_type *type);
takt_id takt_gguf_unpacked(void *user, takt_graph *g, const char *name, takt_id x);
takt_id takt_gguf_project(void *user, takt_graph *g, const char *name, takt_id x,
                          const int64_t *units, size_t count);
takt_id takt_gguf_rows(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size);

/* Tensors of one type whose rows follow each other in one matrix or vector (stack.c). */
enum { TAKT_GGUF_STACK = 8, TAKT_GGUF_NAME = 128 };
typedef struct takt_gguf_stack {
    const takt_gguf_tensor *at[TAKT_GGUF_STACK];
    size_t count;
    int64_t rows;              /* of all */
    char name[TAKT_GGUF_NAME]; /* of the whole: "blk.0.attn_qkv.weight" */
} takt_gguf_stack;
/* The tensor if it has these sizes, -1 being any; NULL after a failure. */
const takt_gguf_tensor *takt_gguf_need(takt_gguf_model *m, takt_graph *g, const char *name,
                                       int rank, const int64_t *dims);
/* How many names "blk.0.attn_{q,k,v}" stands for; 1 without braces. */
size_t takt_gguf_choices(const char *name);
/* `count` of them from number `first` on as one name, "blk.0.attn_qk", followed by `ending`, in
 * TAKT_GGUF_NAME bytes; false: that is not enough. */
bool takt_gguf_name(const char *name, const char *ending, size_t first, size_t count, char *to);
/* A parameter of the graph under the name of the whole tensor, declared once; blocks are stored as
 * in the file, u8[..., bytes of a row]. */
takt_id takt_gguf_parameter(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s);

/* A tensor of blocks as the parts that block_matmul takes. Others stay the bytes of the file. */
typedef struct takt_gguf_parts {
    takt_id levels; /* [n, k] */
    takt_id scales; /* f16[n, blocks] */
    double zero;    /* what is taken off a level */
} takt_gguf_parts;
bool takt_gguf_has_parts(const takt_gguf_type *type);
/* False: the failure is recorded. */
bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s,
                     takt_gguf_parts *parts);

/* The text of an architecture, or NULL; "common" is what they share. */
const char *takt_gguf_arch(const char *name);
/* The text of its encoder, NAMEencoder, on which its own text builds; NULL: none. */
const char *takt_gguf_arch_encoder(const char *name);
/* Whether of a model with encoder and decoder the encoder alone is wanted. */
bool takt_gguf_wants_encoder(const takt_source *source);
const char *takt_gguf_arch_name(size_t index); /* NULL past the last */

#endif
