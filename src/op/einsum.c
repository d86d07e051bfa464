/* einsum.c - any product of tensors summed over any of their axes.
 *
 * The lowering contracts two factors at a time, the cheapest pair first. Costs use only known
 * sizes, with NAMED_SIZE for named dimensions, so that the order, and thus the bits of the result,
 * does not depend on the sizes of a run.
 */
#include "op/util/einsum.h"
#include "op/util/amp.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { EQUATION };
enum { NAMED_SIZE = 1024 };

/* ---- inference ---- */

/* Dimension of each label; for those of "..." a size of 1 is replaced by another. */
static takt_status unify(takt_infer *in, const takt_einsum *e, takt_dim *size)
{
    for (int l = 0; l < TAKT_EINSUM_LABELS; l++)
        size[l] = -1;
    bool known[TAKT_EINSUM_LABELS] = {0};
    for (size_t i = 0; i < e->count; i++)
        for (int d = 0; d < e->in[i].rank; d++) {
            const int l = e->in[i].at[d];
            const takt_dim dim = in->type[i]->dim[d];
            const bool broadcasts = l >= TAKT_EINSUM_LETTERS;
            bool agree = true;
            if (!known[l] || (broadcasts && size[l] == 1))
                size[l] = dim;
            else if (!(broadcasts && dim == 1))
                TAKT_TRY(takt_check_agree(in, size[l], dim, &agree));
            known[l] = true;
            char type[TAKT_TYPE_TEXT];
            if (!agree)
                return takt_fail(in->ctx, TAKT_E_SHAPE,
                                 "einsum: axis %d of input %zu does not "
                                 "have the size of other axes with the same letter in \"%.200s\": "
                                 "it is %s",
                                 d, i, in->attr[EQUATION].string,
                                 takt_type_text(in->dims, in->type[i], type));
        }
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    takt_einsum e;
    int ranks[TAKT_EINSUM_OPERANDS];
    takt_dim size[TAKT_EINSUM_LABELS];
    for (size_t i = 0; i < in->in_count && i < TAKT_EINSUM_OPERANDS; i++)
        ranks[i] = in->type[i]->rank;
    TAKT_TRY(takt_einsum_parse(in->ctx, in->attr[EQUATION].string, ranks, in->in_count, &e));
    TAKT_TRY(unify(in, &e, size));
    in->out[0] = (takt_type){.dtype = in->type[0]->dtype, .rank = e.out.rank};
    for (int d = 0; d < e.out.rank; d++)
        in->out[0].dim[d] = size[e.out.at[d]];
    return TAKT_OK;
}

/* ---- evaluation: the definition, one sum over all labels ---- */

typedef struct loop {
    int count;
    int label[TAKT_EINSUM_LABELS];
    int64_t size[TAKT_EINSUM_LABELS], at[TAKT_EINSUM_LABELS]; /* by label */
} loop;

static void collect(const takt_eval *e, const takt_einsum *s, loop *l)
{
    *l = (loop){0};
    for (size_t i = 0; i < s->count; i++)
        for (int d = 0; d < s->in[i].rank; d++) {
            const int label = s->in[i].at[d];
            if (l->size[label] == 0)
                l->label[l->count++] = label;
            if (l->size[label] == 0 || l->size[label] == 1)
                l->size[label] = e->in[i].dim[d];
        }
}

static bool next(loop *l)
{
    for (int i = 0; i < l->count; i++) {
        const int label = l->label[i];
        if (++l->at[label] < l->size[label])
            return true;
        l->at[label] = 0;
    }
    return false;
}

static size_t flat(const takt_array *a, const takt_labels *labels, const loop *l)
{
    size_t index = 0;
    for (int d = 0; d < a->rank; d++)
        index = index * (size_t)a->dim[d] + (size_t)(a->dim[d] == 1 ? 0 : l->at[labels->at[d]]);
    return index;
}

static takt_status eval(takt_eval *e)
{
    takt_einsum s;
    loop l;
    int ranks[TAKT_EINSUM_OPERANDS];
    for (size_t i = 0; i < e->in_count && i < TAKT_EINSUM_OPERANDS; i++)
        ranks[i] = e->in[i].rank;
    TAKT_TRY(takt_einsum_parse(e->ctx, e->attr[EQUATION].string, ranks, e->in_count, &s));
    for (size_t i = 0; i < e->in_count; i++)
        if (e->in[i].count == 0)
            return TAKT_OK;
    collect(e, &s, &l);
    takt_array *out = &e->out[0];
    do {
        double f = 1;
        uint64_t n = 1;
        const size_t to = flat(out, &s.out, &l);
        for (size_t i = 0; i < e->in_count; i++) {
            const size_t from = flat(&e->in[i], &s.in[i], &l);
            if (takt_dtype_is_float(out->dtype))
                f *= e->in[i].f[from];
            else
                n *= (uint64_t)e->in[i].i[from];
        }
        if (takt_dtype_is_float(out->dtype))
            out->f[to] += f;
        else
            out->i[to] = (int64_t)((uint64_t)out->i[to] + n);
    } while (next(&l) && !takt_eval_stops(e, e->in_count));
    return TAKT_OK;
}

/* ---- lowering ---- */

typedef struct work {
    size_t count;
    takt_factor factor[TAKT_EINSUM_OPERANDS];
    takt_labels out;
    takt_dim size[TAKT_EINSUM_LABELS];
} work;

/* Without axes of size 1 where "..." broadcasts: a factor that lacks a label is constant in it. */
static takt_factor drop_ones(takt_graph *g, takt_factor f, const takt_dim *size)
{
    const takt_type *t = takt_type_of(g, f.id);
    takt_dim dims[TAKT_MAX_RANK];
    takt_labels rest = {0};
    for (int d = 0; d < t->rank; d++) {
        const int l = f.labels.at[d];
        if (l >= TAKT_EINSUM_LETTERS && t->dim[d] == 1 && size[l] != 1)
            continue;
        dims[rest.rank] = t->dim[d];
        rest.at[rest.rank++] = (unsigned char)l;
    }
    f.id = takt_reshape(g, f.id, dims, (size_t)rest.rank);
    f.labels = rest;
    return f;
}

/* Labels that appear in the result or in factors other than a and b. */
static void mark_kept(const work *w, size_t a, size_t b, bool *kept)
{
    for (int l = 0; l < TAKT_EINSUM_LABELS; l++) {
        kept[l] = takt_labels_has(&w->out, l);
        for (size_t i = 0; i < w->count && !kept[l]; i++)
            kept[l] = i != a && i != b && takt_labels_has(&w->factor[i].labels, l);
    }
}

static double pair_cost(const work *w, size_t a, size_t b)
{
    double cost = 1;
    for (int l = 0; l < TAKT_EINSUM_LABELS; l++)
        if (takt_labels_has(&w->factor[a].labels, l) || takt_labels_has(&w->factor[b].labels, l))
            cost *= takt_dim_is_number(w->size[l]) ? (double)w->size[l] : NAMED_SIZE;
    return cost;
}

static void join_cheapest(takt_graph *g, work *w)
{
    size_t a = 0, b = 1;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = i + 1; k < w->count; k++)
            if (pair_cost(w, i, k) < pair_cost(w, a, b)) {
                a = i;
                b = k;
            }
    bool kept[TAKT_EINSUM_LABELS];
    mark_kept(w, a, b, kept);
    w->factor[a] = takt_einsum_join(g, &w->factor[a], &w->factor[b], kept, w->size);
    w->count--;
    for (size_t i = b; i < w->count; i++)
        w->factor[i] = w->factor[i + 1];
}

static bool start(takt_graph *g, const takt_node *n, work *w)
{
    takt_einsum e;
    int ranks[TAKT_EINSUM_OPERANDS];
    for (uint32_t i = 0; i < n->in_count && i < TAKT_EINSUM_OPERANDS; i++)
        ranks[i] = takt_type_of(g, n->in[i])->rank;
    const takt_status status =
        takt_einsum_parse(g->ctx, n->attr[EQUATION].string, ranks, n->in_count, &e);
    if (status != TAKT_OK) {
        takt_graph_fail(g, status);
        return false;
    }
    *w = (work){.count = e.count, .out = e.out};
    bool known[TAKT_EINSUM_LABELS] = {0};
    for (size_t i = 0; i < e.count; i++) {
        w->factor[i] = (takt_factor){.id = n->in[i], .labels = e.in[i]};
        for (int d = 0; d < e.in[i].rank; d++) {
            const int l = e.in[i].at[d];
            if (!known[l] || w->size[l] == 1)
                w->size[l] = takt_type_of(g, n->in[i])->dim[d];
            known[l] = true;
        }
    }
    return true;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    work w;
    bool kept[TAKT_EINSUM_LABELS];
    if (!start(g, n, &w))
        return;
    for (size_t i = 0; i < w.count; i++) {
        w.factor[i] = drop_ones(g, w.factor[i], w.size);
        mark_kept(&w, i, i, kept);
        w.factor[i] = takt_einsum_reduce(g, w.factor[i], kept);
    }
    while (w.count > 1 && g->status == TAKT_OK)
        join_cheapest(g, &w);
    if (g->status == TAKT_OK)
        out[0] = takt_einsum_arrange(g, w.factor[0], &w.out).id;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    double inputs = 0;
    for (uint32_t i = 0; i < n->in_count; i++)
        inputs += takt_make_count(takt_type_of(g, n->in[i]));
    cost->flops = 2 * (inputs + takt_make_count(&n->type[0])); /* at least; the lowering knows
                                                                * more */
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_einsum = {
    .name = "einsum",
    .summary = "a product of tensors summed over the axes that the equation leaves out",
    .onnx = {{"Einsum", 12, 0}},
    .in_min = 1,
    .in_max = TAKT_VARIADIC,
    .attrs = {[EQUATION] = {.name = "equation",
                            .type = TAKT_ATTR_STRING,
                            .is_required = true,
                            .summary = "a letter for each axis: \"bij,bjk->bik\""}},
    .traits = TAKT_CONTRACTS | TAKT_AMP_FACTORS,
    .dtypes = TAKT_NUMBERS,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .cost = cost,
    .samples = {"einsum(f32[2, 3, 4], f32[2, 4, 5], equation=\"bij,bjk->bik\")",
                "einsum(f64[3, 3], equation=\"ii\")",
                "einsum(f32[2, 3], f32[4], f32[3, 5], "
                "equation=\"ab, c, bd -> dca\")",
                "einsum(f32[2, 1, 3, 4], f32[5, 4, 3], equation=\"...ij,...ji->...i\")",
                "einsum(f32[3, 4, 3, 2], equation=\"iji...->...i\")",
                "einsum(i32[3] in (-9, 9), i32[4] in (-9, 9), equation=\"i,j\")",
                "einsum(f64[2, 3, 4], f64[3, 4], equation=\"xab,ab->x\")"},
};
