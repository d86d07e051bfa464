/* shards.c - the parts of a split GGUF file as one header; each tensor records its part. */
#include "io/gguf/shards.h"

#include <stdio.h>
#include <string.h>

#include "io/map.h"
#include "ir/tensor.h"

enum { ENDING = 20 }; /* "-00001-of-00003.gguf" */

/* The split information in a part's metadata. */
typedef struct place {
    int64_t number, count, tensors; /* -1: not given */
} place;

static takt_status read_place(const takt_gguf *g, place *p)
{
    *p = (place){0, 1, -1};
    TAKT_TRY(takt_gguf_get_integer(g, "split.no", &p->number));
    TAKT_TRY(takt_gguf_get_integer(g, "split.count", &p->count));
    return takt_gguf_get_integer(g, "split.tensors.count", &p->tensors);
}

/* ---- names ---- */

/* Length of a path without the suffix of a part; the whole path if it has none. */
static size_t stem_of(const char *path)
{
    const size_t length = strlen(path);
    const char *at = length > ENDING ? path + length - ENDING : "";
    for (const char *form = "-#####-of-#####.gguf"; *form != '\0'; form++, at++)
        if (*form == '#' ? *at < '0' || *at > '9' : *at != *form)
            return length;
    return length - ENDING;
}

const char *takt_gguf_shard_name(takt_arena *arena, const char *first, size_t i, size_t count)
{
    size_t stem = stem_of(first);
    if (first[stem] == '\0' && stem > 5 && strcmp(first + stem - 5, ".gguf") == 0)
        stem -= 5;
    return takt_arena_format(arena, "%.*s-%05zu-of-%05zu.gguf", (int)stem, first, i + 1, count);
}

/* The file must be the first part, and its name must show how to find the others. */
static takt_status check_first(takt_arena *arena, const takt_source *source, const takt_gguf *g,
                               const place *p)
{
    if (p->count > TAKT_GGUF_SHARDS_MAX || p->number < 0 || p->number >= p->count)
        return takt_gguf_fail(g, TAKT_E_GGUF, 0, "it cannot be part %lld of %lld",
                              (long long)p->number, (long long)p->count);
    const char *first = takt_gguf_shard_name(arena, source->name, 0, (size_t)p->count);
    const char *own =
        takt_gguf_shard_name(arena, source->name, (size_t)p->number, (size_t)p->count);
    if (first == NULL || own == NULL)
        return TAKT_ERR_MEMORY;
    if (source->folder == NULL)
        return takt_gguf_fail(g, TAKT_E_GGUF_UNSUPPORTED, 0,
                              "it is one of %lld parts, and a model in memory has no others",
                              (long long)p->count);
    if (strcmp(own, source->name) != 0) {
        (void)takt_gguf_fail(g, TAKT_E_GGUF, 0, "it says that it is part %lld of %lld",
                             (long long)p->number + 1, (long long)p->count);
        return takt_fail_hint(g->ctx, "parts are found by their names: this one is %s", own);
    }
    if (p->number == 0)
        return TAKT_OK;
    (void)takt_gguf_fail(g, TAKT_E_GGUF_UNSUPPORTED, 0, "it is not the first part of its model");
    return takt_fail_hint(g->ctx, "give %s", first);
}

/* ---- parts ---- */

static takt_status open_file(takt_gguf_shard *shard, takt_ctx *ctx, const takt_source *first,
                             const char *path)
{
    shard->source = *first;
    shard->source.name = path;
    if (first->mapping != NULL) {
        TAKT_TRY(takt_map_file(ctx, path, &shard->source.mapping, &shard->source.length));
        if (shard->source.mapping == NULL)
            return takt_fail(ctx, TAKT_E_GGUF, "%s is empty", path);
        shard->source.bytes = takt_storage_data(shard->source.mapping);
        return TAKT_OK;
    }
    TAKT_TRY(takt_skim_open(ctx, path, &shard->skim));
    const takt_status status = takt_gguf_skim(&shard->skim);
    if (status != TAKT_OK) {
        takt_skim_close(&shard->skim);
        return status;
    }
    shard->source.bytes = shard->skim.bytes;
    shard->source.length = shard->skim.length;
    shard->source.skim = &shard->skim;
    return TAKT_OK;
}

static takt_status open_shard(takt_gguf_shards *s, takt_arena *arena, const takt_source *first,
                              const place *whole, takt_gguf *part)
{
    const size_t i = s->count + 1;
    const char *path = takt_gguf_shard_name(arena, first->name, i, (size_t)whole->count);
    takt_gguf_shard *shard = &s->at[s->count];
    place p;
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    const takt_status status = open_file(shard, arena->ctx, first, path);
    if (status != TAKT_OK && arena->ctx->error.id == TAKT_E_FILE_OPEN)
        return takt_fail_hint(arena->ctx, "a model in %lld parts needs all of them in one folder",
                              (long long)whole->count);
    TAKT_TRY(status);
    s->count++;
    const takt_source *own = &shard->source;
    TAKT_TRY(takt_gguf_parse(arena, path, own->bytes, own->length, own->length, part));
    TAKT_TRY(read_place(part, &p));
    if (p.number != (int64_t)i || p.count != whole->count)
        return takt_gguf_fail(part, TAKT_E_GGUF, 0, "it says that it is part %lld of %lld",
                              (long long)p.number + 1, (long long)p.count);
    return TAKT_OK;
}

/* ---- the whole ---- */

/* Tensors of all parts in order; names must be unique. */
static takt_status join(takt_arena *arena, takt_gguf *g, const takt_gguf *parts, size_t count)
{
    const size_t old = g->tensor_count;
    size_t total = old;
    for (size_t i = 0; i < count; i++)
        total += parts[i].tensor_count; /* headers are in memory, so this cannot overflow */
    takt_gguf_tensor *tensors = takt_arena_array(arena, total, sizeof *tensors);
    takt_span *names = takt_arena_array(arena, total, sizeof *names);
    if (tensors == NULL || names == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_spans_init(&g->names, arena, names, total));
    for (size_t i = 0, at = 0; i <= count; i++) {
        const takt_gguf_tensor *from = i == 0 ? g->tensors : parts[i - 1].tensors;
        const size_t own = i == 0 ? old : parts[i - 1].tensor_count;
        for (size_t k = 0; k < own; k++, at++) {
            tensors[at] = from[k];
            tensors[at].shard = (uint32_t)i;
            names[at] = takt_span_of(from[k].name);
            if (!takt_spans_add(&g->names, (uint32_t)at))
                return takt_gguf_fail(&parts[i - 1], TAKT_E_GGUF, 0,
                                      "the tensor %s is in part %u, too", from[k].name,
                                      tensors[takt_spans_find(&g->names, names[at])].shard + 1);
        }
    }
    g->tensors = tensors;
    g->name_spans = names;
    g->tensor_count = total;
    return TAKT_OK;
}

takt_status takt_gguf_shards_open(takt_gguf_shards *s, takt_arena *arena, const takt_source *source,
                                  takt_gguf *g)
{
    place whole;
    *s = (takt_gguf_shards){.count = 0};
    TAKT_TRY(read_place(g, &whole));
    if (whole.count == 1 || whole.count == 0)
        return TAKT_OK;
    TAKT_TRY(check_first(arena, source, g, &whole));
    const size_t others = (size_t)whole.count - 1;
    takt_gguf *parts = takt_arena_array(arena, others, sizeof *parts);
    s->at = takt_arena_array(arena, others, sizeof *s->at);
    if (parts == NULL || s->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < others; i++)
        TAKT_TRY(open_shard(s, arena, source, &whole, &parts[i]));
    TAKT_TRY(join(arena, g, parts, others));
    if (whole.tensors >= 0 && (uint64_t)whole.tensors != g->tensor_count)
        return takt_gguf_fail(g, TAKT_E_GGUF, 0, "its %lld parts have %zu tensors, not %lld",
                              (long long)whole.count, g->tensor_count, (long long)whole.tensors);
    return TAKT_OK;
}

void takt_gguf_shards_close(takt_gguf_shards *s)
{
    for (size_t i = 0; i < s->count; i++) {
        takt_storage_release(s->at[i].source.mapping);
        if (s->at[i].source.skim != NULL)
            takt_skim_close(&s->at[i].skim);
    }
    s->count = 0;
}
