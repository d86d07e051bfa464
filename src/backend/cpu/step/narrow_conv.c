/* narrow_conv.c - convolutions on bf16 activations: how they are computed, and their weights. */
#include "backend/cpu/conv/narrow_conv.h"
#include "op/record/narrow_conv.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/conv/run.h"
#include "base/mem.h"
#include "base/size.h"
#include "op/util/narrow.h"

enum { PATCH_BYTES = 128 << 10, ROWS_MIN = 48, ROWS_MAX = 256 };
enum { DIRECT_ROW = 1, GATHERED_ROW = 3 }; /* other costs of a row, in rows by panels */
enum { CHANNELS = 16 };                    /* fewer do not pay for Winograd's transforms */
enum { FASTER = 4 };                       /* than products of f32, for the cut into tasks */

typedef takt_narrow_conv facts;

/* The op is made after composites were lowered (pass `narrow-activations`); one in a model is
 * lowered, and computed exactly. */
static bool is_mine(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_narrow_conv || n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return false;
    const takt_type *w = takt_type_of(g, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    return w->rank == 4 && (groups == 1 || (w->dim[0] == groups && w->dim[3] == 1 &&
                                            w->dim[1] * w->dim[2] <= TAKT_NARROW_TAPS));
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return is_mine(g, &g->nodes[node]) ? NULL : "";
}

/* ---- weights ---- */

static size_t weight_count(const takt_conv_shape *c)
{
    return c->groups * c->cout * c->k;
}

static void widen(const uint16_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(to + i, &bits, sizeof bits);
    }
}

/* `wide` has room for the weights as f32. */
static void pack(const facts *f, const uint16_t *from, float *wide, uint16_t *to)
{
    const takt_conv_shape *c = &f->shape;
    if (f->way == TAKT_NARROW_DEPTHWISE) {
        for (size_t t = 0; t < c->taps; t++)
            for (size_t i = 0; i < c->groups; i++)
                to[t * c->groups + i] = from[i * c->taps + t];
        return;
    }
    widen(from, wide, weight_count(c));
    if (f->way == TAKT_NARROW_WINOGRAD) {
        const takt_winograd_bf16_info *info = f->kernel->info;
        const takt_winograd_bf16_weights w = {c->cin, c->cout, wide, c->w_out, c->w_tap, c->w_in};
        takt_winograd_bf16_pack(&info->pack, &w, to);
        return;
    }
    const takt_product_bf16_info *info = f->kernel->info;
    const takt_gemm_bf16_matrix m = {.k = c->k, .n = c->cout, .src = wide, .row = 1, .col = c->k};
    takt_gemm_bf16_pack(&info->pack, &m, to);
}

static size_t packed_count(const facts *f)
{
    const takt_conv_shape *c = &f->shape;
    if (f->way == TAKT_NARROW_DEPTHWISE)
        return weight_count(c);
    if (f->way == TAKT_NARROW_WINOGRAD)
        return takt_winograd_bf16_count(&((const takt_winograd_bf16_info *)f->kernel->info)->pack,
                                        c->cin, c->cout);
    return takt_gemm_bf16_count(&((const takt_product_bf16_info *)f->kernel->info)->pack, c->k,
                                c->cout);
}

static takt_status pack_weights(void *user, const void *from, void *to)
{
    const facts *f = user;
    const size_t bytes = weight_count(&f->shape) * sizeof(float);
    void *wide;
    TAKT_TRY(takt_mem_get(f->ctx, bytes, "weights to pack", &wide));
    pack(f, from, wide, to);
    takt_mem_put(f->ctx, wide, bytes);
    return TAKT_OK;
}

/* NaN with zeros at the end, as kernels expect it: they round by adding to the bits. */
static void clean(const float *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = isnan(from[i]) ? NAN : from[i];
}

static takt_status pack_bias(void *user, const void *from, void *to)
{
    const facts *f = user;
    clean(from, to, f->shape.groups * f->shape.cout);
    return TAKT_OK;
}

/* Operands that are not constant are packed in every run. */
static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    char *shared = t->scratch;
    if (!f->w_packed)
        pack(f, takt_view_data(t, &s->in[f->w]), (float *)(void *)(shared + f->wide_at),
             (uint16_t *)(void *)(shared + f->w_at));
    if (f->bias >= 0 && !f->b_packed)
        clean(takt_view_data(t, &s->in[f->bias]), (float *)(void *)(shared + f->b_at),
              f->shape.groups * f->shape.cout);
}

/* ---- compiling ---- */

static takt_status add_weights(takt_planner *p, facts *f, takt_id w)
{
    static const char *const formats[] = {"narrow", "narrow", "narrow", "narrow depthwise",
                                          "narrow winograd"};
    size_t bytes;
    if (!takt_size_mul(packed_count(f), sizeof(float), &bytes) || bytes > SIZE_MAX / 16)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the weights of a convolution are too large");
    f->w_packed = takt_planner_is_constant(p, w) && !takt_planner_in_prologue(p);
    if (f->w_packed)
        return takt_planner_packed(p, w, formats[f->way], packed_count(f) * sizeof(uint16_t),
                                   pack_weights, f, &f->w);
    f->w_at = takt_conv_reserve(p->step, packed_count(f) * sizeof(uint16_t));
    f->wide_at = takt_conv_reserve(p->step, weight_count(&f->shape) * sizeof(float));
    return takt_planner_input(p, w, &f->w);
}

static takt_status add_bias(takt_planner *p, facts *f, takt_id bias)
{
    const size_t bytes = f->shape.groups * f->shape.cout * sizeof(float);
    size_t at;
    f->b_packed = takt_planner_is_constant(p, bias) && !takt_planner_in_prologue(p);
    if (f->b_packed) {
        TAKT_TRY(takt_planner_packed(p, bias, "narrow bias", bytes, pack_bias, f, &at));
    } else {
        f->b_at = takt_conv_reserve(p->step, bytes);
        TAKT_TRY(takt_planner_input(p, bias, &at));
    }
    f->bias = (int)at;
    return TAKT_OK;
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    size_t at;
    f->ctx = p->ctx;
    f->bias = f->residual = -1;
    f->lo = n->attr[TAKT_NARROW_MIN].is_set ? (float)n->attr[TAKT_NARROW_MIN].f64 : -INFINITY;
    f->hi = n->attr[TAKT_NARROW_MAX].is_set ? (float)n->attr[TAKT_NARROW_MAX].f64 : INFINITY;
    TAKT_TRY(takt_planner_input(p, n->in[TAKT_NARROW_X], &f->x));
    TAKT_TRY(add_weights(p, f, n->in[TAKT_NARROW_W]));
    if (n->in_count > TAKT_NARROW_BIAS && n->in[TAKT_NARROW_BIAS] != TAKT_NONE)
        TAKT_TRY(add_bias(p, f, n->in[TAKT_NARROW_BIAS]));
    if (n->in_count > TAKT_NARROW_RESIDUAL && n->in[TAKT_NARROW_RESIDUAL] != TAKT_NONE) {
        TAKT_TRY(takt_planner_input(p, n->in[TAKT_NARROW_RESIDUAL], &at));
        f->residual = (int)at;
    }
    return takt_planner_output(p, p->group->nodes[0], &at);
}

/* Positions whose patches are gathered at a time, if requested (--tile); else 0. */
static size_t rows_asked(const takt_planner *p)
{
    return p->settings->is_blocked ? p->settings->blocking.rows : 0;
}

static takt_status plan_product(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const takt_product_bf16_info *info = f->kernel->info;
    const bool is_direct = f->way == TAKT_NARROW_DIRECT;
    const size_t m = c->batch * c->positions, tile = info->pack.gemm.rows;
    const size_t piece = info->pack.image > 0 ? info->pack.image : 1;
    f->k_row = (c->k_row + piece - 1) / piece * piece; /* as images, patches are read by pieces */
    const size_t fit = c->k > 0 ? PATCH_BYTES / sizeof(uint16_t) / f->k_row : ROWS_MAX;
    const size_t rows = fit < ROWS_MIN ? ROWS_MIN : fit > ROWS_MAX ? ROWS_MAX : fit;
    const double flops = 2.0 * (double)m * (double)c->k * (double)c->cout / FASTER;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t asked = rows_asked(p);
    f->rows = asked > 0 ? (asked + tile - 1) / tile * tile : rows / tile * tile;
    const takt_cut_work work = {m, takt_panels_count(info->pack.gemm.panels, c->cout), tile,
                                is_direct ? DIRECT_ROW : GATHERED_ROW};
    f->cut =
        takt_cpu_cut(&work, takt_cpu_tasks(p, flops, 2.0 * (double)packed_count(f),
                                           m >= 4 * threads * f->rows ? 4 * threads : threads));
    size_t patches = 0;
    if (!is_direct && (!takt_size_mul(f->rows, f->k_row, &patches) || patches > SIZE_MAX / 16))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the patches of a convolution are too large");
    f->patches = takt_cpu_aligned(info->scratch_bytes(is_direct ? m : f->rows, c->cout, f->k_row));
    p->step->scratch_each = f->patches + takt_cpu_aligned(patches * sizeof(uint16_t));
    p->step->run = takt_narrow_product;
    p->step->task_count = f->cut.rows * f->cut.columns;
    return TAKT_OK;
}

static takt_status plan_image(takt_planner *p, facts *f)
{
    const takt_conv_shape *c = &f->shape;
    const takt_product_bf16_info *info = f->kernel->info;
    const size_t each = sizeof(uint16_t);
    const double flops =
        2.0 * (double)(c->batch * c->positions) * (double)c->k * (double)c->cout / FASTER;
    f->image = (takt_image){.shape = *c, .from_bytes = each, .to_bytes = each};
    TAKT_TRY(takt_image_plan(p, &f->image, TAKT_BF16_BEYOND));
    takt_image_cut(p, &f->image, takt_panels_count(info->pack.gemm.panels, c->cout), flops,
                   2.0 * (double)packed_count(f));
    f->patches = takt_cpu_aligned(info->scratch_bytes(f->image.rows * c->out[2], c->cout, c->k));
    p->step->scratch_each = f->patches + takt_cpu_aligned(f->image.bytes);
    p->step->run = takt_narrow_image;
    p->step->task_count = f->image.cut.rows * f->image.cut.columns;
    return TAKT_OK;
}

static void plan_depthwise(takt_planner *p, facts *f)
{
    enum { PACE = 2 };
    const takt_conv_shape *c = &f->shape;
    const size_t lines = c->batch * c->out[1];
    const double outputs = (double)lines * (double)c->out[2] * (double)c->groups;
    f->cut.grain = 2;
    f->x_step = c->dilation[1] == 1 ? c->stride[1] : c->kernel[1];
    f->pointers = f->zeros + takt_cpu_aligned(2 * c->groups * sizeof(uint16_t));
    const size_t rows = (TAKT_NARROW_LINES - 1) * f->x_step + c->kernel[1];
    p->step->scratch_each = f->pointers + takt_cpu_aligned(rows * sizeof(uint16_t *));
    p->step->run = takt_narrow_depthwise;
    p->step->task_count =
        takt_cpu_tasks(p, 2 * PACE * outputs * (double)c->taps, 4 * outputs, (lines + 1) / 2);
}

static void plan_winograd(takt_planner *p, facts *f)
{
    enum { STRIP = 4 };
    const takt_conv_shape *c = &f->shape;
    const takt_winograd_bf16_info *info = f->kernel->info;
    const size_t out[2] = {c->out[1], c->out[2]}, units = c->batch * takt_winograd_bf16_units(out);
    const double flops = 16.0 * 4 * (double)units * (double)c->cin * (double)c->cout / FASTER;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    f->cut.grain = STRIP;
    f->zeros = takt_cpu_aligned(info->scratch_bytes(c->cin, c->cout));
    p->step->scratch_each = f->zeros + takt_cpu_aligned(c->cin * sizeof(uint16_t));
    p->step->run = takt_narrow_winograd;
    const size_t strips = (units + STRIP - 1) / STRIP;
    p->step->task_count = takt_cpu_tasks(p, flops, 2.0 * (double)packed_count(f),
                                         strips < threads ? strips : threads);
}

static takt_narrow_way way_of(const takt_planner *p, const takt_conv_shape *c)
{
    if (c->groups > 1)
        return TAKT_NARROW_DEPTHWISE;
    bool is_plain = c->kernel[1] == 3 && c->kernel[2] == 3, is_direct = true;
    for (int i = 0; i < 3; i++) {
        is_plain = is_plain && c->stride[i] == 1 && c->dilation[i] == 1;
        is_direct = is_direct && c->kernel[i] == 1 && c->stride[i] == 1 && c->in[i] == c->out[i];
    }
    const takt_kernel *winograd = takt_kernel_find("winograd_bf16", p->step->isas, NULL, 0, NULL);
    if (is_plain && c->cin >= CHANNELS && c->cout >= CHANNELS && c->cin <= TAKT_WINOGRAD_BF16_CIN &&
        winograd != NULL && winograd->rank > 0)
        return TAKT_NARROW_WINOGRAD;
    if (is_direct)
        return TAKT_NARROW_DIRECT;
    const takt_kernel *product = takt_kernel_find("product_bf16", p->step->isas, NULL, 0, NULL);
    const takt_product_bf16_info *info = product->info;
    return rows_asked(p) == 0 && takt_image_fits(c, info->pack.image) ? TAKT_NARROW_IMAGE
                                                                      : TAKT_NARROW_GATHERED;
}

static takt_status compile(takt_planner *p)
{
    static const char *const families[] = {"product_bf16", "product_bf16", "product_bf16",
                                           "depthwise_bf16", "winograd_bf16"};
    takt_step *s = p->step;
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    f->way = way_of(p, &f->shape);
    f->kernel = takt_planner_kernel(p, families[f->way]);
    TAKT_TRY(add_operands(p, f));
    s->data = f;
    s->before = f->w_packed && (f->bias < 0 || f->b_packed) ? NULL : before;
    if (f->way == TAKT_NARROW_DEPTHWISE)
        plan_depthwise(p, f);
    else if (f->way == TAKT_NARROW_WINOGRAD)
        plan_winograd(p, f);
    else
        return f->way == TAKT_NARROW_IMAGE ? plan_image(p, f) : plan_product(p, f);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_narrow_conv = {
    .name = "narrow_conv", .family = TAKT_FAMILY_CONV, .accepts = accepts, .compile = compile};
