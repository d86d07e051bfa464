/* write_config.c - the metadata of a GGUF file as config.json. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/hf/hf_write.h"

const takt_gguf_value *takt_hf_out_find(const takt_hf_out *o, const char *key)
{
    char full[160];
    (void)snprintf(full, sizeof full, "%s.%s", o->architecture, key);
    return takt_gguf_find(o->m->g, full);
}

double takt_hf_out_number(const takt_hf_out *o, const char *key, double fallback)
{
    const takt_gguf_value *v = takt_hf_out_find(o, key);
    return v != NULL && !v->is_array && takt_gguf_is_number(v) ? takt_gguf_number(v, 0) : fallback;
}

double takt_hf_plain(double value)
{
    const float narrow = (float)value;
    if ((double)narrow != value || value == 0 || !isfinite(value))
        return value;
    for (int digits = 1; digits < 10; digits++) {
        const int places = digits - 1 - (int)floor(log10(fabs(value)));
        if (places > 22 || places < -22)
            break;
        const double unit = pow(10, abs(places));
        const double near = places < 0 ? rint(value / unit) * unit : rint(value * unit) / unit;
        if ((float)near == narrow)
            return near;
    }
    return value;
}

/* ---- as what ---- */

static void name_of(takt_span word, char name[96])
{
    (void)snprintf(name, 96, "%.*s", (int)word.length, word.at);
}

takt_status takt_hf_out_begin(takt_hf_out *o)
{
    takt_hf_lines lines = takt_hf_lines_of(o->architecture);
    takt_hf_line line;
    char key[96];
    while (takt_hf_next(&lines, &line)) {
        if (!takt_hf_is(&line, "as") || line.count < 4)
            continue;
        if (line.count > 4) {
            name_of(line.word[4], key);
            if (takt_hf_out_number(o, key, 0) == 0)
                continue;
        }
        o->model_type = line.word[1];
        o->class = line.word[2];
        o->prefix = line.word[3];
        return TAKT_OK;
    }
    return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, 0,
                          "folders of the architecture %s are not written", o->architecture);
}

/* ---- values ---- */

static void put_value(takt_json_writer *w, const char *name, const takt_gguf_value *v)
{
    int64_t integer = 0;
    takt_json_key(w, name);
    if (v->kind == TAKT_GGUF_BOOL)
        takt_json_bool(w, v->bytes[0] != 0);
    else if (strcmp(name, "query_pre_attn_scalar") == 0) /* transformers wants no decimal point */
        takt_json_number(w, takt_hf_plain(takt_gguf_number(v, 0)));
    else if (v->kind == TAKT_GGUF_F32 || v->kind == TAKT_GGUF_F64)
        takt_json_real(w, takt_hf_plain(takt_gguf_number(v, 0)));
    else if (takt_gguf_integer(v, 0, &integer))
        takt_json_integer(w, integer);
    else
        takt_json_null(w);
}

/* Names and keys already written; the first line for either wins. */
typedef struct written {
    takt_span at[TAKT_HF_WORDS * 16];
    size_t count;
} written;

static bool is_new(written *list, takt_span name)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].length == name.length && memcmp(list->at[i].at, name.at, name.length) == 0)
            return false;
    if (list->count < sizeof list->at / sizeof *list->at)
        list->at[list->count++] = name;
    return true;
}

/* "#: key KEY NAME ...": the first name. */
static void follow_key(const takt_hf_out *o, const takt_hf_line *line, written list[2],
                       takt_json_writer *w)
{
    char key[96], name[96];
    name_of(line->word[1], key);
    name_of(line->word[2], name);
    const takt_gguf_value *v = takt_hf_out_find(o, key);
    if (v != NULL && !v->is_array && v->kind != TAKT_GGUF_STRING &&
        is_new(&list[0], line->word[1]) && is_new(&list[1], line->word[2]))
        put_value(w, name, v);
}

/* "#: expect NAME VALUE ...": the first value. */
static void follow_expect(const takt_hf_line *line, written *names, takt_json_writer *w)
{
    char name[96], value[96];
    name_of(line->word[1], name);
    name_of(line->word[2], value);
    if (!is_new(names, line->word[1]))
        return;
    takt_json_key(w, name);
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        takt_json_bool(w, value[0] == 't');
    else if (value[0] >= '0' && value[0] <= '9')
        takt_json_integer(w, value[0] - '0');
    else
        takt_json_string(w, value);
}

static void follow(const takt_hf_out *o, const takt_hf_line *line, written list[2],
                   takt_json_writer *w)
{
    char name[96], tensor[96];
    if (line->count < 3)
        return;
    if (takt_hf_is(line, "key") || takt_hf_is(line, "number"))
        follow_key(o, line, list, w);
    if (takt_hf_is(line, "expect"))
        follow_expect(line, &list[1], w);
    if (!takt_hf_is(line, "has"))
        return;
    name_of(line->word[1], name);
    name_of(line->word[2], tensor);
    if (is_new(&list[1], line->word[1]))
        takt_json_put_bool(w, name, takt_gguf_tensor_find(o->m->g, tensor) != NULL);
}

static takt_status put_settings(const takt_hf_out *o, takt_json_writer *w)
{
    takt_hf_lines lines = takt_hf_lines_of(o->architecture);
    takt_hf_line line;
    written *list = takt_arena_array(o->arena, 2, sizeof *list);
    if (list == NULL)
        return TAKT_ERR_MEMORY;
    while (takt_hf_next(&lines, &line))
        follow(o, &line, list, w);
    return takt_hf_write_rope(o, w);
}

/* The type of most elements. */
static const char *main_type(const takt_hf_out *o)
{
    size_t counts[3] = {0};
    for (size_t i = 0; i < o->m->g->tensor_count; i++) {
        const takt_gguf_tensor *t = &o->m->g->tensors[i];
        const takt_gguf_type *type = o->type != NULL ? o->type : t->type;
        counts[type->dtype == TAKT_F16    ? 1
               : type->dtype == TAKT_BF16 ? 2
                                          : 0] += t->rank > 1 ? t->count : 0;
    }
    return counts[1] > counts[0] && counts[1] >= counts[2] ? "float16"
           : counts[2] > counts[0]                         ? "bfloat16"
                                                           : "float32";
}

static takt_status put_config(const takt_hf_out *o, takt_text *text)
{
    static const char *const roles[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
    const int64_t ids[] = {o->bos, o->eos, o->pad};
    const takt_gguf *g = o->m->g;
    const takt_gguf_tensor *table = takt_gguf_tensor_find(g, "token_embd.weight");
    char name[96];
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_open(&w, "architectures", '[');
    name_of(o->class, name);
    takt_json_string(&w, name);
    takt_json_close(&w, ']');
    name_of(o->model_type, name);
    takt_json_put_string(&w, "model_type", name);
    takt_json_put_string(&w, "torch_dtype", main_type(o));
    if (table != NULL && table->rank == 2)
        takt_json_put_integer(&w, "vocab_size", table->dims[0]);
    takt_json_put_bool(&w, "tie_word_embeddings",
                       takt_gguf_tensor_find(g, "output.weight") == NULL);
    for (size_t i = 0; i < 3; i++)
        if (ids[i] >= 0)
            takt_json_put_integer(&w, roles[i], ids[i]);
    TAKT_TRY(put_settings(o, &w));
    takt_json_close(&w, '}');
    takt_text_put(text, "\n", 1);
    return text->status;
}

/* ---- the check ---- */

static bool is_same(const takt_gguf_value *a, const takt_gguf_value *b)
{
    if (a->is_array || b->is_array || a->kind == TAKT_GGUF_STRING || b->kind == TAKT_GGUF_STRING)
        return true;
    if (!takt_gguf_is_number(a) || !takt_gguf_is_number(b))
        return a->kind == b->kind && a->bytes[0] == b->bytes[0];
    const double x = takt_gguf_number(a, 0), y = takt_gguf_number(b, 0);
    return fabs(x - y) <= 1e-6 * (fabs(x) + fabs(y));
}

static takt_status compare(const takt_hf_out *o, const takt_hf *h)
{
    const takt_gguf *g = o->m->g;
    if (strcmp(h->architecture, o->architecture) != 0)
        return takt_gguf_fail(g, TAKT_E_GGUF_UNSUPPORTED, 0, "the folder would be of a model %s",
                              h->architecture);
    for (size_t i = 0; i < h->g.value_count; i++) {
        const takt_gguf_value *now = &h->g.values[i], *was = takt_gguf_find(g, now->key);
        if (was != NULL && !is_same(was, now))
            return takt_gguf_fail(g, TAKT_E_GGUF_UNSUPPORTED, was->offset,
                                  "%s cannot be said in a folder of this model", was->key);
    }
    for (size_t i = 0; i < g->tensor_count; i++) {
        const takt_gguf_tensor *t = &g->tensors[i];
        const takt_gguf_tensor *now = takt_gguf_tensor_find(&h->g, t->name);
        if (now == NULL || now->count != t->count)
            return takt_gguf_fail(g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                                  "%s has no place in a folder of this model", t->name);
    }
    return TAKT_OK;
}

static takt_status check(const takt_hf_out *o, const char *path)
{
    takt_hf h = {.ctx = o->ctx};
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(o->ctx, path, &bytes, &length));
    const takt_source source = {
        .ctx = o->ctx, .name = path, .folder = o->folder, .bytes = bytes, .length = length};
    takt_status status = takt_hf_open(&h, o->arena, &source);
    if (status == TAKT_OK)
        status = compare(o, &h);
    takt_hf_close(&h);
    takt_mem_put(o->ctx, bytes, length);
    return status;
}

takt_status takt_hf_write(takt_hf_out *o)
{
    takt_text text;
    const char *path = takt_arena_format(o->arena, "%s/config.json", o->folder);
    if (path == NULL)
        return TAKT_ERR_MEMORY;
    takt_text_init(&text, o->ctx);
    takt_status status = put_config(o, &text);
    if (status == TAKT_OK)
        status = takt_hf_write_weights(o);
    if (status == TAKT_OK)
        status = takt_write_text(o->ctx, path, &text);
    takt_text_deinit(&text);
    return status == TAKT_OK ? check(o, path) : status;
}
