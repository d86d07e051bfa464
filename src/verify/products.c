/* products.c - rows of coefficients times large dense matrices, in f32. */
#include "verify/products.h"

#include <math.h>
#include <string.h>

#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/isa.h"
#include "kernel/pack/pack.h"

enum { LEAST = 64 }; /* elements of both sides, for f32 to be a gain */

struct takt_products {
    takt_gemm_f32_fn *multiply;
    takt_pack_fn *pack;
    takt_panels panels;
    float *a, *b, *c, *gathered, *scratch;
    uint32_t *active; /* indices of the elements that some row uses */
    size_t active_count;
    double *largest; /* per element of a row */
    double **error;  /* per node: cost of an element; NULL: none of its parts uses f32 */
    double *least;   /* per node: cost of a row due to underflow; not finite: no f32 */
};

static const takt_kernel *gemm_kernel(void)
{
    return takt_kernel_find("gemm_f32", takt_isa_detect(), NULL, 0, NULL);
}

static const takt_gemm_f32_info *gemm_info(void)
{
    return gemm_kernel()->info;
}

static takt_pack_fn *pack_kernel(void)
{
    return takt_kernel_as_pack(takt_kernel_find("pack", takt_isa_detect(), NULL, 0, NULL));
}

/* ---- of a net ---- */

static bool is_large(const takt_net *net, const takt_net_node *n, const takt_net_part *p)
{
    return n->is_used && n->kind == TAKT_NET_SUM && p->form == TAKT_NET_DENSE &&
           n->count >= LEAST && net->nodes[p->source].count >= LEAST;
}

/* The values of a part as floats; false: some are out of their range. */
static bool narrow(const takt_net_part *p, size_t count, float *to, double *most)
{
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        const double size = fabs(p->values[i]);
        if (size != 0 && !(size >= 0x1p-100 && size <= 0x1p60))
            return false;
        *most = size > *most ? size : *most;
        to[i] = (float)p->values[i];
    }
    return true;
}

static takt_status add_single(takt_net *net, const takt_net_node *n, takt_net_part *p,
                              bool transposes)
{
    takt_arena *arena = &net->arena;
    const takt_panels panels = gemm_info()->panels;
    const size_t count = n->count, width = net->nodes[p->source].count;
    struct takt_net_single *s = takt_arena_array(arena, 1, sizeof *s);
    float *values = takt_arena_array(arena, count * width, sizeof *values);
    float *packed =
        takt_arena_array(arena, takt_panels_columns(panels, width) * count, sizeof *packed);
    float *transposed = NULL;
    if (transposes)
        transposed =
            takt_arena_array(arena, takt_panels_columns(panels, count) * width, sizeof *transposed);
    if (s == NULL || values == NULL || packed == NULL || (transposes && transposed == NULL))
        return TAKT_ERR_MEMORY;
    *s = (struct takt_net_single){
        .values = values, .packed = packed, .transposed = transposed, .count = count};
    if (!narrow(p, count * width, values, &s->most))
        return TAKT_OK;
    takt_pack_fn *pack = pack_kernel();
    pack(&(takt_pack){.k = count,
                      .n = width,
                      .src = values,
                      .row = width,
                      .col = 1,
                      .dst = packed,
                      .bytes = sizeof(float),
                      .panels = panels});
    if (transposes)
        pack(&(takt_pack){.k = width,
                          .n = count,
                          .src = values,
                          .row = 1,
                          .col = width,
                          .dst = transposed,
                          .bytes = sizeof(float),
                          .panels = panels});
    p->single = s;
    return TAKT_OK;
}

takt_status takt_products_net(takt_net *net, bool transposes)
{
    for (size_t i = 0; i < net->count; i++)
        for (size_t k = 0; k < net->nodes[i].part_count; k++)
            if (is_large(net, &net->nodes[i], &net->nodes[i].parts[k]))
                TAKT_TRY(add_single(net, &net->nodes[i], &net->nodes[i].parts[k], transposes));
    return TAKT_OK;
}

/* ---- of a region ---- */

/* Room for the largest product: elements of A, B and C, bytes of scratch. */
typedef struct room {
    size_t a, b, c, scratch;
} room;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t takt_products_scratch(const takt_gemm_f32_info *info, size_t rows, size_t n, size_t most)
{
    size_t bytes = 0;
    for (size_t k = 1; k <= most; k++)
        bytes = larger(bytes, info->scratch_bytes(&(takt_gemm_f32){
                                  .m = rows, .n = n, .k = k, .a_row = k, .a_col = 1, .b_n = n}));
    return bytes;
}

static room room_for(const takt_region *r, size_t count, size_t width, room so_far)
{
    const takt_gemm_f32_info *info = gemm_info();
    const size_t most = larger(count, width) * r->capacity;
    const size_t scratch = larger(takt_products_scratch(info, r->capacity, width, count),
                                  takt_products_scratch(info, r->capacity, count, width));
    return (room){larger(so_far.a, most),
                  larger(so_far.b, takt_panels_columns(info->panels, width) * count),
                  larger(so_far.c, most), larger(so_far.scratch, scratch)};
}

static takt_status add_errors(takt_region *r, struct takt_products *x, size_t i, room *most)
{
    const takt_net_node *n = &r->net->nodes[i];
    for (size_t k = 0; k < n->part_count; k++) {
        if (n->parts[k].single == NULL)
            continue;
        *most = room_for(r, n->count, r->net->nodes[n->parts[k].source].count, *most);
        x->error[i] = takt_arena_array(&r->arena, n->count, sizeof **x->error);
        if (x->error[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

takt_status takt_products_init(takt_region *r)
{
    takt_arena *arena = &r->arena;
    struct takt_products *x = takt_arena_array(arena, 1, sizeof *x);
    room most = {0};
    if (x == NULL)
        return TAKT_ERR_MEMORY;
    *x = (struct takt_products){.multiply = takt_kernel_as_gemm_f32(gemm_kernel()),
                                .pack = pack_kernel(),
                                .panels = gemm_info()->panels};
    x->error = takt_arena_array(arena, r->net->count, sizeof *x->error);
    x->least = takt_arena_array(arena, r->net->count, sizeof *x->least);
    if (x->error == NULL || x->least == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < r->net->count; i++)
        TAKT_TRY(add_errors(r, x, i, &most));
    if (most.a == 0)
        return TAKT_OK; /* no part of this net has f32 */
    enum { ALIGN = 64 };
    x->a = takt_arena_array(arena, most.a, sizeof(float));
    x->b = takt_arena_array(arena, most.b, sizeof(float));
    x->c = takt_arena_array(arena, most.c, sizeof(float));
    x->gathered = takt_arena_array(arena, most.b, sizeof(float));
    x->active = takt_arena_array(arena, most.a, sizeof *x->active);
    x->largest = takt_arena_array(arena, most.a, sizeof *x->largest);
    char *scratch = takt_arena_array(arena, most.scratch + ALIGN, 1);
    if (x->a == NULL || x->b == NULL || x->c == NULL || x->gathered == NULL || x->active == NULL ||
        x->largest == NULL || scratch == NULL)
        return TAKT_ERR_MEMORY;
    x->scratch = (float *)(void *)(scratch + (ALIGN - (uintptr_t)scratch % ALIGN) % ALIGN);
    r->products = x;
    return TAKT_OK;
}

/* A chunk of fmas, the sum of the chunks, and the rounding of both factors. */
void takt_products_errors(takt_region *r, size_t id)
{
    const struct takt_products *x = r->products;
    if (x == NULL || x->error[id] == NULL)
        return;
    const takt_net_node *n = &r->net->nodes[id];
    const size_t chunk = n->count < TAKT_GEMM_CHUNK ? n->count : TAKT_GEMM_CHUNK;
    const double steps = (double)(chunk + n->count / TAKT_GEMM_CHUNK + 4);
    double all = 0, most = 0;
    for (size_t i = 0; i < n->count; i++) {
        x->error[id][i] = (r->error[id][i] + 0x1.01p-24 * steps * r->sizes[i]) * (1 + 0x1p-40);
        all += x->error[id][i] + r->sizes[i];
    }
    for (size_t k = 0; k < n->part_count; k++) {
        const uint32_t source = n->parts[k].source;
        for (size_t j = 0; j < r->net->nodes[source].count; j++)
            most += fmax(fabs(r->lo[source][j]), fabs(r->hi[source][j]));
    }
    /* Each step may lose 2^-149 of a coefficient, and each factor of a as much of itself. */
    x->least[id] = 0x1p-145 * (steps * (double)n->count * most + all);
}

double *takt_products_kept(const takt_region *r, size_t id, double **least)
{
    const struct takt_products *x = r->products;
    *least = x != NULL ? &x->least[id] : NULL;
    return x != NULL ? x->error[id] : NULL;
}

/* Elements that any of the rows has, into x->active; their number, and *most, the greatest. */
static size_t find_active(struct takt_products *x, const double *a, size_t count, size_t rows,
                          double *most)
{
    size_t found = 0;
    double top = 0;
    for (size_t j = 0; j < count; j++)
        x->largest[j] = 0;
    for (size_t i = 0; i < rows; i++) {
        const double *restrict row = a + i * count;
        double *restrict to = x->largest;
        for (size_t j = 0; j < count; j++) {
            const double size = fabs(row[j]), old = to[j];
            to[j] = size > old || isnan(size) ? size : old; /* a NaN stays */
        }
    }
    for (size_t j = 0; j < count; j++) {
        top = x->largest[j] > top || isnan(x->largest[j]) ? x->largest[j] : top;
        if (x->largest[j] != 0)
            x->active[found++] = (uint32_t)j;
    }
    *most = top;
    return found;
}

/* Rows that begin with an element or two are better copied. */
static bool is_sparse(const double *a, size_t count, size_t rows)
{
    size_t terms = 0;
    for (size_t i = 0; i < rows * count && terms <= 4 * rows; i++)
        terms += a[i] != 0;
    return terms <= 4 * rows;
}

static void put_rows(double *restrict out, const float *restrict c, size_t count, bool adds)
{
    if (adds)
        for (size_t i = 0; i < count; i++)
            out[i] += (double)c[i];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (double)c[i];
}

const double *takt_products_error(takt_region *r, size_t id, size_t rows, double *least)
{
    struct takt_products *x = r->products;
    const takt_net_node *n = &r->net->nodes[id];
    double most, weight = 0;
    if (x == NULL || x->error[id] == NULL || rows < 4 || !isfinite(x->least[id]) ||
        is_sparse(r->rows[id], n->count, rows))
        return NULL;
    x->active_count = find_active(x, r->rows[id], n->count, rows, &most);
    for (size_t k = 0; k < n->part_count; k++)
        if (n->parts[k].single != NULL)
            weight = fmax(weight, n->parts[k].single->most);
    *least = x->least[id];
    return most * weight * (double)n->count <= 0x1p120 ? x->error[id] : NULL;
}

/* The active rows of W, packed. */
static const float *pack_active(const struct takt_products *x, const float *values, size_t active,
                                size_t width)
{
    for (size_t p = 0; p < active; p++)
        memcpy(x->gathered + p * width, values + x->active[p] * width, width * sizeof *values);
    x->pack(&(takt_pack){.k = active,
                         .n = width,
                         .src = x->gathered,
                         .row = width,
                         .col = 1,
                         .dst = x->b,
                         .bytes = sizeof(float),
                         .panels = x->panels});
    return x->b;
}

/* x->c = x->a B for a packed B. */
static void multiply(const struct takt_products *x, const float *b, size_t m, size_t n, size_t k)
{
    x->multiply(&(takt_gemm_f32){.m = m,
                                 .n = n,
                                 .k = k,
                                 .a = x->a,
                                 .a_row = k,
                                 .a_col = 1,
                                 .b = b,
                                 .b_n = n,
                                 .c = x->c,
                                 .ldc = n,
                                 .scratch = x->scratch});
}

/* Rows of coefficients as floats, the active ones alone if they are few. */
static size_t narrow_rows(struct takt_products *x, const double *a, size_t count, size_t rows,
                          bool is_thin)
{
    const size_t active = is_thin ? x->active_count : count;
    for (size_t i = 0; i < rows; i++) {
        const double *restrict row = a + i * count;
        float *restrict to = x->a + i * active;
        if (is_thin)
            for (size_t j = 0; j < active; j++)
                to[j] = (float)row[x->active[j]];
        else
            for (size_t j = 0; j < count; j++)
                to[j] = (float)row[j];
    }
    return active;
}

bool takt_products_back(takt_region *r, size_t id, size_t part, size_t rows)
{
    struct takt_products *x = r->products;
    const takt_net_node *n = &r->net->nodes[id];
    const takt_net_part *p = &n->parts[part];
    const size_t count = n->count, width = r->net->nodes[p->source].count;
    if (p->single == NULL)
        return false;
    const bool is_thin = 8 * x->active_count <= 7 * count;
    const size_t active = narrow_rows(x, r->rows[id], count, rows, is_thin);
    const float *b = is_thin ? pack_active(x, p->single->values, active, width) : p->single->packed;
    multiply(x, b, rows, width, active);
    put_rows(r->rows[p->source], x->c, rows * width, r->is_touched[p->source]);
    r->is_touched[p->source] = true;
    return true;
}

bool takt_products_forward(takt_region *r, const takt_net_part *p, const double *values,
                           double *out, size_t rows)
{
    struct takt_products *x = r->products;
    const size_t width = r->net->nodes[p->source].count;
    if (x == NULL || p->single == NULL || p->single->transposed == NULL || rows < 4)
        return false;
    for (size_t i = 0; i < rows * width; i++)
        x->a[i] = (float)values[i];
    multiply(x, p->single->transposed, rows, p->single->count, width);
    put_rows(out, x->c, rows * p->single->count, true);
    return true;
}
