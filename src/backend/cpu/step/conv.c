/* conv.c - convolution as a product: which kernel, how the weights are packed, and how the work is
 * cut. conv/product.c is one task of it; conv/bf16_image.c does without patches, conv/near.c with
 * few channels, conv/groups.c with few in each group.
 */
#include "op/util/conv.h"
#include "backend/cpu/conv/bf16_image.h"
#include "backend/cpu/conv/generic.h"
#include "backend/cpu/conv/groups.h"
#include "backend/cpu/conv/near.h"
#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/product.h"
#include "backend/cpu/conv/spread.h"
#include "base/mem.h"
#include "base/size.h"
#include "op/util/narrow.h"

enum { SMALL_ROW = 32 }; /* floats: transposing longer ones takes as long as the product */
enum { DIRECT_ROW = 2, GATHERED_ROW = 3, TAP = 60 }; /* costs in rows by panels, in operations */
enum { PATCH_BYTES = 256 << 10, ASKED_BYTES = 16 << 20, ROWS_MIN = 48, ROWS_MAX = 192 };
/* Weights that stay in L1 together with patches, and rows of patches. */
enum { NEAR_WEIGHTS = 32 << 10, NEAR_PATCHES = 16 << 10, NEAR_ROWS_MIN = 16 };

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op == &takt_op_winograd_conv)
        return n->type->dtype == TAKT_F32 ? "" : NULL; /* f32 has its own step */
    return n->op == &takt_op_conv && !takt_conv_is_depthwise(g, node) &&
                   !takt_conv_is_narrow_depthwise(g, node)
               ? NULL
               : "";
}

/* With channels last, the result is a matrix of positions by channels; otherwise it is not. */
static const char *absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    if (g->nodes[anchor].attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return "the convolution's channels do not come last";
    return takt_epilogue_absorbs(g, anchor, node);
}

static void pack_floats(void *user, const float *from, float *to)
{
    const takt_conv_product *f = user;
    takt_conv_pack_weights(&f->shape, f->panels, from, to);
}

static void order_floats(void *user, const float *from, float *to)
{
    const takt_conv_product *f = user;
    takt_conv_order_weights(&f->shape, from, to);
}

static takt_status pack_fast(const takt_conv_product *f, const void *from, void *to)
{
    const takt_conv_shape *c = &f->shape;
    const takt_narrow_job job = {.ctx = f->ctx,
                                 .count = f->w_count,
                                 .packed = c->groups * c->cout * c->k_row,
                                 .pack = order_floats,
                                 .user = (void *)(uintptr_t)f};
    const takt_fast_weights w = {c->groups, c->k_row, c->cout, 1, c->k_row, c->cout * c->k_row};
    return takt_narrow_pack_fast(&job, &f->narrow, &w, from, to);
}

/* Widens 16-bit weights to f32 in `wide`, and uses them from there. */
static void pack_wide(const takt_conv_product *f, takt_isa_set isas, const void *from, void *wide,
                      void *to)
{
    const takt_kernel *convert = takt_kernel_find("convert", isas, NULL, 0, NULL);
    const takt_convert how = {.to = TAKT_F32, .from = f->shape.dtype};
    takt_kernel_as_convert(convert)(&how, wide, from, f->w_count);
    takt_conv_pack_weights(&f->shape, f->panels, wide, to);
}

/* Those of a state. */
static void pack_state(const takt_step *s, const takt_task *t)
{
    pack_wide(s->data, s->isas, takt_view_data(t, &s->in[0]), t->scratch,
              takt_view_data(t, &s->out[0]));
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const takt_conv_product *f = user;
    const size_t bytes = f->w_count * sizeof(float);
    void *wide;
    if (f->narrow.fast != NULL)
        return pack_fast(f, from, to);
    if (f->shape.dtype != TAKT_F32 && !takt_is_narrow(&f->narrow)) {
        TAKT_TRY(takt_mem_get(f->ctx, bytes, "weights to pack", &wide));
        pack_wide(f, f->isas, from, wide, to);
        takt_mem_put(f->ctx, wide, bytes);
        return TAKT_OK;
    }
    if (takt_is_narrow(&f->narrow)) {
        const takt_narrow_job job = {.ctx = f->ctx,
                                     .count = f->w_count,
                                     .packed = f->group_floats * f->shape.groups,
                                     .to = f->narrow.dtype,
                                     .pack = pack_floats,
                                     .user = user};
        return takt_narrow_pack(&job, &f->narrow, from, to);
    }
    pack_floats(user, from, to);
    return TAKT_OK;
}

static takt_status pack_part(const void *user, const void *from, void *to, size_t index,
                             size_t count)
{
    const takt_conv_product *f = user;
    takt_conv_pack_part(&f->shape, f->panels, from, to, (const size_t[2]){index, count});
    return TAKT_OK;
}

static takt_status add_operands(takt_planner *p, takt_conv_product *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    const takt_conv_shape *c = &f->shape;
    size_t x, floats;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    if (!takt_conv_packed_floats(c, f->panels, &floats))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW,
                         "the packed weights of a convolution are too large");
    if (f->narrow.fast != NULL)
        floats = c->groups * takt_narrow_count(&f->narrow, c->k_row, c->cout);
    f->group_floats = floats / c->groups;
    f->is_packed = takt_planner_is_kept(p, n->in[1]);
    f->ctx = p->ctx;
    f->isas = p->step->isas;
    /* Every block would widen them again. */
    if (c->dtype != TAKT_F32 && c->batch * c->positions > 2 * f->rows &&
        p->settings->hint != TAKT_HINT_MEMORY)
        f->narrow = (takt_narrow){.dtype = TAKT_F32, .bytes = sizeof(float), .from = n->in[1]};
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->w_count);
    if (!f->is_packed) {
        f->packed_at = takt_conv_reserve(p->step, floats * sizeof(float));
        return takt_planner_input(p, n->in[1], &f->w);
    }
    const char *format = takt_planner_text(p, "conv %s groups=%zu k=%zu",
                                           c->is_nhwc ? "nhwc" : "nchw", c->groups, c->k_row);
    format = format != NULL ? takt_narrow_format(p, &f->narrow, format) : NULL;
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    const takt_packer how = {.format = format,
                             .bytes = floats * sizeof(float),
                             .run = pack_state,
                             .data = f,
                             .parts = 1,
                             .room = f->w_count * sizeof(float)};
    if (c->dtype != TAKT_F32 && !takt_planner_is_constant(p, n->in[1]))
        return takt_planner_form(p, n->in[1], &how, &f->w);
    const bool is_plain =
        c->dtype == TAKT_F32 && f->narrow.fast == NULL && !takt_is_narrow(&f->narrow);
    const takt_filler filler = {format, floats * f->narrow.bytes, pack_constant,
                                is_plain ? pack_part : NULL, NULL};
    return takt_planner_packed_by(p, f->narrow.from, &filler, f, &f->w);
}

/* By positions, and by groups or channels. */
static void cut_tasks(takt_planner *p, takt_conv_product *f)
{
    const takt_conv_shape *c = &f->shape;
    const size_t m = c->batch * c->positions, taps = f->is_direct ? 0 : c->taps;
    const size_t units = c->groups > 1 ? c->groups : takt_panels_count(f->panels, c->cout);
    const size_t all = takt_panels_columns(f->panels, c->cout);
    const double flops = (double)(m * c->groups) * (double)(2 * c->k * all + TAP * taps);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const double bytes = (double)f->narrow.bytes * (double)(f->group_floats * c->groups);
    const takt_cut_work work = {m, units, f->grain, f->is_direct ? DIRECT_ROW : GATHERED_ROW};
    const double faster = f->narrow.fast != NULL ? TAKT_CUT_FASTER : 1;
    const takt_cut_pace pace = {threads, flops / faster, bytes};
    const size_t most = takt_cpu_tasks_most(m >= 4 * threads * f->rows ? 4 : 1, threads);
    const size_t tasks = takt_cpu_tasks(p, pace.flops, bytes, most);
    f->cut = takt_cpu_cut(&work, tasks);
    if (c->groups == 1 && tasks >= threads)
        f->cut = takt_cpu_cut_finer(&work, f->cut, &pace);
}

/* Some more positions than `rows`, a multiple of the tile, if the last block would have few
 * otherwise: it would read all weights for them. A single row has its own fast product. */
static size_t with_rest(size_t m, size_t rows, size_t tile)
{
    const size_t blocks = m / rows, rest = m % rows;
    const bool merges = blocks > 0 && rest >= 2 && rest <= rows / 4;
    return merges ? ((m + blocks - 1) / blocks + tile - 1) / tile * tile : rows;
}

/* Positions of a block: a multiple of the tile, few enough for their patches to stay in L2, or in
 * L1 where reading the weights for each block costs little; or as many as the caller wants, while
 * that takes little memory. `merges`: a short rest joins them. */
static size_t block_rows(const takt_conv_product *f, size_t tile, bool merges)
{
    const takt_conv_shape *c = &f->shape;
    const bool is_asked = f->blocking != NULL && f->blocking->rows > 0;
    const bool is_near = c->k_row * c->cout <= NEAR_WEIGHTS / sizeof(float);
    const size_t bytes = is_asked ? ASKED_BYTES : is_near ? NEAR_PATCHES : PATCH_BYTES;
    const size_t fit = c->k > 0 ? bytes / sizeof(float) / c->k_row : ROWS_MAX;
    const size_t least = is_asked ? tile : is_near ? NEAR_ROWS_MIN : ROWS_MIN;
    const size_t most = is_asked ? f->blocking->rows : ROWS_MAX;
    const size_t rows = fit > most ? most : fit < least ? least : fit;
    const size_t whole = rows < tile ? tile : rows / tile * tile;
    return is_asked || !merges ? whole : with_rest(c->batch * c->positions, whole, tile);
}

/* Scratch that the product needs for `rows` positions. */
static size_t kernel_bytes(const takt_conv_product *f, const takt_gemm_f32_info *info, size_t rows)
{
    const takt_conv_shape *c = &f->shape;
    takt_gemm_stored stored;
    takt_gemm_f32 g = {.m = rows,
                       .n = c->cout,
                       .k = c->k_row,
                       .a_row = f->is_direct ? f->row : c->k_row,
                       .a_col = 1,
                       .reads_a = f->reads_a,
                       .blocking = f->blocking};
    takt_narrow_use(&g, &f->narrow, NULL, 0, &stored);
    return info->scratch_bytes(&g);
}

/* The most for any share, or for any block of one: fewer rows may need more. */
static size_t most_kernel_bytes(const takt_conv_product *f, const takt_gemm_f32_info *info,
                                size_t rows)
{
    const size_t m = f->shape.batch * f->shape.positions;
    size_t most = 0, first, end;
    const bool is_whole = f->is_direct && !takt_conv_product_tiles(f);
    for (size_t i = 0; i < (is_whole ? f->cut.rows : rows); i++) {
        takt_cpu_share(m, f->cut.grain, i, f->cut.rows, &first, &end);
        const size_t bytes = kernel_bytes(f, info, is_whole ? end - first : i + 1);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Floats that `rows` patches of one line span. */
static size_t line_floats(const takt_conv_shape *c, size_t rows)
{
    return ((rows - 1) * c->stride[2] + c->kernel[2]) * c->x_at[2];
}

static takt_status set_scratch(takt_planner *p, takt_conv_product *f,
                               const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    const size_t m = c->batch * c->positions;
    const bool rounds = takt_conv_product_rounds(f);
    const bool has_tile = takt_conv_product_tiles(f);
    const size_t rows = f->is_direct && !has_tile ? m : f->rows < m ? f->rows : m;
    const size_t kernel = most_kernel_bytes(f, info, rows);
    const size_t width = !f->is_direct ? c->k_row : rounds ? c->x_at[2] : 0;
    size_t patches = 0;
    if (!takt_size_mul(rows, width, &patches) || patches > SIZE_MAX / 16)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the patches of a convolution are too large");
    patches = f->is_padded ? line_floats(c, m) : patches;
    f->patches = takt_cpu_aligned(kernel);
    f->tile = f->patches + takt_cpu_aligned(patches * sizeof(float));
    const size_t wide = c->cout < f->wide ? c->cout : f->wide;
    f->registers = f->tile + (has_tile ? takt_cpu_aligned(rows * wide * sizeof(float)) : 0);
    p->step->scratch_each = f->registers + takt_cpu_aligned(takt_conv_end_scratch(&f->end));
    return TAKT_OK;
}

static void set_cut(takt_planner *p, void *facts)
{
    takt_conv_product *f = facts;
    (void)set_scratch(p, f, f->info); /* which has succeeded with more rows */
    p->step->task_count = f->cut.rows * f->cut.columns;
}

static takt_status set_tasks(takt_planner *p, takt_conv_product *f)
{
    const size_t row = f->is_direct ? f->row : f->shape.k_row;
    f->reads_a = !takt_gemm_collides(f->shape.k_row * sizeof(float), row * sizeof(float));
    cut_tasks(p, f);
    TAKT_TRY(set_scratch(p, f, f->info));
    p->step->task_count = f->cut.rows * f->cut.columns;
    if (!takt_planner_has_room(p)) {
        f->reads_a = true;
        f->rows = block_rows(f, f->info->rows, false);
    }
    takt_cpu_fit(p, &f->cut, f->shape.batch * f->shape.positions, set_cut, f);
    return TAKT_OK;
}

/* Whether it gathers patches of so few channels that products of 16 bits are slower than f32. */
static bool is_meagre(const takt_conv_shape *c)
{
    return !takt_conv_is_pointwise(c) && c->cin * c->cout < TAKT_NARROW_CHANNELS;
}

/* A kernel of f32, or of 16 bits where requested; also chooses how weights are packed. */
static const takt_kernel *choose_kernel(takt_planner *p, takt_conv_product *f)
{
    const takt_id weights = p->graph->nodes[p->group->nodes[0]].in[1];
    f->narrow = takt_narrow_of(p, weights, sizeof(float));
    const bool is_slow = is_meagre(&f->shape);
    const takt_kernel *fast = NULL;
    if (f->shape.dtype == TAKT_F32 && !is_slow)
        fast = takt_narrow_fast(p, weights, f->shape.batch * f->shape.positions, &f->narrow);
    if (is_slow && p->settings->is_fast)
        takt_planner_lacks_fast(p, "numerics fast: so few channels are faster in f32");
    return fast != NULL ? fast : takt_planner_kernel(p, "gemm_f32");
}

/* Patches are gathered, or a product would be of few rows and columns, most of a tile wasted; the
 * weights are f32, and no other blocks are requested. */
static bool is_plain(takt_planner *p, const takt_conv_product *f)
{
    const takt_id w = p->graph->nodes[p->group->nodes[0]].in[1];
    const bool is_small = f->shape.cin <= SMALL_ROW && takt_conv_near_is_thin(&f->shape);
    return (!f->is_direct || is_small) && f->blocking == NULL && f->narrow.fast == NULL &&
           !takt_is_narrow(&f->narrow) &&
           (takt_planner_is_constant(p, f->narrow.from) || f->narrow.from == w) &&
           !takt_planner_in_prologue(p);
}

/* One line with channels last, without holes, as frames of a sound are: a patch is contiguous in x,
 * or in a copy with its border, and begins a stride after the previous one. Not where zeros follow
 * a patch: a sum that underflows to -0 is +0 with them, whichever step computes it. */
static void find_frames(takt_conv_product *f)
{
    const takt_conv_shape *c = &f->shape;
    f->row = c->x_at[2] * (f->is_direct ? 1 : c->stride[2]);
    if (f->is_direct || c->dtype != TAKT_F32 || !c->is_nhwc || c->groups != 1 || c->batch != 1 ||
        c->out[2] == 0 || c->k_row != c->k || (c->dilation[2] != 1 && c->kernel[2] != 1))
        return;
    for (int i = 0; i < 2; i++)
        if (c->in[i] != 1 || c->kernel[i] != 1 || c->before[i] != 0 || c->out[i] != 1)
            return;
    const bool is_inside =
        c->before[2] == 0 && (c->out[2] - 1) * c->stride[2] + c->kernel[2] <= c->in[2];
    f->is_padded = !is_inside && line_floats(c, c->out[2]) <= PATCH_BYTES / sizeof(float);
    f->is_direct = is_inside || f->is_padded;
}

takt_status takt_conv_compile(takt_planner *p, takt_id first)
{
    if (!takt_conv_is_f32(takt_type_of(p->graph, p->group->nodes[0])->dtype))
        return takt_conv_generic_compile(p);
    takt_conv_product *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->shape = takt_conv_shape_of(p->graph, p->group->nodes[0]);
    const takt_kernel *gemm = choose_kernel(p, f);
    const takt_gemm_f32_info *info = gemm->info; /* gemm_bf16's begins with the same fields */
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    f->is_direct = takt_conv_is_pointwise(&f->shape);
    const takt_gemm_bf16_info *bf16 = takt_narrow_bf16(&f->narrow);
    if (bf16 != NULL && !f->is_direct && takt_conv_image_fits(&f->shape, bf16))
        return takt_conv_image_compile(p, gemm, &f->narrow);
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    f->ways = takt_cpu_ways(p);
    if (is_plain(p, f) && takt_conv_near_fits(p, &f->shape))
        return takt_conv_near_compile(p, TAKT_NONE, first);
    if (is_plain(p, f) && !f->is_direct && takt_conv_groups_fits(p, &f->shape))
        return takt_conv_groups_compile(p);
    find_frames(f);
    f->shape.k_row = f->is_direct || takt_conv_has_one_tap(&f->shape) ? f->shape.k : f->shape.k_row;
    f->grain = info->rows;
    f->info = info;
    f->rows = block_rows(f, info->rows, true);
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_inner(p, f->shape.groups * f->shape.cout, &f->end));
    TAKT_TRY(takt_conv_output(p, first));
    f->is_first = first != TAKT_NONE;
    takt_conv_product_tile(f);
    const bool rounds = takt_conv_product_rounds(f);
    if (rounds)
        takt_conv_memory_blocks(p, f->shape.dtype, f->is_direct, f->is_packed, &f->memory);
    else
        takt_conv_memory_plan(p, f->shape.dtype, f->is_packed ? 1 : -1, &f->memory);
    TAKT_TRY(set_tasks(p, f));
    p->step->data = f;
    p->step->run = takt_conv_product_run;
    const bool is_narrow = f->shape.dtype != TAKT_F32;
    if (!f->is_packed || (is_narrow && !rounds))
        p->step->before = takt_conv_product_before;
    if (rounds && !f->is_direct) {
        p->step->prepare = takt_conv_product_prepare;
        p->step->prepare_count = takt_conv_widen_tasks(p, &f->memory);
    }
    p->step->after = is_narrow && !rounds ? takt_conv_product_after : NULL;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    return takt_conv_compile(p, TAKT_NONE);
}

const takt_cpu_kind takt_cpu_conv = {.name = "conv",
                                     .work = TAKT_WORK_PRODUCT,
                                     .family = TAKT_FAMILY_CONV,
                                     .accepts = accepts,
                                     .absorbs = absorbs,
                                     .compile = compile};
