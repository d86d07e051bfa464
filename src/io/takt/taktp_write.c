/* taktp_write.c - writes compiled models, one weight after the other. Weights that are late are
 * read twice, a part at a time: for their checksums, which come first in the file, and to be
 * written. */
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/text.h"
#include "io/file.h"
#include "io/takt/taktp.h"
#include "ir/late.h"

enum { SECTIONS = 5 /* at most */, PIECE = 256 << 10 /* bytes */ };

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
    size_t at;           /* bytes that were written */
    takt_status (*put)(void *user, const void *bytes, size_t length);
    void *user;
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

/* ---- weights ---- */

/* Receives the bytes of a weight in order. */
typedef takt_status piece_fn(void *user, const void *bytes, size_t length);

/* By its grain; one that is read at once, or is a part of a storage, is read whole. */
static takt_status each_late_piece(takt_ctx *ctx, const takt_tensor *t, piece_fn *each, void *user)
{
    takt_storage *s = t->storage;
    const size_t bytes = takt_tensor_bytes(t), all = takt_storage_bytes(s);
    const size_t grain = bytes == all ? takt_storage_grain(s) : 0;
    const size_t most = grain == 0 || grain > PIECE ? grain : PIECE / grain * grain;
    const size_t room = most == 0 || most > all ? all : most;
    void *piece;
    takt_status status = TAKT_OK;
    TAKT_TRY(takt_mem_get(ctx, room, "part of a weight", &piece));
    for (size_t at = 0, n; status == TAKT_OK && at < all; at += n) {
        n = all - at < room ? all - at : room;
        status = takt_storage_copy_part(s, at, n, piece);
        if (status == TAKT_OK)
            status = bytes == all ? each(user, piece, n)
                                  : each(user, (const char *)piece + t->offset, bytes);
    }
    takt_mem_put(ctx, piece, room);
    return status;
}

static takt_status each_piece(takt_ctx *ctx, const takt_tensor *t, piece_fn *each, void *user)
{
    return takt_storage_is_late(t->storage) ? each_late_piece(ctx, t, each, user)
                                            : each(user, takt_tensor_data(t), takt_tensor_bytes(t));
}

static takt_status add_to_sum(void *user, const void *bytes, size_t length)
{
    uint32_t *sum = user;
    *sum = takt_crc32c(*sum, bytes, length);
    return TAKT_OK;
}

/* The table of weights; `*data` becomes the length of the data it describes. */
static takt_status describe(writer *w, size_t *data)
{
    *data = 0;
    for (size_t i = 0; i < w->weights.count; i++) {
        const takt_tensor *t = &w->weights.at[i];
        const char *name = w->weights.names[i];
        const size_t bytes = takt_tensor_bytes(t);
        uint32_t sum = 0;
        bool fits = align(data);
        TAKT_TRY(each_piece(w->ctx, t, add_to_sum, &sum));
        add32(&w->index, (uint32_t)t->type.dtype);
        add32(&w->index, (uint32_t)t->type.rank);
        for (int d = 0; d < t->type.rank; d++)
            add64(&w->index, (uint64_t)t->type.dim[d]);
        add64(&w->index, *data);
        add64(&w->index, bytes);
        add32(&w->index, sum);
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
    lineage = lineage != NULL ? lineage : "{}";
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

/* ---- the file, in its order ---- */

static takt_status write(void *user, const void *bytes, size_t length)
{
    writer *w = user;
    w->at += length;
    return w->put(w->user, bytes, length);
}

static takt_status write_zeros(writer *w, size_t to)
{
    static const unsigned char zeros[TAKTP_ALIGN];
    return to > w->at ? write(w, zeros, to - w->at) : TAKT_OK;
}

static takt_status write_weights(writer *w)
{
    for (size_t i = 0; i < w->weights.count; i++) {
        TAKT_TRY(write_zeros(w, takt_round_up(w->at, TAKTP_ALIGN)));
        TAKT_TRY(each_piece(w->ctx, &w->weights.at[i], write, w));
    }
    return TAKT_OK;
}

static void fill_entry(const section *s, unsigned char *entry)
{
    put32(entry, s->kind);
    put32(entry + 4, s->flags);
    put64(entry + 8, s->offset);
    put64(entry + 16, s->length);
    if (s->kind != TAKTP_DATA)
        put32(entry + 24, takt_crc32c(0, s->bytes, s->length));
}

static takt_status write_header(writer *w)
{
    unsigned char h[TAKTP_HEADER + SECTIONS * TAKTP_ENTRY] = {0};
    memcpy(h, TAKTP_MAGIC, 8);
    put32(h + 8, TAKTP_MAJOR | TAKTP_MINOR << 16);
    put32(h + 12, TAKTP_EXACT);
    put64(h + 16, w->total);
    put32(h + 24, (uint32_t)w->count);
    for (size_t i = 0; i < w->count; i++)
        fill_entry(&w->sections[i], h + TAKTP_HEADER + i * TAKTP_ENTRY);
    put32(h + 28, takt_crc32c(0, h + TAKTP_HEADER, w->count * TAKTP_ENTRY));
    put32(h + TAKTP_HEADER - 4, takt_crc32c(0, h, TAKTP_HEADER - 4));
    return write(w, h, TAKTP_HEADER + w->count * TAKTP_ENTRY);
}

static takt_status write_all(writer *w)
{
    TAKT_TRY(write_header(w));
    for (size_t i = 0; i < w->count; i++) {
        const section *s = &w->sections[i];
        TAKT_TRY(write_zeros(w, s->offset));
        TAKT_TRY(s->kind == TAKTP_DATA ? write_weights(w) : write(w, s->bytes, s->length));
    }
    return TAKT_OK;
}

static takt_status begin(writer *w, const takt_taktp_parts *parts)
{
    *w = (writer){.ctx = parts->graph->ctx,
                  .weights = {.ctx = parts->graph->ctx, .slots = parts->slots}};
    takt_arena_init(&w->weights.arena, w->ctx);
    takt_text_init(&w->graph, w->ctx);
    takt_text_init(&w->index, w->ctx);
    takt_graph_print(parts->graph, &(takt_print_options){.weights = &w->weights}, &w->graph);
    TAKT_TRY(w->graph.status);
    TAKT_TRY(takt_late_check(w->ctx)); /* small values are in the text */
    return lay_out(w, parts->lineage, parts->tokens);
}

static void end(writer *w)
{
    takt_text_deinit(&w->index);
    takt_text_deinit(&w->graph);
    takt_arena_deinit(&w->weights.arena);
    takt_mem_put(w->ctx, w->weights.at, w->weights.capacity * sizeof *w->weights.at);
    takt_mem_put(w->ctx, (void *)w->weights.names,
                 w->weights.name_capacity * sizeof *w->weights.names);
}

/* ---- where it goes ---- */

static takt_status to_memory(void *user, const void *bytes, size_t length)
{
    unsigned char **to = user;
    memcpy(*to, bytes, length);
    *to += length;
    return TAKT_OK;
}

takt_status takt_taktp_write(const takt_taktp_parts *parts, void **bytes, size_t *length)
{
    writer w;
    void *block = NULL;
    takt_status status = begin(&w, parts);
    if (status == TAKT_OK)
        status = takt_mem_get(w.ctx, w.total, "a compiled model", &block);
    unsigned char *to = block;
    w.put = to_memory;
    w.user = &to;
    if (status == TAKT_OK)
        status = write_all(&w);
    end(&w);
    if (status != TAKT_OK)
        takt_mem_put(w.ctx, block, w.total);
    *bytes = status == TAKT_OK ? block : NULL;
    *length = status == TAKT_OK ? w.total : 0;
    return status;
}

typedef struct output {
    takt_ctx *ctx;
    const char *path;
    takt_file *file;
} output;

static takt_status to_file(void *user, const void *bytes, size_t length)
{
    const output *o = user;
    const int error = o->ctx->files.write(o->ctx->files.user, o->file, bytes, length);
    return error == 0 ? TAKT_OK
                      : takt_fail_file(o->ctx, TAKT_E_FILE_WRITE, o->path, "write", error);
}

takt_status takt_taktp_save(const takt_taktp_parts *parts, const char *path)
{
    writer w;
    output o = {.ctx = parts->graph->ctx, .path = path};
    takt_status status = begin(&w, parts);
    const takt_files *files = &o.ctx->files;
    int error = status == TAKT_OK ? files->create(files->user, path, &o.file) : 0;
    w.put = to_file;
    w.user = &o;
    if (status == TAKT_OK && error == 0)
        status = write_all(&w);
    end(&w);
    if (status == TAKT_OK && error == 0)
        error = files->commit(files->user, o.file);
    if (o.file != NULL)
        files->close(files->user, o.file);
    return error == 0 ? status : takt_fail_file(o.ctx, TAKT_E_FILE_WRITE, path, "write", error);
}
