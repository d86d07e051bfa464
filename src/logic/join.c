/* join.c - exists over a conjunction: products over a semiring, one bound variable after another.
 *
 * If `and` distributes over `exists` in the semantics, variables are eliminated in the order that
 * keeps intermediate results small. Otherwise (product, lukasiewicz) all are eliminated at once: by
 * one product if there are two factors that have them all, else from the whole tensor. */
#include <string.h>

#include "logic/lower.h"
#include "op/util/bits.h"
#include "op/util/make.h"

enum { MOST_FACTORS = 64, WORD = 64 };

typedef struct join {
    takt_lower *l;
    takt_labelled at[MOST_FACTORS];
    size_t count;
    const int *bound;
    size_t bound_count;
} join;

/* ---- one product ---- */

/* The variables of a product: common ones, those of only the left or right side, and those summed
 * over. */
typedef struct parts {
    int batch[TAKT_MAX_RANK], left[TAKT_MAX_RANK], right[TAKT_MAX_RANK], inner[TAKT_MAX_RANK];
    int batches, lefts, rights, inners;
} parts;

static bool among(const int *list, size_t count, int variable)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == variable)
            return true;
    return false;
}

static parts parts_of(const takt_labelled *a, const takt_labelled *b, const int *inner,
                      size_t count)
{
    parts p = {.inners = 0};
    for (int i = 0; i < a->rank; i++) {
        const int v = a->var[i];
        if (among(inner, count, v))
            p.inner[p.inners++] = v;
        else if (takt_labelled_axis(b, v) >= 0)
            p.batch[p.batches++] = v;
        else
            p.left[p.lefts++] = v;
    }
    for (int i = 0; i < b->rank; i++)
        if (takt_labelled_axis(a, b->var[i]) < 0)
            p.right[p.rights++] = b->var[i];
    return p;
}

/* v as [batch..., rows, columns], each of the last two the product of some axes. */
static takt_id matrix(const takt_lower *l, const takt_labelled *v, const parts *p, bool is_left)
{
    int vars[3 * TAKT_MAX_RANK];
    int rank = 0;
    const int *second = is_left ? p->left : p->inner, *third = is_left ? p->inner : p->right;
    const int seconds = is_left ? p->lefts : p->inners, thirds = is_left ? p->inners : p->rights;
    takt_dim dims[TAKT_MAX_RANK + 2];
    for (int i = 0; i < p->batches; i++) {
        dims[i] = takt_lower_size(l, p->batch[i]);
        vars[rank++] = p->batch[i];
    }
    dims[p->batches] = dims[p->batches + 1] = 1;
    for (int i = 0; i < seconds; i++, rank++) {
        vars[rank] = second[i];
        dims[p->batches] =
            takt_make_dim(l->g, TAKT_DIM_MUL, dims[p->batches], takt_lower_size(l, second[i]));
    }
    for (int i = 0; i < thirds; i++, rank++) {
        vars[rank] = third[i];
        dims[p->batches + 1] =
            takt_make_dim(l->g, TAKT_DIM_MUL, dims[p->batches + 1], takt_lower_size(l, third[i]));
    }
    const takt_id id = takt_labelled_arrange(l, v, vars, rank);
    return takt_reshape(l->g, id, dims, (size_t)p->batches + 2);
}

/* Bits as [batch..., rows, words] without unpacking: possible if the last axis is all of the
 * columns and the others are in order, else TAKT_NONE. */
static takt_id bit_matrix(const takt_lower *l, const takt_labelled *v, const parts *p, bool is_left)
{
    const int *second = is_left ? p->left : p->inner, *third = is_left ? p->inner : p->right;
    const int seconds = is_left ? p->lefts : p->inners, thirds = is_left ? p->inners : p->rights;
    takt_dim dims[TAKT_MAX_RANK + 2];
    int at = 0;
    if (v->bits == TAKT_NONE || thirds != 1 || v->var[v->rank - 1] != third[0])
        return TAKT_NONE;
    for (int i = 0; i < p->batches; i++, at++) {
        dims[i] = takt_lower_size(l, p->batch[i]);
        if (v->var[at] != p->batch[i])
            return TAKT_NONE;
    }
    dims[p->batches] = 1;
    for (int i = 0; i < seconds; i++, at++) {
        if (v->var[at] != second[i])
            return TAKT_NONE;
        dims[p->batches] =
            takt_make_dim(l->g, TAKT_DIM_MUL, dims[p->batches], takt_lower_size(l, second[i]));
    }
    dims[p->batches + 1] =
        takt_make_dim(l->g, TAKT_DIM_CEILDIV, takt_lower_size(l, third[0]), WORD);
    return takt_reshape(l->g, v->bits, dims, (size_t)p->batches + 2);
}

static takt_id bits_of(const takt_lower *l, const takt_labelled *v, const parts *p, bool is_left)
{
    const takt_id bits = bit_matrix(l, v, p, is_left);
    return bits != TAKT_NONE ? bits : takt_pack_bits(l->g, matrix(l, v, p, is_left));
}

static takt_id semiring_product(const takt_lower *l, takt_id a, takt_id b)
{
    const takt_id in[] = {a, b};
    const takt_named_attr attr = {"semiring", takt_attr_i64(l->semantics->semiring)};
    if (l->semantics->semiring < 0)
        return takt_matmul(l->g, a, b, false, false);
    return takt_graph_call(l->g, &takt_op_semiring_matmul, 2, in, 1, &attr);
}

/* [batch..., rows, columns or words] with an axis for every variable again. */
static takt_labelled split(const takt_lower *l, const parts *p, takt_id product)
{
    takt_labelled out = takt_labelled_none();
    takt_dim dims[3 * TAKT_MAX_RANK];
    const bool is_bits = l->semantics->dtype == TAKT_BOOL;
    for (int i = 0; i < p->batches; i++)
        out.var[out.rank++] = p->batch[i];
    for (int i = 0; i < p->lefts; i++)
        out.var[out.rank++] = p->left[i];
    for (int i = 0; i < p->rights; i++)
        out.var[out.rank++] = p->right[i];
    for (int i = 0; i < out.rank; i++)
        dims[i] = takt_lower_size(l, out.var[i]);
    if (is_bits && p->rights == 1) {
        dims[out.rank - 1] = takt_make_dim(l->g, TAKT_DIM_CEILDIV, dims[out.rank - 1], WORD);
        out.bits = takt_reshape(l->g, product, dims, (size_t)out.rank);
        return out;
    }
    if (is_bits) { /* several columns, or none, in the bits of a row */
        takt_dim columns = 1;
        for (int i = 0; i < p->rights; i++)
            columns = takt_make_dim(l->g, TAKT_DIM_MUL, columns, takt_lower_size(l, p->right[i]));
        product = takt_unpack_bits(l->g, product, columns);
    }
    out.id = takt_reshape(l->g, product, dims, (size_t)out.rank);
    return out;
}

static void tell(const takt_lower *l, const takt_labelled *v)
{
    takt_text_add(l->joins, "(");
    for (int i = 0; i < v->rank; i++)
        takt_text_add(l->joins, "%s%s", i > 0 ? ", " : "", l->rule->variables[v->var[i]].name);
    takt_text_add(l->joins, ")");
}

static takt_labelled product(takt_lower *l, const takt_labelled *a, const takt_labelled *b,
                             const int *inner, size_t count)
{
    parts p = parts_of(a, b, inner, count);
    if (p.rights == 0 && p.lefts > 0) { /* vectors run over columns */
        const takt_labelled *left = a;
        a = b;
        b = left;
        p = parts_of(a, b, inner, count);
    }
    if (l->joins != NULL) {
        takt_text_add(l->joins, "%s", l->joins->length > 0 ? "; " : "");
        tell(l, a);
        takt_text_add(l->joins, " x ");
        tell(l, b);
    }
    if (p.batches + p.lefts + p.rights > TAKT_MAX_RANK || p.batches + 2 > TAKT_MAX_RANK)
        return takt_lower_fail(l, TAKT_E_RANK, "more than %d variables meet in one product",
                               TAKT_MAX_RANK);
    if (p.rights == 0) { /* no sums are shared: an element-wise and, then exists */
        const takt_labelled both = takt_labelled_both(l, a, b);
        return takt_labelled_exists(l, &both, inner, count);
    }
    const bool is_bits = l->semantics->dtype == TAKT_BOOL;
    const takt_id left = is_bits ? bits_of(l, a, &p, true) : matrix(l, a, &p, true);
    const takt_id right = is_bits ? bits_of(l, b, &p, false) : matrix(l, b, &p, false);
    return split(l, &p, semiring_product(l, left, right));
}

/* ---- the order ---- */

static void drop(join *j, size_t i)
{
    memmove(&j->at[i], &j->at[i + 1], (j->count - i - 1) * sizeof *j->at);
    j->count--;
}

static bool has_all(const takt_labelled *v, const takt_labelled *of)
{
    for (int i = 0; i < of->rank; i++)
        if (takt_labelled_axis(v, of->var[i]) < 0)
            return false;
    return true;
}

/* A factor whose variables another factor contains costs nothing extra there. */
static void absorb(join *j)
{
    for (size_t i = 0; i < j->count; i++)
        for (size_t k = 0; k < j->count; k++) {
            if (i == k || !has_all(&j->at[k], &j->at[i]))
                continue;
            j->at[k] = takt_labelled_both(j->l, &j->at[k], &j->at[i]);
            drop(j, i);
            i = (size_t)-1; /* from the beginning: indices have moved */
            break;
        }
}

/* The number of variables that become connected when this one is eliminated. */
static int meeting(const join *j, int variable)
{
    int seen[MOST_FACTORS * TAKT_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < j->count; i++) {
        if (takt_labelled_axis(&j->at[i], variable) < 0)
            continue;
        for (int k = 0; k < j->at[i].rank; k++)
            if (!among(seen, count, j->at[i].var[k]))
                seen[count++] = j->at[i].var[k];
    }
    return (int)count;
}

/* Two factors become one, without those bound variables that only they have. */
static void contract(join *j, size_t a, size_t b)
{
    int inner[TAKT_MAX_RANK];
    size_t count = 0;
    for (size_t i = 0; i < j->bound_count; i++) {
        const int v = j->bound[i];
        bool is_elsewhere =
            takt_labelled_axis(&j->at[a], v) < 0 || takt_labelled_axis(&j->at[b], v) < 0;
        for (size_t k = 0; k < j->count; k++)
            is_elsewhere =
                is_elsewhere || (k != a && k != b && takt_labelled_axis(&j->at[k], v) >= 0);
        if (!is_elsewhere && count < TAKT_MAX_RANK)
            inner[count++] = v;
    }
    j->at[a] = product(j->l, &j->at[a], &j->at[b], inner, count);
    drop(j, b);
}

static void eliminate(join *j, int variable)
{
    for (;;) {
        size_t with[MOST_FACTORS];
        size_t count = 0;
        for (size_t i = 0; i < j->count; i++)
            if (takt_labelled_axis(&j->at[i], variable) >= 0)
                with[count++] = i;
        if (count == 0)
            return;
        if (count == 1) {
            j->at[with[0]] = takt_labelled_exists(j->l, &j->at[with[0]], &variable, 1);
            return;
        }
        if (count == 2) {
            contract(j, with[0], with[1]);
        } else { /* the first two are combined before the others */
            j->at[with[0]] = takt_labelled_both(j->l, &j->at[with[0]], &j->at[with[1]]);
            drop(j, with[1]);
        }
    }
}

static takt_labelled by_one(join *j)
{
    bool is_done[TAKT_MAX_RANK * 4] = {false};
    for (size_t round = 0; round < j->bound_count; round++) {
        size_t best = j->bound_count;
        int least = 0;
        for (size_t i = 0; i < j->bound_count; i++) {
            const int cost = is_done[i] ? 0 : meeting(j, j->bound[i]);
            if (is_done[i] || (best < j->bound_count && cost >= least))
                continue;
            best = i;
            least = cost;
        }
        is_done[best] = true;
        eliminate(j, j->bound[best]);
    }
    takt_labelled out = j->at[0];
    for (size_t i = 1; i < j->count; i++)
        out = takt_labelled_both(j->l, &out, &j->at[i]);
    return out;
}

static takt_labelled at_once(join *j)
{
    bool is_product = j->count == 2;
    for (size_t i = 0; is_product && i < j->bound_count; i++)
        is_product = takt_labelled_axis(&j->at[0], j->bound[i]) >= 0 &&
                     takt_labelled_axis(&j->at[1], j->bound[i]) >= 0;
    if (is_product)
        return product(j->l, &j->at[0], &j->at[1], j->bound, j->bound_count);
    takt_labelled out = j->at[0];
    for (size_t i = 1; i < j->count; i++)
        out = takt_labelled_both(j->l, &out, &j->at[i]);
    return takt_labelled_exists(j->l, &out, j->bound, j->bound_count);
}

/* ---- exists ---- */

/* The parts of a conjunction; `and` leans to the left, which a loop follows. */
static bool collect(join *j, const takt_formula *f)
{
    for (; f->kind == TAKT_LOGIC_AND; f = f->a) {
        if (f->b->kind == TAKT_LOGIC_AND && !collect(j, f->b))
            return false;
        if (f->b->kind == TAKT_LOGIC_AND)
            continue;
        if (j->count == MOST_FACTORS)
            return false;
        j->at[j->count++] = takt_lower_formula(j->l, f->b);
    }
    if (j->count == MOST_FACTORS)
        return false;
    j->at[j->count++] = takt_lower_formula(j->l, f);
    return true;
}

/* Bound variables that occur nowhere still range over their domain. */
static void complete(join *j)
{
    for (size_t i = 0; i < j->bound_count; i++) {
        bool is_there = false;
        for (size_t k = 0; k < j->count; k++)
            is_there = is_there || takt_labelled_axis(&j->at[k], j->bound[i]) >= 0;
        if (is_there || j->count == MOST_FACTORS)
            continue;
        takt_labelled all = takt_labelled_scalar(takt_lower_constant(j->l, j->l->semantics->all));
        all.id = takt_labelled_spread(j->l, &all, &j->bound[i], 1);
        all.var[all.rank++] = j->bound[i];
        j->at[j->count++] = all;
    }
}

takt_labelled takt_lower_exists(takt_lower *l, const takt_formula *f)
{
    join *j = takt_arena_array(l->program->arena, 1, sizeof *j);
    if (j == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return takt_labelled_none();
    }
    *j = (join){.l = l, .bound = f->bound, .bound_count = f->bound_count};
    if (!collect(j, f->a) || (f->b != NULL && j->count == MOST_FACTORS))
        return takt_lower_fail(l, TAKT_E_RULE, "a conjunction has more than %d parts",
                               MOST_FACTORS);
    if (f->b != NULL)
        j->at[j->count++] = takt_labelled_from_bool(l, takt_lower_crisp(l, f->b));
    /* Parts were collected from last to first; people expect the first on the left. */
    for (size_t i = 0; i < j->count / 2; i++) {
        const takt_labelled other = j->at[i];
        j->at[i] = j->at[j->count - 1 - i];
        j->at[j->count - 1 - i] = other;
    }
    for (size_t i = 0; i < j->count; i++)
        if (!takt_labelled_is_good(&j->at[i]))
            return takt_labelled_none();
    complete(j);
    absorb(j);
    return l->semantics->distributes ? by_one(j) : at_once(j);
}
