/* net_products.c - rules of nets: matrix products. */
#include <string.h>

#include "op/util/matrix.h"
#include "verify/net_rows.h"

typedef struct product {
    takt_matrix m;
    const takt_type *a, *b, *y;
    size_t inner;
} product;

static product product_of(const takt_net_builder *b, const takt_node *n)
{
    product p = {.a = takt_type_of(b->graph, n->in[0]),
                 .b = takt_type_of(b->graph, n->in[1]),
                 .y = &n->type[0]};
    p.m = takt_matrix_of(p.a->rank, p.b->rank, n->attr[0].boolean, n->attr[1].boolean);
    p.inner = (size_t)p.a->dim[p.m.a_inner];
    return p;
}

static size_t flat_of(const takt_type *t, const size_t *index)
{
    size_t flat = 0;
    for (int i = 0; i < t->rank; i++)
        flat = flat * (size_t)t->dim[i] + index[i];
    return flat;
}

/* Positions of the factors of term k of element `flat`. */
static void factors(const product *p, size_t flat, size_t k, size_t *a, size_t *b)
{
    size_t y[TAKT_MAX_RANK], ia[TAKT_MAX_RANK] = {0}, ib[TAKT_MAX_RANK] = {0};
    for (int i = p->y->rank - 1; i >= 0; i--) {
        y[i] = flat % (size_t)p->y->dim[i];
        flat /= (size_t)p->y->dim[i];
    }
    const int batch = p->m.a_batch > p->m.b_batch ? p->m.a_batch : p->m.b_batch;
    for (int i = 0; i < p->m.a_batch; i++)
        ia[i] = p->a->dim[i] == 1 ? 0 : y[i + batch - p->m.a_batch];
    for (int i = 0; i < p->m.b_batch; i++)
        ib[i] = p->b->dim[i] == 1 ? 0 : y[i + batch - p->m.b_batch];
    if (p->m.a_row >= 0)
        ia[p->m.a_row] = y[batch];
    if (p->m.b_column >= 0)
        ib[p->m.b_column] = y[p->y->rank - 1];
    ia[p->m.a_inner] = ib[p->m.b_inner] = k;
    *a = flat_of(p->a, ia);
    *b = flat_of(p->b, ib);
}

static takt_status by_constant(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                               takt_net_value *out)
{
    const product p = product_of(b, n);
    const size_t count = takt_net_elements(p.y);
    const int known = in[0]->is_known ? 0 : 1;
    takt_net_rows m;
    TAKT_TRY(takt_net_rows_begin(&m, b, count, count * p.inner));
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < p.inner; k++) {
            size_t at[2];
            factors(&p, i, k, &at[0], &at[1]);
            takt_net_rows_put(&m, at[1 - known], in[known]->known.f[at[known]]);
        }
        takt_net_rows_next(&m);
    }
    return takt_net_rows_end(&m, n, in[1 - known]->node, out);
}

/* All products of two unknown matrices, then their sums. */
static takt_status by_unknown(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                              takt_net_value *out)
{
    static const takt_node multiply = {.op = &takt_op_mul};
    const product p = product_of(b, n);
    const size_t count = takt_net_elements(p.y), terms = count * p.inner;
    enum { MOST = 1 << 22 };
    uint32_t sides[2];
    takt_net_rows m;
    if (terms > MOST)
        return takt_net_refuse(b, n, "a product of two unknown matrices that are so large");
    for (int s = 0; s < 2; s++) {
        sides[s] = takt_net_add(b, NULL, TAKT_NET_SUM, terms);
        takt_net_part *part = sides[s] != UINT32_MAX ? takt_net_parts(b, sides[s], 1) : NULL;
        uint32_t *columns = takt_arena_array(&b->net->arena, terms, sizeof *columns);
        if (part == NULL || columns == NULL)
            return TAKT_ERR_MEMORY;
        b->net->nodes[sides[s]].label = n->op->name;
        for (size_t i = 0; i < terms; i++) {
            size_t at[2];
            factors(&p, i / p.inner, i % p.inner, &at[0], &at[1]);
            columns[i] = (uint32_t)at[s];
        }
        *part = (takt_net_part){
            .form = TAKT_NET_MAP, .source = in[s]->node, .factor = 1, .columns = columns};
    }
    const uint32_t each = takt_net_add(b, NULL, TAKT_NET_PAIR, terms);
    if (each == UINT32_MAX)
        return TAKT_ERR_MEMORY;
    b->net->nodes[each].of = &multiply;
    b->net->nodes[each].label = n->op->name;
    memcpy(b->net->nodes[each].sources, sides, sizeof sides);
    TAKT_TRY(takt_net_rows_begin(&m, b, count, terms));
    for (size_t i = 0; i < terms; i++) {
        takt_net_rows_put(&m, i, 1);
        if ((i + 1) % p.inner == 0)
            takt_net_rows_next(&m);
    }
    return takt_net_rows_end(&m, n, each, out);
}

takt_status takt_net_products(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                              takt_net_value *out, bool *done)
{
    if (n->op != &takt_op_matmul || takt_net_elements(&n->type[0]) == 0)
        return TAKT_OK;
    *done = true;
    if (product_of(b, n).inner == 0)
        return takt_net_refuse(b, n, "it sums nothing");
    return in[0]->is_known || in[1]->is_known ? by_constant(b, n, in, out)
                                              : by_unknown(b, n, in, out);
}
