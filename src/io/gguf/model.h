/* model.h - turns a GGUF file, or anything read like one, into a graph.
 *
 * The text of the architecture (arch/NAME.takt) is evaluated with the file's data: `setting` is a
 * key of the metadata, `stored`, `project` and `rows` append nodes for tensors (store.c).
 */
#ifndef TAKT_IO_GGUF_MODEL_H
#define TAKT_IO_GGUF_MODEL_H

#include "io/gguf/shards.h"
#include "ir/late.h"
#include "lang/parse.h"

typedef struct takt_gguf_model {
    takt_ctx *ctx;
    const takt_source *source;
    const takt_gguf *g;
    const takt_gguf_shards *shards; /* parts after the first; NULL: `source` is the whole file */
    /* How a tensor that is not in a GGUF file is read, now or later; NULL: `source` has it at its
     * offset. */
    takt_status (*recipe)(void *user, const takt_gguf_tensor *t, takt_late *late);
    void *user;
    const char *format; /* of the lineage */
    char architecture[64];
    int64_t context;      /* rows of the cache */
    const char *cache[2]; /* types of keys and values in it */
    bool is_int8;         /* activations are rounded before products with blocks */
    bool reads_late;      /* large tensors stay in the file until they are needed (late.h) */
    bool *is_read;        /* per tensor, set when the text uses it; or NULL */
} takt_gguf_model;

/* Builds the graph of a model with known metadata and tensors; the first fields are set. */
TAKT_MUST_USE takt_status takt_gguf_build(takt_gguf_model *m, takt_graph **graph);
/* The file that holds the tensor, unless there is a recipe for it. */
const takt_source *takt_gguf_home(const takt_gguf_model *m, const takt_gguf_tensor *t);
/* All bytes of a tensor. */
TAKT_MUST_USE takt_status takt_gguf_bytes(const takt_gguf_model *m, const takt_gguf_tensor *t,
                                          uint8_t *to);

/* The functions of takt_parse_given; `user` is the model. */
bool takt_gguf_is_stored(void *user, const char *name);
takt_id takt_gguf_stored(void *user, takt_graph *g, const char *name, const takt_type *type);
takt_id takt_gguf_packed(void *user, takt_graph *g, const char *name, const takt_type *type);
takt_id takt_gguf_unpacked(void *user, takt_graph *g, const char *name, takt_id x);
bool takt_gguf_is_rounded(void *user, const char *name);
takt_id takt_gguf_chosen(void *user, takt_graph *g, const char *name, const takt_id in[2],
                         const int64_t dims[3]);
takt_id takt_gguf_project(void *user, takt_graph *g, const char *name, takt_id x,
                          const int64_t *units, size_t count);
takt_id takt_gguf_rows(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size);

/* Tensors of one type stacked by rows into one matrix or vector (stack.c). */
enum { TAKT_GGUF_STACK = 8, TAKT_GGUF_NAME = 128 };
typedef struct takt_gguf_stack {
    const takt_gguf_tensor *at[TAKT_GGUF_STACK];
    size_t count;
    int64_t rows;              /* of all */
    char name[TAKT_GGUF_NAME]; /* of the whole: "blk.0.attn_qkv.weight" */
} takt_gguf_stack;
/* The tensor if it has these sizes, where -1 is any size; NULL after a failure. */
const takt_gguf_tensor *takt_gguf_need(takt_gguf_model *m, takt_graph *g, const char *name,
                                       int rank, const int64_t *dims);
/* How many names "blk.0.attn_{q,k,v}" stands for; 1 without braces. */
size_t takt_gguf_choices(const char *name);
/* `count` of them from number `first` on as one name, "blk.0.attn_qk", plus `ending`; false if it
 * exceeds TAKT_GGUF_NAME bytes. */
bool takt_gguf_name(const char *name, const char *ending, size_t first, size_t count, char *to);
/* A parameter of the graph under the name of the whole tensor, declared once; blocks are stored as
 * in the file, u8[..., bytes of a row]. */
takt_id takt_gguf_parameter(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s);

/* Splits a tensor of blocks into the parts that block_matmul takes. Other formats stay as in the
 * file. */
typedef struct takt_gguf_parts {
    takt_id levels; /* [n, k] */
    takt_id scales; /* f16[n, blocks] */
    double zero;    /* subtracted from a level */
} takt_gguf_parts;
bool takt_gguf_has_parts(const takt_gguf_type *type);
/* False: the failure is recorded. */
bool takt_gguf_split(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s,
                     takt_gguf_parts *parts);

/* The text of an architecture, or NULL; "common" is shared by all. */
const char *takt_gguf_arch(const char *name);
/* The text of its encoder, NAMEencoder, which its own text builds on; NULL: none. */
const char *takt_gguf_arch_encoder(const char *name);
/* Whether only the encoder of an encoder-decoder model is wanted. */
bool takt_gguf_wants_encoder(const takt_source *source);
const char *takt_gguf_arch_name(size_t index); /* NULL past the last */

#endif
