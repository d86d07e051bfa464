/* write_weights.c - the tensors of a GGUF file as model.safetensors, one in memory at a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"
#include "io/gguf/gguf_write.h"
#include "io/hf/hf_write.h"
#include "op/util/ggml.h"

/* A tensor of the folder: a tensor of the file, or one expert of it. */
typedef struct entry {
    const char *name;
    const takt_gguf_tensor *t;
    const takt_gguf_type *type;
    takt_hf_move move;
    int64_t heads, expert; /* expert -1: the whole tensor */
    int rank;
    int64_t dims[4];
    size_t count, bytes;
} entry;

typedef struct list {
    entry *at;
    size_t count, room;
} list;

/* ---- floats ---- */

static void decode(const takt_gguf_type *type, const uint8_t *from, size_t first, size_t count,
                   float *to)
{
    if (type->dtype == TAKT_DTYPE_COUNT)
        takt_ggml_decode(takt_gguf_format(type), from + first / type->elements * type->bytes,
                         count / type->elements, to);
    for (size_t i = 0; type->dtype != TAKT_DTYPE_COUNT && i < count; i++)
        to[i] = (float)takt_dtype_get_f(type->dtype, from, first + i);
}

takt_status takt_hf_out_floats(const takt_hf_out *o, const takt_gguf_tensor *t, float **values)
{
    void *bytes;
    *values = takt_arena_array(o->arena, t->count, sizeof **values);
    if (*values == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_mem_get(o->ctx, t->bytes, "a tensor", &bytes));
    const takt_status status = takt_gguf_bytes(o->m, t, bytes);
    if (status == TAKT_OK)
        decode(t->type, bytes, 0, t->count, *values);
    takt_mem_put(o->ctx, bytes, t->bytes);
    return status;
}

/* ---- names and shapes ---- */

static takt_hf_move move_of(takt_span word)
{
    static const struct {
        const char *name;
        takt_hf_move move;
    } moves[] = {{"pairs", TAKT_HF_PAIRS},       {"grouped", TAKT_HF_GROUPED},
                 {"flat", TAKT_HF_FLAT},         {"transposed", TAKT_HF_TRANSPOSED},
                 {"plus_one", TAKT_HF_PLUS_ONE}, {"decay", TAKT_HF_DECAY}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (takt_span_is(word, moves[i].name))
            return moves[i].move;
    return TAKT_HF_MOVES;
}

static const takt_gguf_type *type_for(const takt_hf_out *o, const takt_gguf_tensor *t,
                                      takt_hf_move move)
{
    const bool computes = move == TAKT_HF_PLUS_ONE || move == TAKT_HF_DECAY;
    if (computes || (t->type->dtype == TAKT_DTYPE_COUNT && o->type == NULL))
        return takt_gguf_type_of(0);
    return o->type != NULL && t->rank > 1 ? o->type : t->type;
}

/* The shape in the folder. */
static void shape(entry *e, bool is_weight)
{
    const takt_gguf_tensor *t = e->t;
    const int skipped = e->expert >= 0 ? 1 : 0;
    e->rank = t->rank - skipped;
    memcpy(e->dims, t->dims + skipped, sizeof *e->dims * (size_t)e->rank);
    if (e->move == TAKT_HF_TRANSPOSED && e->rank == 2) {
        e->dims[0] = t->dims[1];
        e->dims[1] = t->dims[0];
    } else if (e->move == TAKT_HF_FLAT && e->rank == 2) {
        e->dims[2] = e->dims[1];
        e->dims[1] = 1;
        e->rank = 3;
    } else if (e->move == TAKT_HF_FLAT && e->rank == 1 && is_weight) {
        e->dims[1] = e->dims[0];
        e->dims[0] = 1;
        e->rank = 2;
    }
}

static takt_status add(const takt_hf_out *o, list *all, const entry *e, const char *name)
{
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    if (all->count == all->room) {
        const size_t room = all->room > 0 ? 2 * all->room : 256;
        entry *at = takt_arena_array(o->arena, room, sizeof *at);
        if (at == NULL)
            return TAKT_ERR_MEMORY;
        if (all->count > 0)
            memcpy(at, all->at, all->count * sizeof *at);
        all->at = at;
        all->room = room;
    }
    all->at[all->count] = *e;
    all->at[all->count++].name = name;
    return TAKT_OK;
}

/* Entries of one tensor for a line that matches it. */
static takt_status place(const takt_hf_out *o, list *all, const takt_gguf_tensor *t,
                         const takt_hf_line *line, takt_hf_match *match)
{
    char key[96];
    const bool is_stack = takt_hf_stars(line->word[2]) > takt_hf_stars(line->word[1]);
    const bool has_prefix = !takt_span_is(line->word[1], "output");
    entry e = {.t = t, .move = line->count > 3 ? move_of(line->word[3]) : TAKT_HF_AS_IS};
    if (e.move == TAKT_HF_MOVES)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                              "%s cannot be moved back into a folder", t->name);
    e.type = type_for(o, t, e.move);
    e.heads = (int64_t)takt_hf_out_number(o, "attention.head_count", 1);
    if (line->count > 4) {
        (void)snprintf(key, sizeof key, "%.*s", (int)line->word[4].length, line->word[4].at);
        e.heads = (int64_t)takt_hf_out_number(o, key, (double)e.heads);
    }
    const int64_t experts = is_stack ? t->dims[0] : 1;
    if (is_stack && t->rank < 2)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_MODEL, t->offset, "%s has no experts", t->name);
    e.count = t->count / (size_t)experts;
    e.bytes = e.count * e.type->bytes;
    for (int64_t i = 0; i < experts; i++) {
        e.expert = is_stack ? i : -1;
        if (is_stack)
            match->number[takt_hf_stars(line->word[1])] = (uint32_t)i;
        shape(&e, !takt_span_is(match->rest, ".bias"));
        const char *plain = takt_hf_name(o->arena, line->word[2], match);
        if (plain == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(add(o, all, &e,
                     !has_prefix ? plain
                                 : takt_arena_format(o->arena, "%.*s%s", (int)o->prefix.length,
                                                     o->prefix.at, plain)));
    }
    return TAKT_OK;
}

static takt_status find(const takt_hf_out *o, list *all, const takt_gguf_tensor *t)
{
    takt_hf_lines lines = takt_hf_lines_of(o->architecture);
    takt_hf_line line;
    takt_hf_match match;
    if (strncmp(t->name, "rope_f", 6) == 0)
        return TAKT_OK; /* config.json has it */
    if (t->type->dtype == TAKT_DTYPE_COUNT && takt_gguf_format(t->type) == TAKT_GGML_FORMATS)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                              "%s has blocks of type %s, which Takt does not read", t->name,
                              t->type->name);
    while (takt_hf_next(&lines, &line))
        if (takt_hf_is(&line, "tensor") && line.count > 2 &&
            takt_hf_matches(line.word[1], takt_span_of(t->name), &match))
            return place(o, all, t, &line, &match);
    return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                          "%s has no name in a folder of %s", t->name, o->architecture);
}

/* ---- elements ---- */

static void permute(const entry *e, const uint8_t *from, uint8_t *to, const size_t sizes[3])
{
    const size_t rows = (size_t)e->t->dims[0], width = e->bytes / rows;
    const size_t groups = sizes[0], queries = sizes[1], size = sizes[2];
    for (size_t r = 0; r < rows; r++) {
        size_t at;
        if (e->move == TAKT_HF_PAIRS) {
            const size_t in = r % size;
            at = r - in + in / 2 + (in % 2) * (size / 2);
        } else {
            const size_t head = r / size, in = r % size;
            const size_t group = head < groups * queries ? head / queries : head % groups;
            const size_t part = head < groups * queries         ? head % queries
                                : head < groups * (queries + 1) ? queries
                                                                : queries + 1;
            at = (group * (queries + 2) + part) * size + in;
        }
        memcpy(to + at * width, from + r * width, width);
    }
}

static takt_status move_rows(const takt_hf_out *o, const entry *e, const uint8_t *from, uint8_t *to)
{
    const int64_t rows = e->t->dims[0],
                  q = (int64_t)takt_hf_out_number(o, "attention.head_count", 1);
    const int64_t kv = (int64_t)takt_hf_out_number(o, "attention.head_count_kv", (double)q);
    const bool is_pairs = e->move == TAKT_HF_PAIRS;
    const int64_t heads = is_pairs ? e->heads : q + 2 * kv;
    if (heads < 1 || q < 1 || kv < 1 || q % kv != 0 || rows % (is_pairs ? 2 * heads : heads) != 0)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_MODEL, e->t->offset,
                              "the rows of %s are not those of its heads", e->t->name);
    permute(e, from, to, (const size_t[]){(size_t)kv, (size_t)(q / kv), (size_t)(rows / heads)});
    return TAKT_OK;
}

static void transpose(const entry *e, const uint8_t *from, uint8_t *to)
{
    const size_t rows = (size_t)e->dims[0], columns = (size_t)e->dims[1], n = e->type->bytes;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy(to + (r * columns + c) * n, from + (c * rows + r) * n, n);
}

/* Writes row by row in the output type: `row` has room for one. */
static void convert(const entry *e, const uint8_t *from, float *row, uint8_t *to)
{
    const takt_gguf_tensor *t = e->t;
    const size_t columns = (size_t)t->dims[t->rank - 1];
    const size_t first = e->expert >= 0 ? (size_t)e->expert * e->count : 0;
    if (e->type == t->type && e->move != TAKT_HF_PLUS_ONE && e->move != TAKT_HF_DECAY) {
        memcpy(to, from + first * e->type->bytes, e->bytes);
        return;
    }
    for (size_t i = 0; i < e->count; i += columns) {
        decode(t->type, from, first + i, columns, row);
        for (size_t k = 0; k < columns; k++)
            row[k] = e->move == TAKT_HF_PLUS_ONE ? row[k] - 1
                     : e->move == TAKT_HF_DECAY  ? (float)log(-(double)row[k])
                                                 : row[k];
        takt_gguf_encode(e->type, row, columns, NULL, to + i * e->type->bytes);
    }
}

/* Bytes of an entry; the tensor of the file is in `from`. */
static takt_status make(const takt_hf_out *o, const entry *e, const uint8_t *from, uint8_t *to)
{
    const bool moves = e->move == TAKT_HF_PAIRS || e->move == TAKT_HF_GROUPED ||
                       (e->move == TAKT_HF_TRANSPOSED && e->rank == 2);
    const size_t columns = (size_t)e->t->dims[e->t->rank - 1];
    void *row, *block = NULL;
    TAKT_TRY(takt_mem_get(o->ctx, columns * sizeof(float), "a row", &row));
    takt_status status = moves ? takt_mem_get(o->ctx, e->bytes, "a tensor", &block) : TAKT_OK;
    if (status == TAKT_OK)
        convert(e, from, row, moves ? block : to);
    if (status == TAKT_OK && e->move == TAKT_HF_TRANSPOSED && moves)
        transpose(e, block, to);
    else if (status == TAKT_OK && moves)
        status = move_rows(o, e, block, to);
    takt_mem_put(o->ctx, block, e->bytes);
    takt_mem_put(o->ctx, row, columns * sizeof(float));
    return status;
}

/* ---- the file ---- */

typedef struct writer {
    takt_ctx *ctx;
    const char *path;
    takt_file *file;
} writer;

static takt_status put(const writer *w, const void *bytes, size_t count)
{
    const int error = w->ctx->files.write(w->ctx->files.user, w->file, bytes, count);
    return error == 0 ? TAKT_OK
                      : takt_fail_file(w->ctx, TAKT_E_FILE_WRITE, w->path, "write", error);
}

static takt_status put_header(const writer *file, const list *all)
{
    takt_text text;
    takt_json_writer w;
    size_t at = 0;
    uint8_t length[8];
    takt_text_init(&text, file->ctx);
    takt_json_begin(&w, &text, false);
    takt_json_open(&w, '{');
    takt_json_put_open(&w, "__metadata__", '{');
    takt_json_put_string(&w, "format", "pt");
    takt_json_close(&w, '}');
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < all->count; i++) {
        const entry *e = &all->at[i];
        takt_json_put_open(&w, e->name, '{');
        takt_json_put_string(&w, "dtype", takt_safetensors_dtype(e->type->dtype));
        takt_json_put_open(&w, "shape", '[');
        for (int d = 0; d < e->rank; d++)
            takt_json_integer(&w, e->dims[d]);
        takt_json_close(&w, ']');
        takt_json_put_open(&w, "data_offsets", '[');
        takt_json_unsigned(&w, at);
        if (!takt_size_add(at, e->bytes, &at))
            status = takt_fail(file->ctx, TAKT_E_OVERFLOW, "the weights are too large");
        takt_json_unsigned(&w, at);
        takt_json_close(&w, ']');
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, '}');
    while (text.status == TAKT_OK && text.length % 8 != 0)
        takt_text_put(&text, " ", 1);
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)text.length >> (8 * i));
    status = status == TAKT_OK ? text.status : status;
    if (status == TAKT_OK)
        status = put(file, length, sizeof length);
    if (status == TAKT_OK)
        status = put(file, takt_text_get(&text), text.length);
    takt_text_deinit(&text);
    return status;
}

/* The entries of one tensor, which is read only once. */
static takt_status put_tensor(const takt_hf_out *o, const writer *w, const list *all, size_t first,
                              size_t count)
{
    const takt_gguf_tensor *t = all->at[first].t;
    const size_t bytes = all->at[first].bytes;
    void *from, *to = NULL;
    TAKT_TRY(takt_mem_get(o->ctx, t->bytes, "a tensor", &from));
    takt_status status = takt_mem_get(o->ctx, bytes, "a tensor", &to);
    if (status == TAKT_OK)
        status = takt_gguf_bytes(o->m, t, from);
    for (size_t i = first; status == TAKT_OK && i < first + count; i++) {
        status = make(o, &all->at[i], from, to);
        if (status == TAKT_OK)
            status = put(w, to, bytes);
    }
    takt_mem_put(o->ctx, to, bytes);
    takt_mem_put(o->ctx, from, t->bytes);
    return status;
}

static takt_status put_all(const takt_hf_out *o, const writer *w, const list *all)
{
    TAKT_TRY(put_header(w, all));
    for (size_t i = 0, next; i < all->count; i = next) {
        for (next = i + 1; next < all->count && all->at[next].t == all->at[i].t;)
            next++;
        TAKT_TRY(put_tensor(o, w, all, i, next - i));
    }
    return TAKT_OK;
}

takt_status takt_hf_write_weights(const takt_hf_out *o)
{
    writer w = {.ctx = o->ctx,
                .path = takt_arena_format(o->arena, "%s/model.safetensors", o->folder)};
    list all = {.count = 0};
    if (w.path == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->m->g->tensor_count; i++)
        TAKT_TRY(find(o, &all, &o->m->g->tensors[i]));
    int error = o->ctx->files.create(o->ctx->files.user, w.path, &w.file);
    if (error != 0)
        return takt_fail_file(o->ctx, TAKT_E_FILE_WRITE, w.path, "create", error);
    takt_status status = put_all(o, &w, &all);
    if (status == TAKT_OK) {
        error = o->ctx->files.commit(o->ctx->files.user, w.file);
        if (error != 0)
            status = takt_fail_file(o->ctx, TAKT_E_FILE_WRITE, w.path, "write", error);
    }
    o->ctx->files.close(o->ctx->files.user, w.file);
    return status;
}
