/* taktp_write.c - writes compiled models. */
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/text.h"
#include "io/takt/taktp.h"

enum { SECTIONS = 5 }; /* at most */

typedef struct section {
    uint32_t kind, flags;
    const void *bytes; /* NULL: the weights */
    size_t length, offset;
} section;

typedef struct writer {
    takt_ctx *ctx;
    takt_weights weights;
    takt_text graph, index;
    section sections[SECTIONS];
    size_t count, total; /* sections, and bytes of the file */
    unsigned char *to;
} writer;

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static void put64(unsigned char *to, uint64_t value)
{
    put32(to, (uint32_t)value);
    put32(to + 4, (uint32_t)(value >> 32));
}

static void add32(takt_text *text, uint32_t value)
{
    unsigned char raw[4];
    put32(raw, value);
    takt_text_put(text, (const char *)raw, sizeof raw);
}

static void add64(takt_text *text, uint64_t value)
{
    add32(text, (uint32_t)value);
    add32(text, (uint32_t)(value >> 32));
}

static bool align(size_t *at)
{
    return takt_size_align(*at, TAKTP_ALIGN, at);
}

/* The table of weights; `*data` becomes the length of the data it describes. */
static takt_status describe(writer *w, size_t *data)
{
    *data = 0;
    for (size_t i = 0; i < w->weights.count; i++) {
        const takt_tensor *t = &w->weights.at[i];
        const char *name = w->weights.names[i];
        const size_t bytes = takt_tensor_bytes(t);
        bool fits = align(data);
        add32(&w->index, (uint32_t)t->type.dtype);
        add32(&w->index, (uint32_t)t->type.rank);
        for (int d = 0; d < t->type.rank; d++)
            add64(&w->index, (uint64_t)t->type.dim[d]);
        add64(&w->index, *data);
        add64(&w->index, bytes);
        add32(&w->index, takt_crc32c(0, takt_tensor_data(t), bytes));
        add32(&w->index, (uint32_t)strlen(name));
        takt_text_put(&w->index, name, strlen(name));
        fits = fits && takt_size_add(*data, bytes, data);
        if (!fits)
            return takt_fail(w->ctx, TAKT_E_OVERFLOW, "the weights are too large for a file");
    }
    return w->index.status;
}

static takt_status lay_out(writer *w, const char *lineage, takt_span tokens)
{
    size_t data;
    TAKT_TRY(describe(w, &data));
    const section sections[SECTIONS] = {
        {TAKTP_GRAPH, 0, takt_text_get(&w->graph), w->graph.length, 0},
        {TAKTP_WEIGHTS, 0, takt_text_get(&w->index), w->index.length, 0},
        {TAKTP_LINEAGE, TAKTP_OPTIONAL, lineage, strlen(lineage), 0},
        {TAKTP_TOKENS, TAKTP_OPTIONAL, tokens.at, tokens.length, 0},
        {TAKTP_DATA, 0, NULL, data, 0},
    };
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].kind != TAKTP_TOKENS || tokens.length > 0)
            w->sections[w->count++] = sections[i];
    w->total = TAKTP_HEADER + w->count * TAKTP_ENTRY;
    for (size_t i = 0; i < w->count; i++) {
        bool fits = align(&w->total);
        w->sections[i].offset = w->total;
        fits = fits && takt_size_add(w->total, w->sections[i].length, &w->total);
        if (!fits)
            return takt_fail(w->ctx, TAKT_E_OVERFLOW, "the model is too large for a file");
    }
    return TAKT_OK;
}

static void fill_weights(writer *w, size_t offset)
{
    for (size_t i = 0; i < w->weights.count; i++) {
        const takt_tensor *t = &w->weights.at[i];
        offset = takt_round_up(offset, TAKTP_ALIGN);
        memcpy(w->to + offset, takt_tensor_data(t), takt_tensor_bytes(t));
        offset += takt_tensor_bytes(t);
    }
}

static void fill_header(writer *w)
{
    unsigned char *h = w->to;
    memcpy(h, TAKTP_MAGIC, 8);
    put32(h + 8, TAKTP_MAJOR | TAKTP_MINOR << 16);
    put32(h + 12, TAKTP_EXACT);
    put64(h + 16, w->total);
    put32(h + 24, (uint32_t)w->count);
    put32(h + 28, takt_crc32c(0, h + TAKTP_HEADER, w->count * TAKTP_ENTRY));
    put32(h + TAKTP_HEADER - 4, takt_crc32c(0, h, TAKTP_HEADER - 4));
}

static void fill(writer *w)
{
    memset(w->to, 0, w->total);
    for (size_t i = 0; i < w->count; i++) {
        const section *s = &w->sections[i];
        unsigned char *entry = w->to + TAKTP_HEADER + i * TAKTP_ENTRY;
        put32(entry, s->kind);
        put32(entry + 4, s->flags);
        put64(entry + 8, s->offset);
        put64(entry + 16, s->length);
        if (s->kind == TAKTP_DATA) {
            fill_weights(w, s->offset);
            continue;
        }
        memcpy(w->to + s->offset, s->bytes, s->length);
        put32(entry + 24, takt_crc32c(0, s->bytes, s->length));
    }
    fill_header(w);
}

static takt_status make(writer *w, const takt_graph *g, const char *lineage, takt_span tokens)
{
    takt_graph_print(g, &(takt_print_options){.weights = &w->weights}, &w->graph);
    TAKT_TRY(w->graph.status);
    TAKT_TRY(lay_out(w, lineage != NULL ? lineage : "{}", tokens));
    void *block;
    TAKT_TRY(takt_mem_get(w->ctx, w->total, "a compiled model", &block));
    w->to = block;
    fill(w);
    return TAKT_OK;
}

takt_status takt_taktp_write(const takt_graph *g, const takt_tensor *slots, const char *lineage,
                             takt_span tokens, void **bytes, size_t *length)
{
    writer w = {.ctx = g->ctx, .weights = {.ctx = g->ctx, .slots = slots}};
    takt_arena_init(&w.weights.arena, w.ctx);
    takt_text_init(&w.graph, w.ctx);
    takt_text_init(&w.index, w.ctx);
    const takt_status status = make(&w, g, lineage, tokens);
    takt_text_deinit(&w.index);
    takt_text_deinit(&w.graph);
    takt_arena_deinit(&w.weights.arena);
    takt_mem_put(w.ctx, w.weights.at, w.weights.capacity * sizeof *w.weights.at);
    takt_mem_put(w.ctx, (void *)w.weights.names, w.weights.name_capacity * sizeof *w.weights.names);
    *bytes = status == TAKT_OK ? w.to : NULL;
    *length = status == TAKT_OK ? w.total : 0;
    return status;
}
