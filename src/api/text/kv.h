/* kv.h - one pool for the keys and values of many texts, in blocks that texts share.
 *
 * Every text sees each cache as one array of `context` tokens, as if it were its own, so models,
 * plans and kernels are those of caches without a pool. Which block such an address means is
 * decided by the page tables of the process: blocks are whole pages of a file in memory, and are
 * mapped where a text needs them. Addresses of tokens that a text has no block for read as zeros.
 *
 * A text is admitted with the blocks of its worst case, so nothing is mapped while it is written.
 * Full blocks of a common prefix are shared; the rest of the prefix is copied. A text that has
 * ended keeps its blocks until others need them: the least recently used is dropped first.
 *
 * A row without a text writes its first token like all others when a batch is run: its first block
 * is one that all such rows have, and that is never read.
 */
#ifndef TAKT_API_TEXT_KV_H
#define TAKT_API_TEXT_KV_H

#include "api/text/kv_blocks.h"
#include "os/page_file.h"

/* Blocks of a text that do not follow each other in the file are mappings of their own in each
 * cache. Each row has two more in each: its first block while it has no text, and the addresses
 * without a block. Systems limit the number of mappings, Linux to 65530: texts wait before it is
 * reached. */
enum { TAKT_KV_MAPPINGS = 49152, TAKT_KV_OF_ROW = 2 };

struct takt_generator;
struct takt_graph;
struct takt_storage;

/* How a pool is divided. */
typedef struct takt_kv_layout {
    size_t tokens;      /* of a block */
    size_t block_bytes; /* of a block, in all caches */
    size_t blocks;      /* for texts */
    size_t bytes;       /* of all of them and of the one for rows without a text */
    size_t caches;      /* states that are caches */
    int64_t context;
} takt_kv_layout;

/* One state of the model. */
typedef struct takt_kv_cache {
    size_t token_bytes;
    size_t offset;       /* of its blocks in the file */
    unsigned char *rows; /* [rows][context] tokens: addresses */
} takt_kv_cache;

typedef struct takt_kv_text {
    struct takt_generator *g;
    takt_kv_table table;
} takt_kv_text;

/* A text that has ended. */
typedef struct takt_kv_kept {
    struct takt_kv_kept *next; /* which was used before it */
    takt_kv_table table;
    size_t count, bytes; /* tokens; of this record */
    int32_t ids[];
} takt_kv_kept;

typedef struct takt_kv {
    takt_ctx *ctx;
    takt_kv_layout layout;
    takt_kv_blocks blocks;
    takt_page_file file;
    takt_kv_cache *caches;
    struct takt_storage **storages; /* per slot of the graph; NULL: it is not a cache */
    size_t slot_count, rows;
    takt_kv_text *texts; /* per row */
    uint32_t *tables;    /* of all texts */
    takt_kv_kept *kept;  /* the last used first */
    size_t kept_count;
} takt_kv;

/* Divides `bytes` for `rows` texts of a plan's graph.
 *
 * Fails if its state is not one count and caches, if `bytes` are less than two blocks, if the
 * context is not a multiple of the smallest block, or if the rows have too many mappings. */
TAKT_MUST_USE takt_status takt_kv_divide(takt_ctx *ctx, const struct takt_graph *graph, size_t rows,
                                         uint64_t bytes, takt_kv_layout *layout);
TAKT_MUST_USE takt_status takt_kv_open(takt_ctx *ctx, const struct takt_graph *graph, size_t rows,
                                       uint64_t bytes, takt_kv **kv);
/* No session may use it any more. Accepts NULL. */
void takt_kv_close(takt_kv *kv);
/* How many blocks `tokens` need. */
size_t takt_kv_needs(const takt_kv_layout *layout, size_t tokens);

/* ---- texts (kv_texts.c) ---- */

/* Whether a text that begins with these tokens and has at most `worst` can begin now. At most count
 * - 1 are shared with others: the scores of the last are needed. */
bool takt_kv_fits(const takt_kv *kv, const int32_t *ids, size_t count, size_t worst);
/* Begins it in the row of `g`, which must be empty: `g` then has the tokens that others had read.
 * It must fit. */
TAKT_MUST_USE takt_status takt_kv_admit(struct takt_generator *g, const int32_t *ids, size_t count,
                                        size_t worst);
/* Tokens that the text of `g` has blocks for. */
size_t takt_kv_room(const struct takt_generator *g);
/* Takes over the tokens that others have read, if those are more than `g` has; `*has`: how many it
 * has then read. */
TAKT_MUST_USE takt_status takt_kv_adopt(struct takt_generator *g, const int32_t *ids, size_t count,
                                        size_t *has);
/* The text has ended: its row is empty, and its tokens are kept while there is room. After a
 * failure the row still has its blocks, and must not be used. */
TAKT_MUST_USE takt_status takt_kv_release(struct takt_generator *g);
/* The tokens of `g` from `position` on will be written: copies blocks that are shared with others.
 */
TAKT_MUST_USE takt_status takt_kv_own(struct takt_generator *g, int64_t position);

/* ---- memory (kv_map.c) ---- */

/* Mappings of all rows in all caches, with those of their texts. */
size_t takt_kv_mappings(const takt_kv *kv);
/* Maps entries [first, end) of a row as its table says. */
TAKT_MUST_USE takt_status takt_kv_map(takt_kv *kv, size_t row, size_t first, size_t end);
/* Copies the first `tokens` tokens of a block to another one. */
void takt_kv_copy(takt_kv *kv, uint32_t from, uint32_t to, size_t tokens);
/* The first `tokens` tokens of a text in the cache that is state `slot` of the model. */
void takt_kv_read(const takt_kv *kv, const takt_kv_table *table, size_t slot, size_t tokens,
                  unsigned char *to);
/* Makes a block zero that was written. */
void takt_kv_clean(takt_kv *kv, uint32_t block);

#endif
