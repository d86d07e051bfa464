/* imatrix.c - the magnitude of the inputs to each column of a language model's matrices.
 *
 * The model's graph gets one more output for every product with a named matrix: the sums of squares
 * of its input, by column. Texts are read in pieces as long as the context. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <takt/shrink.h>

#include "api/text/engine.h"
#include "base/mem.h"
#include "base/options.h"
#include "io/gguf/gguf_write.h"
#include "op/ops.h"
#include "op/util/formula.h"
#include "pass/copier.h"
#include "shrink/base.h"

enum { CONTEXT = 512 };

typedef struct matrix {
    const char *name;
    double *sum; /* per column */
    size_t columns;
} matrix;

typedef struct work {
    takt_ctx *ctx;
    takt_imatrix_options o;
    takt_arena arena;
    takt_engine engine;
    matrix *at;
    size_t count;
    size_t length; /* of a piece */
    uint64_t rows; /* that were read */
} work;

/* ---- the graph ---- */

static bool is_product(const takt_op *op)
{
    return op == &takt_op_matmul || op == &takt_op_ggml_matmul || op == &takt_op_ggml_matmul_i8 ||
           op == &takt_op_block_matmul;
}

/* The name of the matrix that a node multiplies by, "blk.0.ffn_up.weight"; NULL: it has none. */
static const char *matrix_of(const takt_graph *g, const takt_node *n)
{
    if (!is_product(n->op) || n->in_count < 2)
        return NULL;
    const takt_node *w = &g->nodes[n->in[1]];
    while (w->op == &takt_op_cast)
        w = &g->nodes[w->in[0]];
    const size_t length = w->name != NULL ? strlen(w->name) : 0, ending = strlen(".weight");
    const bool is_held = w->op == &takt_op_constant || w->op == &takt_op_state;
    return is_held && length > ending && strcmp(w->name + length - ending, ".weight") == 0 ? w->name
                                                                                           : NULL;
}

static takt_status add_sum(work *w, takt_copier *c, const takt_node *n, const char *name)
{
    takt_graph *g = c->out;
    char output[48];
    int64_t axes[TAKT_MAX_RANK];
    const takt_id x = c->map[n->in[0]];
    const takt_type *type = takt_type_of(g, x);
    const takt_dim columns = type->dim[type->rank - 1];
    for (int d = 0; d + 1 < type->rank; d++)
        axes[d] = d;
    if (!takt_dim_is_number(columns) || columns < 1 || type->rank < 2)
        return TAKT_OK;
    matrix *m = &w->at[w->count];
    m->name = takt_arena_text(&w->arena, name, strlen(name));
    m->columns = (size_t)columns;
    m->sum = takt_arena_array(&w->arena, m->columns, sizeof *m->sum);
    if (m->name == NULL || m->sum == NULL)
        return TAKT_ERR_MEMORY;
    snprintf(output, sizeof output, "shrink.sum%zu", w->count++);
    const takt_id wide = takt_cast(g, x, TAKT_F32);
    takt_graph_output(g, output,
                      takt_reduce_over(g, &takt_op_reduce_sum, takt_square(g, wide), axes,
                                       (size_t)type->rank - 1, false));
    return g->status;
}

static takt_status copy(work *w, takt_copier *c)
{
    const takt_graph *in = c->in;
    TAKT_TRY(takt_graph_begin_copy(in, c->out, c->map));
    for (size_t i = 0; i < in->count; i++) {
        if (!c->live[i] || c->map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(c, (takt_id)i);
        c->map[i] = takt_graph_copy_node(c->out, &n, n.in);
        TAKT_TRY(c->out->status);
    }
    for (size_t i = 0; i < in->count; i++) {
        const char *name = c->live[i] ? matrix_of(in, &in->nodes[i]) : NULL;
        if (name != NULL)
            TAKT_TRY(add_sum(w, c, &in->nodes[i], name));
    }
    return TAKT_OK;
}

static takt_status build(work *w, takt_graph **out)
{
    takt_copier c;
    const takt_graph *in = w->engine.model->graph;
    w->at = takt_arena_array(&w->arena, in->count, sizeof *w->at);
    takt_status status = takt_copier_init(&c, in);
    if (status == TAKT_OK)
        status = w->at != NULL ? copy(w, &c) : TAKT_ERR_MEMORY;
    TAKT_TRY(takt_copier_done(&c, status, out));
    if (w->count > 0)
        return TAKT_OK;
    takt_graph_destroy(*out);
    takt_fail(w->ctx, TAKT_E_SHRINK_NOTHING, "the model has no product with a named matrix");
    return takt_fail_hint(w->ctx, "take one whose matrices are F32 or F16");
}

/* ---- reading ---- */

static takt_status read_piece(work *w, takt_shrink_run *r, const int32_t *ids)
{
    int64_t *tokens = takt_session_input(r->session, 0)->data;
    const takt_tensor_view *wanted = takt_session_input(r->session, 1);
    takt_session_reset(r->session);
    for (size_t i = 0; i < w->length; i++)
        tokens[i] = ids[i];
    if (wanted != NULL)
        *(int64_t *)wanted->data = (int64_t)w->length - 1;
    TAKT_TRY(takt_shrink_run_once(r));
    for (size_t i = 0; i < w->count; i++) {
        const takt_tensor_view *v = takt_session_output(r->session, i);
        for (size_t k = 0; v != NULL && k < w->at[i].columns; k++)
            w->at[i].sum[k] += (double)((const float *)v->data)[k];
    }
    w->rows += w->length;
    return TAKT_OK;
}

static takt_status no_token(const work *w, int32_t id, int64_t vocabulary)
{
    takt_fail(w->ctx, TAKT_E_SHRINK_DATA, "there is no token %d: there are %lld", (int)id,
              (long long)vocabulary);
    return takt_fail_hint(w->ctx, "tokenise the text with the vocabulary of the model");
}

static takt_status read_all(work *w, const int32_t *ids, size_t count)
{
    takt_graph *g;
    takt_shrink_run r;
    char sizes[64];
    const takt_desc *out = takt_model_output(w->engine.model, 0);
    const int64_t vocabulary = out->dims[1];
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return no_token(w, ids[i], vocabulary);
    w->length = count < (size_t)w->o.context ? count : (size_t)w->o.context;
    TAKT_TRY(build(w, &g));
    snprintf(sizes, sizeof sizes, "seq=%zu,count=1", w->length);
    TAKT_TRY(takt_shrink_run_init(&r, w->engine.model, g, sizes, w->o.threads));
    takt_status status = TAKT_OK;
    for (size_t at = 0; status == TAKT_OK && at + w->length <= count; at += w->length)
        status = read_piece(w, &r, ids + at);
    takt_shrink_run_deinit(&r);
    return status;
}

/* ---- writing ---- */

typedef struct sheet {
    work *w;
    takt_gguf_tensor *at; /* sums and counts alternately */
    size_t *of;           /* the matrix of each pair */
    size_t count;
} sheet;

static takt_status fetch(void *user, size_t i, uint8_t *to)
{
    const sheet *s = user;
    const matrix *m = &s->w->at[s->of[i / 2]];
    float *numbers = (float *)(void *)to;
    if (i % 2 == 1) {
        numbers[0] = (float)s->w->rows;
        return TAKT_OK;
    }
    for (size_t k = 0; k < m->columns; k++)
        numbers[k] = (float)m->sum[k];
    return TAKT_OK;
}

static takt_status add_pair(sheet *s, size_t index, const char *name)
{
    const matrix *m = &s->w->at[index];
    const char *sums = takt_arena_format(&s->w->arena, "%s.in_sum2", name);
    const char *counts = takt_arena_format(&s->w->arena, "%s.counts", name);
    if (sums == NULL || counts == NULL)
        return TAKT_ERR_MEMORY;
    const takt_gguf_type *type = takt_gguf_type_of(0);
    s->of[s->count / 2] = index;
    s->at[s->count++] =
        (takt_gguf_tensor){.name = sums, .type = type, .rank = 2, .dims = {1, (int64_t)m->columns}};
    s->at[s->count++] = (takt_gguf_tensor){.name = counts, .type = type, .rank = 2, .dims = {1, 1}};
    return TAKT_OK;
}

/* A product of several matrices has their letters in sequence: attn_qkv. */
static takt_status add_matrix(sheet *s, size_t index)
{
    const char *name = s->w->at[index].name, *joined = strstr(name, ".attn_");
    TAKT_TRY(add_pair(s, index, name));
    const char *letter = joined != NULL ? joined + strlen(".attn_") : "";
    const size_t length = strspn(letter, "qkv");
    if (length < 2 || length > 3 || letter[length] != '.')
        return TAKT_OK;
    for (size_t i = 0; i < length; i++) {
        const char *one = takt_arena_format(&s->w->arena, "%.*s%c%s", (int)(letter - name), name,
                                            letter[i], letter + length);
        if (one == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(add_pair(s, index, one));
    }
    return TAKT_OK;
}

static takt_status no_sum(const work *w, size_t index, size_t column)
{
    takt_fail(w->ctx, TAKT_E_SHRINK_DATA,
              "what comes to column %zu of %s has no finite sum of squares", column,
              w->at[index].name);
    return takt_fail_hint(w->ctx, "`takt generate` shows whether the model still makes sense");
}

/* Models whose numbers grow without bound give no importances. */
static takt_status check_sums(const work *w)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->at[i].columns; k++)
            if (!isfinite((float)w->at[i].sum[k]))
                return no_sum(w, i, k);
    return TAKT_OK;
}

static takt_status write_file(work *w, const char *to)
{
    sheet s = {.w = w};
    takt_gguf_keys keys;
    s.at = takt_arena_array(&w->arena, 8 * w->count, sizeof *s.at);
    s.of = takt_arena_array(&w->arena, 4 * w->count, sizeof *s.of);
    if (s.at == NULL || s.of == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < w->count; i++)
        TAKT_TRY(add_matrix(&s, i));
    const char *about = w->o.about != NULL ? w->o.about : "";
    takt_gguf_keys_init(&keys, w->ctx);
    takt_gguf_put_text(&keys, "general.type", (takt_span){"imatrix", 7});
    takt_gguf_put_array(&keys, "imatrix.datasets", TAKT_GGUF_STRING, 1);
    takt_gguf_put_span(&keys, (takt_span){about, strlen(about)});
    takt_gguf_put_u32(&keys, "imatrix.chunk_count", (uint32_t)(w->rows / w->length));
    takt_gguf_put_u32(&keys, "imatrix.chunk_size", (uint32_t)w->length);
    const takt_gguf_tensors all = {.at = s.at, .count = s.count, .bytes = fetch, .user = &s};
    const takt_status status = takt_gguf_write(w->ctx, to, &keys, &all);
    takt_gguf_keys_deinit(&keys);
    return status;
}

takt_status takt_imatrix_write(takt_ctx *ctx, const char *model, const int32_t *ids, size_t count,
                               const takt_imatrix_options *options, const char *to)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, model);
    TAKT_NEED(ctx, to);
    work w = {.ctx = ctx};
    TAKT_TRY(takt_options_read(ctx, "takt_imatrix_options", options, &w.o, sizeof w.o));
    w.o.context = w.o.context > 0 ? w.o.context : CONTEXT;
    if (ids == NULL || count < 2) {
        takt_fail(ctx, TAKT_E_SHRINK_DATA, "the text is too short: it has %zu tokens",
                  ids != NULL ? count : 0);
        return takt_fail_hint(ctx, "give two tokens at least, better thousands");
    }
    const takt_generator_options how = {
        .size = sizeof how, .context = w.o.context, .threads = w.o.threads};
    takt_arena_init(&w.arena, ctx);
    takt_status status = takt_engine_open(&w.engine, ctx, model, &how, "logits");
    if (status == TAKT_OK)
        status = read_all(&w, ids, count);
    if (status == TAKT_OK)
        status = check_sums(&w);
    if (status == TAKT_OK)
        status = write_file(&w, to);
    if (status == TAKT_OK && w.o.matrices != NULL)
        *w.o.matrices = w.count;
    takt_engine_close(&w.engine);
    takt_arena_deinit(&w.arena);
    return status;
}
