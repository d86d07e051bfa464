/* shards.h - a model that llama-gguf-split cut into NAME-00001-of-00003.gguf and so on.
 *
 * The first part has the metadata; each part lists the tensors that it holds. The parts are found
 * by the name of the first, never by its contents.
 */
#ifndef TAKT_IO_GGUF_SHARDS_H
#define TAKT_IO_GGUF_SHARDS_H

#include "io/gguf/gguf.h"
#include "io/read.h"

typedef struct takt_gguf_shard {
    takt_source source;
    takt_skim skim; /* open if the source has no mapping */
} takt_gguf_shard;

/* The parts after the first. */
typedef struct takt_gguf_shards {
    takt_gguf_shard *at; /* in the arena */
    size_t count;
} takt_gguf_shards;

/* Opens the other parts of the model whose first part is `source` with the header `g`, and adds
 * their tensors to it. A model in one file has none. Must be closed in any case. */
TAKT_MUST_USE takt_status takt_gguf_shards_open(takt_gguf_shards *s, takt_arena *arena,
                                                const takt_source *source, takt_gguf *g);
void takt_gguf_shards_close(takt_gguf_shards *s);

enum { TAKT_GGUF_SHARDS_MAX = 9999 };
/* "NAME-00001-of-00003.gguf" for part `i` of `count`, counted from 0, where `first` is the name of
 * another part or "NAME.gguf"; NULL: no memory. */
const char *takt_gguf_shard_name(takt_arena *arena, const char *first, size_t i, size_t count);

#endif
