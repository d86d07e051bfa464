/* weights.c - the tensors of a folder: headers of its safetensors files, names by the rules. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"
#include "io/hf/hf.h"

/* ---- files ---- */

enum { FILES = 1024 };

static takt_status open_file(takt_hf *h, const char *name, takt_held_file **out)
{
    takt_ctx *ctx = h->ctx;
    const char *path = takt_arena_format(h->arena, "%s/%s", h->folder, name);
    takt_stamped_file f = {.path = path};
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    const int error = ctx->files.open_read(ctx->files.user, path, &f.file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    takt_status status = takt_file_stamp(ctx, path, f.file, &f.stamp);
    if (status == TAKT_OK)
        status = takt_hold_file(ctx, &f, out);
    if (status == TAKT_OK)
        h->files[h->file_count++] = *out;
    else
        ctx->files.close(ctx->files.user, f.file);
    return status;
}

/* Reads the header with its length prefix; free it with takt_mem_put. */
static takt_status read_header(const takt_held_file *f, uint8_t **bytes, size_t *have,
                               size_t *length)
{
    uint8_t prefix[9] = {0};
    void *block;
    *bytes = NULL;
    TAKT_TRY(takt_file_length(f->ctx, f->path, f->file, length));
    const size_t begin = *length < sizeof prefix ? *length : sizeof prefix;
    TAKT_TRY(takt_held_file_read(f, 0, prefix, begin));
    takt_cursor c = takt_cursor_of(prefix, begin, 0);
    const uint64_t size = takt_cursor_u64le(&c);
    *have = *length;
    if (takt_safetensors_recognises(prefix, begin) && size < *length - 8)
        *have = 8 + (size_t)size;
    else if (*length > 1 << 20) /* the error is at the beginning */
        *have = 1 << 20;
    TAKT_TRY(takt_mem_get(f->ctx, *have, "the header of a file", &block));
    *bytes = block;
    return takt_held_file_read(f, 0, *bytes, *have);
}

/* ---- tensors ---- */

static const takt_gguf_type *type_of(takt_dtype dtype)
{
    return takt_gguf_type_of(dtype == TAKT_F32 ? 0 : dtype == TAKT_F16 ? 1 : 30);
}

static takt_status add_tensor(takt_hf *h, const char *name, takt_hf_tensor **out,
                              takt_gguf_tensor **t)
{
    takt_gguf *g = &h->g;
    if (g->tensor_count == h->tensor_room)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "it has too many tensors");
    const size_t i = g->tensor_count++;
    g->name_spans[i] = takt_span_of(name);
    (void)takt_spans_add(&g->names, (uint32_t)i);
    *out = &h->tensors[i];
    *t = &g->tensors[i];
    (*t)->name = name;
    return TAKT_OK;
}

takt_status takt_hf_put_tensor(takt_hf *h, const char *name, const float *values, int64_t count)
{
    takt_hf_tensor *made = NULL;
    takt_gguf_tensor *t = NULL;
    TAKT_TRY(add_tensor(h, name, &made, &t));
    made->made = values;
    t->type = type_of(TAKT_F32);
    t->rank = 1;
    t->dims[0] = count;
    t->count = (size_t)count;
    t->bytes = t->count * sizeof *values;
    return TAKT_OK;
}

static takt_hf_move move_of(takt_span word)
{
    static const char *const names[TAKT_HF_MOVES] = {"",        "pairs",    "grouped", "transposed",
                                                     "flat",    "plus_one", "decay",   "behind",
                                                     "swapped", "even",     "odd"};
    size_t i = 1;
    while (i < TAKT_HF_MOVES && !takt_span_is(word, names[i]))
        i++;
    return i < TAKT_HF_MOVES ? (takt_hf_move)i : TAKT_HF_AS_IS;
}

/* How the tensor of a rule is assembled from its pieces. */
static takt_status describe(takt_hf *h, const takt_hf_line *line, takt_hf_tensor *made)
{
    char key[96];
    *made = (takt_hf_tensor){
        .is_stack = takt_hf_stars(line->word[2]) > takt_hf_stars(line->word[1]), .heads = 1};
    if (line->count > 3)
        made->move = move_of(line->word[3]);
    if (line->count > 4) {
        (void)snprintf(key, sizeof key, "%.*s", (int)line->word[4].length, line->word[4].at);
        made->heads = takt_hf_integer(h, key, takt_hf_integer(h, "attention.head_count", 1));
    }
    return TAKT_OK;
}

static takt_status keep_piece(takt_hf *h, const takt_hf_line *line, const takt_hf_match *match,
                              const takt_hf_piece *piece)
{
    const char *name = takt_hf_name(h->arena, line->word[1], match);
    takt_hf_piece *copy = takt_arena_copy(h->arena, piece, sizeof *piece);
    if (name == NULL || copy == NULL)
        return TAKT_ERR_MEMORY;
    const uint32_t known = takt_spans_find(&h->g.names, takt_span_of(name));
    takt_hf_tensor *made = known != UINT32_MAX ? &h->tensors[known] : NULL;
    takt_gguf_tensor *t = NULL;
    if (made == NULL) {
        takt_hf_tensor as;
        TAKT_TRY(describe(h, line, &as));
        TAKT_TRY(add_tensor(h, name, &made, &t));
        *made = as;
    } else if (!made->is_stack || made->made != NULL) {
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "%.80s and another tensor are both %.80s",
                            piece->name, name);
    }
    copy->number = made->is_stack ? match->number[match->count - 1] : 0;
    copy->next = made->pieces;
    made->pieces = copy;
    made->count++;
    return TAKT_OK;
}

/* Uses the first rule that matches the name. */
static takt_status place(takt_hf *h, takt_span name, const takt_hf_piece *piece, bool *is_known)
{
    takt_hf_lines lines = takt_hf_lines_of(h->architecture);
    takt_hf_line line;
    takt_hf_match match;
    *is_known = false;
    /* Two tensors may come from one: its even and odd columns. */
    while (takt_hf_next(&lines, &line)) {
        if (!takt_hf_applies(h, &line))
            continue;
        const bool is_half = line.count > 3 && takt_span_is(line.word[3], "odd");
        if (*is_known && !is_half)
            continue;
        if (takt_hf_is(&line, "skip") && !*is_known)
            *is_known = takt_hf_matches(line.word[1], name, &match);
        if (!takt_hf_is(&line, "tensor") || line.count < 3 ||
            !takt_hf_matches(line.word[2], name, &match))
            continue;
        *is_known = true;
        TAKT_TRY(keep_piece(h, &line, &match, piece));
    }
    return TAKT_OK;
}

static takt_status add_weight(takt_hf *h, const takt_weight *w, uint32_t file)
{
    const takt_hf_piece piece = {
        .name = w->name, .file = file, .offset = w->offset, .bytes = w->bytes, .type = w->type};
    const takt_span name = takt_span_of(w->name);
    takt_hf_lines lines = takt_hf_lines_of(h->architecture);
    takt_hf_line line;
    bool is_known;
    TAKT_TRY(place(h, name, &piece, &is_known));
    while (!is_known && takt_hf_next(&lines, &line)) {
        const takt_span prefix = line.word[1];
        if (takt_hf_is(&line, "prefix") && name.length > prefix.length &&
            memcmp(name.at, prefix.at, prefix.length) == 0)
            TAKT_TRY(place(h, (takt_span){name.at + prefix.length, name.length - prefix.length},
                           &piece, &is_known));
    }
    return is_known ? TAKT_OK
                    : takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, NULL,
                                   "the tensor %.120s is not part of %s as Takt knows it", w->name,
                                   h->architecture);
}

/* ---- sizes ---- */

/* Number of rows before those used; -1: the file has too few. */
static int64_t rows_before(const takt_hf *h, const takt_type *type)
{
    const takt_json *v = takt_hf_member(h->config, "pad_token_id");
    const int64_t before = v != NULL && v->is_integer ? v->integer + 1 : 2;
    return before >= 0 && before < type->dim[0] ? before : -1;
}

/* Sizes of the tensor its pieces form; false if they do not fit together. */
static bool set_dims(const takt_hf *h, takt_hf_tensor *made, const takt_type *type,
                     takt_gguf_tensor *t)
{
    const bool is_half = made->move == TAKT_HF_EVEN || made->move == TAKT_HF_ODD;
    t->rank = 0;
    if (made->is_stack)
        t->dims[t->rank++] = made->count;
    for (int d = 0; d < type->rank; d++)
        if (made->move != TAKT_HF_FLAT || type->dim[d] != 1)
            t->dims[t->rank++] = type->dim[d];
    const int last = t->rank - 1;
    if (is_half && (last < 1 || t->dims[last] % 2 != 0))
        return false;
    if (is_half)
        t->dims[last] /= 2;
    if ((made->move == TAKT_HF_TRANSPOSED && t->rank == 2) ||
        ((made->move == TAKT_HF_SWAPPED || is_half) && t->rank == 3)) {
        const int64_t rows = t->dims[last - 1];
        t->dims[last - 1] = t->dims[last];
        t->dims[last] = rows;
    }
    if (made->move == TAKT_HF_BEHIND) {
        made->heads = rows_before(h, type);
        t->dims[0] -= made->heads;
    }
    return made->move != TAKT_HF_BEHIND || made->heads >= 0;
}

static takt_status check_pieces(const takt_hf *h, const takt_hf_tensor *made)
{
    const takt_type *type = &made->pieces->type;
    bool *has = takt_arena_array(h->arena, made->count, sizeof *has);
    if (has == NULL)
        return TAKT_ERR_MEMORY;
    for (const takt_hf_piece *p = made->pieces; p != NULL; p = p->next) {
        bool same = p->type.dtype == type->dtype && p->type.rank == type->rank;
        for (int d = 0; same && d < type->rank; d++)
            same = p->type.dim[d] == type->dim[d];
        if (!same)
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL,
                                "%.80s and %.80s differ in shape or type", p->name,
                                made->pieces->name);
        if (p->number >= made->count)
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "an expert before %.80s is missing",
                                p->name);
        if (has[p->number])
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "%.80s is there twice", p->name);
        has[p->number] = true;
    }
    if (type->dtype != TAKT_F32 && type->dtype != TAKT_F16 && type->dtype != TAKT_BF16)
        return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, NULL,
                            "%.100s is of type %s; F32, F16 and BF16 are read", made->pieces->name,
                            takt_safetensors_dtype(type->dtype));
    return TAKT_OK;
}

static takt_status settle(takt_hf *h, takt_hf_tensor *made, takt_gguf_tensor *t)
{
    if (made->made != NULL)
        return TAKT_OK;
    const takt_type *type = &made->pieces->type;
    TAKT_TRY(check_pieces(h, made));
    const bool computes = made->move == TAKT_HF_PLUS_ONE || made->move == TAKT_HF_DECAY;
    t->type = type_of(computes ? TAKT_F32 : type->dtype);
    if (type->rank < 1 || type->rank + made->is_stack > 4)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "%.100s has %d dimensions",
                            made->pieces->name, type->rank);
    if (!set_dims(h, made, type, t))
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL,
                            "%.100s has another shape than its use wants", made->pieces->name);
    t->count = 1;
    for (int d = 0; d < t->rank; d++)
        if (t->dims[d] < 1 || !takt_size_mul(t->count, (size_t)t->dims[d], &t->count))
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "%.100s has an impossible size",
                                made->pieces->name);
    if (t->rank == 0 || !takt_size_mul(t->count, t->type->bytes, &t->bytes) ||
        t->bytes > h->ctx->limits.tensor_bytes)
        return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "%.100s is too large", made->pieces->name);
    return TAKT_OK;
}

/* ---- the folder ---- */

static takt_status read_one(takt_hf *h, const char *name)
{
    takt_held_file *f = NULL;
    takt_weight_list list;
    uint8_t *bytes;
    size_t have, length;
    const uint32_t number = (uint32_t)h->file_count;
    TAKT_TRY(open_file(h, name, &f));
    takt_status status = read_header(f, &bytes, &have, &length);
    if (status == TAKT_OK)
        status = takt_safetensors_header(h->arena, f->path, bytes, have, length, &list);
    for (size_t i = 0; status == TAKT_OK && i < list.count; i++)
        status = add_weight(h, &list.at[i], number);
    if (bytes != NULL)
        takt_mem_put(h->ctx, bytes, have);
    return status;
}

static bool is_plain(const takt_json *v)
{
    return v->kind == TAKT_JSON_STRING && v->text_length > 0 && v->text_length < 256 &&
           strlen(v->text) == v->text_length && strchr(v->text, '/') == NULL && v->text[0] != '.';
}

static takt_status read_parts(takt_hf *h, const takt_json *map)
{
    for (const takt_json *v = takt_json_first(map); v != NULL; v = takt_json_next(v)) {
        bool is_read = false;
        if (!is_plain(v))
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL,
                                "model.safetensors.index.json: %.80s lies in no file of the folder",
                                v->key);
        for (size_t i = 0; i < h->file_count; i++)
            is_read = is_read || strcmp(strrchr(h->files[i]->path, '/') + 1, v->text) == 0;
        if (h->file_count == FILES)
            return takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "it has more than %d files", FILES);
        if (!is_read)
            TAKT_TRY(read_one(h, v->text));
    }
    return TAKT_OK;
}

static takt_status read_index(takt_hf *h, const char *path)
{
    const takt_json *root;
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(h->ctx, path, &bytes, &length));
    takt_status status = takt_json_parse(h->ctx, h->arena, bytes, length, &root);
    const takt_json *map = status == TAKT_OK ? takt_hf_member(root, "weight_map") : NULL;
    if (status == TAKT_OK)
        status = map != NULL && map->kind == TAKT_JSON_OBJECT
                     ? read_parts(h, map)
                     : takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL,
                                    "model.safetensors.index.json has no weight_map");
    takt_mem_put(h->ctx, bytes, length);
    return status;
}

/* Other failures are reported when the file is read. */
static bool is_there(takt_ctx *ctx, const char *path)
{
    takt_file *file;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error == 0)
        ctx->files.close(ctx->files.user, file);
    return error != ENOENT && error != ENOTDIR;
}

static takt_status reserve(takt_hf *h)
{
    takt_gguf *g = &h->g;
    h->tensor_room = 1 << 13;
    h->files = takt_arena_array(h->arena, FILES, sizeof *h->files);
    g->tensors = takt_arena_array(h->arena, h->tensor_room, sizeof *g->tensors);
    g->name_spans = takt_arena_array(h->arena, h->tensor_room, sizeof *g->name_spans);
    h->tensors = takt_arena_array(h->arena, h->tensor_room, sizeof *h->tensors);
    if (h->files == NULL || g->tensors == NULL || g->name_spans == NULL || h->tensors == NULL)
        return TAKT_ERR_MEMORY;
    return takt_spans_init(&g->names, h->arena, g->name_spans, h->tensor_room);
}

takt_status takt_hf_weights(takt_hf *h)
{
    const char *index = takt_arena_format(h->arena, "%s/model.safetensors.index.json", h->folder);
    if (index == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(reserve(h));
    TAKT_TRY(takt_hf_rope(h));
    TAKT_TRY(is_there(h->ctx, index) ? read_index(h, index) : read_one(h, "model.safetensors"));
    for (size_t i = 0; i < h->g.tensor_count; i++)
        TAKT_TRY(settle(h, &h->tensors[i], &h->g.tensors[i]));
    return TAKT_OK;
}
