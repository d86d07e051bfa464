/* matmul_int.c - products of integer matrices; sums wrap, so only the width of the type matters. */
#include <string.h>

#include "backend/cpu/matrix.h"

typedef struct facts {
    takt_product mm;
    size_t bytes;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    if (g->nodes[node].op != &takt_op_matmul)
        return "";
    return takt_dtype_is_int(takt_type_of(g, node)->dtype) ? NULL : "";
}

enum { TILE = 64 }; /* columns whose sums are computed at once */

/* A row of the result: S is a type at least as wide as the elements, so the low bits are exact. */
#define ROW(T, S)                                                                                  \
    static void row_##T(const takt_product *mm, const T *a, const T *b, T *c)                      \
    {                                                                                              \
        S sum[TILE];                                                                               \
        for (size_t j = 0; j < mm->n; j += TILE) {                                                 \
            const size_t n = mm->n - j < TILE ? mm->n - j : TILE;                                  \
            memset(sum, 0, sizeof sum);                                                            \
            for (size_t k = 0; k < mm->k; k++) {                                                   \
                const S left = a[k * mm->a_col];                                                   \
                const T *right = b + k * mm->b_row + j * mm->b_col;                                \
                if (mm->b_col == 1)                                                                \
                    for (size_t i = 0; i < n; i++)                                                 \
                        sum[i] += left * (S)right[i];                                              \
                else                                                                               \
                    for (size_t i = 0; i < n; i++)                                                 \
                        sum[i] += left * (S)right[i * mm->b_col];                                  \
            }                                                                                      \
            for (size_t i = 0; i < n; i++)                                                         \
                c[j + i] = (T)sum[i];                                                              \
        }                                                                                          \
    }
ROW(uint8_t, uint32_t)
ROW(uint16_t, uint32_t)
ROW(uint32_t, uint32_t)
ROW(uint64_t, uint64_t)

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    size_t first, end;
    takt_cpu_share(mm->batch * mm->m, 1, t->index, s->task_count, &first, &end);
    for (size_t r = first; r < end && !takt_poll_stops(t->poll); r++) {
        size_t a, b;
        takt_product_pair(mm, r / mm->m, &a, &b);
        const char *left = (const char *)takt_view_data(t, &s->in[0]) +
                           (a * mm->m * mm->k + r % mm->m * mm->a_row) * f->bytes;
        const char *right =
            (const char *)takt_view_data(t, &s->in[1]) + b * mm->k * mm->n * f->bytes;
        char *to = (char *)takt_view_data(t, &s->out[0]) + r * mm->n * f->bytes;
        if (f->bytes == 1)
            row_uint8_t(mm, (const uint8_t *)left, (const uint8_t *)right, (uint8_t *)to);
        else if (f->bytes == 2)
            row_uint16_t(mm, (const void *)left, (const void *)right, (void *)to);
        else if (f->bytes == 4)
            row_uint32_t(mm, (const void *)left, (const void *)right, (void *)to);
        else
            row_uint64_t(mm, (const void *)left, (const void *)right, (void *)to);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->mm = takt_product_of(p->graph, id);
    f->bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    p->step->run = run;
    p->step->data = f;
    const double flops = 2.0 * (double)(f->mm.batch * f->mm.m) * (double)f->mm.n * (double)f->mm.k;
    p->step->task_count = takt_cpu_tasks(p, 4 * flops, 0, f->mm.batch * f->mm.m);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_matmul_int = {
    .name = "matmul", .family = TAKT_FAMILY_GEMM, .accepts = accepts, .compile = compile};
