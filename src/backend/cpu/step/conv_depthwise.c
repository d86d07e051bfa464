/* conv_depthwise.c - a 1x1 convolution and its only reader, a depthwise one, line by line.
 *
 * The value between them is several times as large as what goes in and what comes out. Some lines
 * of it are computed into a ring in the worker's scratch, where the depthwise convolution reads
 * them while they are in cache; the whole value never exists. Lines at the border of two tasks are
 * computed by both. Every element has the bits of two separate steps.
 */
#include "backend/cpu/conv/depthwise.h"
#include "backend/cpu/conv/patch.h"

enum {
    RING_BYTES = 256 << 10,  /* of lines that are kept */
    BETWEEN_BYTES = 1 << 20, /* for each thread: smaller values stay in cache anyway */
    LINES_MIN = 2,           /* lines of outputs at a time at least */
    TWICE = 8                /* at most one in this many lines is computed twice */
};

typedef struct facts {
    takt_conv_shape shape; /* of the 1x1 convolution */
    takt_conv_end end;     /* and its epilogue */
    takt_gemm_f32_fn *run;
    const takt_gemm_blocking *blocking; /* set by the caller, or NULL */
    takt_panels panels;
    size_t w;               /* index into step->in */
    takt_cpu_lines lines;   /* the depthwise convolution, and its epilogue */
    size_t lines_at_once;   /* of outputs */
    size_t slots;           /* lines of the ring */
    size_t ring, registers; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    (void)g;
    (void)node;
    return ""; /* only groups with two anchors */
}

/* ---- what is joined ---- */

static bool is_pointwise(const takt_conv_shape *c)
{
    return takt_conv_is_pointwise(c) && c->dtype == TAKT_F32 && c->groups == 1 && c->k > 0;
}

static bool has_lines(const takt_conv_shape *c)
{
    return c->in[0] == 1 && c->kernel[0] == 1 && c->before[0] == 0 && c->dilation[1] == 1 &&
           c->stride[1] <= c->kernel[1] && c->kernel[1] <= TAKT_DEPTHWISE_LINES;
}

/* Known at plan time, and not stored in 16 bits. */
static bool has_plain_weights(const takt_planner *p, takt_id node)
{
    const takt_id w = p->graph->nodes[node].in[1];
    return p->is_constant[w] && p->graph->nodes[w].op != &takt_op_cast;
}

static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    const takt_graph *g = p->graph;
    const takt_id first = group->nodes[0];
    if (g->nodes[node].op != &takt_op_conv || g->nodes[first].op != &takt_op_conv ||
        !takt_conv_is_depthwise(g, node))
        return "";
    const takt_conv_shape a = takt_conv_shape_of(g, first), b = takt_conv_shape_of(g, node);
    if (!is_pointwise(&a) || !has_lines(&b))
        return "";
    if (!has_plain_weights(p, first) || !has_plain_weights(p, node) || p->settings->is_fast)
        return "the convolutions' weights are not f32 constants";
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    if (a.batch * a.positions / threads < BETWEEN_BYTES / sizeof(float) / a.cout)
        return "the value between the convolutions is small enough to stay near";
    const size_t twice = threads > 1 ? b.kernel[1] - b.stride[1] : 0;
    if (b.batch * b.out[1] / threads * b.stride[1] < TWICE * twice)
        return "too many lines would be computed twice";
    return NULL;
}

/* ---- running ---- */

static float *ring_at(const facts *f, const takt_task *t, size_t line)
{
    const size_t floats = f->shape.in[2] * f->shape.cout;
    return (float *)(void *)((char *)t->scratch_own + f->ring) + line % f->slots * floats;
}

/* Lines [first, end) of the value between, counted through all samples, into the ring. */
static void make_lines(const takt_step *s, const takt_task *t, size_t first, size_t end)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->shape;
    for (size_t line = first, next; line < end; line = next) {
        next = line + f->slots - line % f->slots; /* where the ring wraps around */
        next = next < end ? next : end;
        takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, line * c->in[2], 0);
        takt_epilogue_f32 epilogue;
        const bool ends = takt_conv_end_for(&ending, &epilogue);
        takt_gemm_f32 g = {.m = (next - line) * c->in[2],
                           .n = c->cout,
                           .k = c->k,
                           .a = (const float *)takt_view_data(t, &s->in[0]) +
                                line * c->in[2] * c->cin,
                           .a_row = c->cin,
                           .a_col = 1,
                           .b = takt_view_data(t, &s->in[f->w]),
                           .b_n = c->cout,
                           .c = ring_at(f, t, line),
                           .ldc = c->cout,
                           .scratch = t->scratch_own,
                           .blocking = f->blocking};
        takt_epilogue_product(f->run, &g, ends ? &epilogue : NULL);
    }
}

/* The lines that `lines` outputs from line `row` on read, with the numbering of make_lines. */
static void find_span(const takt_conv_shape *c, size_t row, size_t lines, size_t *first,
                      size_t *end)
{
    const size_t sample = row / c->out[1] * c->in[1], at = row % c->out[1] * c->stride[1];
    const size_t top = at + (lines - 1) * c->stride[1] + c->kernel[1];
    const size_t low = at < c->before[1] ? 0 : at - c->before[1];
    const size_t high = top < c->before[1] ? 0 : top - c->before[1];
    *first = sample + (low < c->in[1] ? low : c->in[1]);
    *end = sample + (high < c->in[1] ? high : c->in[1]);
}

/* For every output line the rows that it reads, NULL where they are padding. */
static void find_rows(const facts *f, const takt_task *t, size_t row, size_t lines)
{
    const takt_conv_shape *c = &f->lines.shape;
    const float **rows = takt_lines_rows(&f->lines, t);
    const size_t sample = row / c->out[1] * c->in[1], at = row % c->out[1] * c->stride[1];
    for (size_t i = 0; i < (lines - 1) * c->stride[1] + c->kernel[1]; i++) {
        const bool inside = at + i >= c->before[1] && at + i - c->before[1] < c->in[1];
        rows[i] = inside ? ring_at(f, t, sample + at + i - c->before[1]) : NULL;
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->lines.shape;
    takt_depthwise_f32 d;
    takt_lines_begin(&f->lines, s, t, &d);
    size_t row, end, made = 0;
    takt_cpu_share(c->batch * c->out[1], f->lines.grain, t->index, s->task_count, &row, &end);
    for (; row < end && !takt_poll_stops(t->poll); row += d.lines) {
        const size_t plane = c->out[1] - row % c->out[1];
        size_t first, last;
        d.lines = end - row < plane ? end - row : plane;
        d.lines = d.lines < f->lines_at_once ? d.lines : f->lines_at_once;
        find_span(c, row, d.lines, &first, &last);
        make_lines(s, t, first > made ? first : made, last);
        made = last > made ? last : made;
        find_rows(f, t, row, d.lines);
        takt_lines_run(&f->lines, s, t, &d, row);
    }
}

/* ---- compiling ---- */

static takt_status pack_constant(void *user, const void *from, void *to)
{
    const facts *f = user;
    takt_conv_pack_weights(&f->shape, f->panels, from, to);
    return TAKT_OK;
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    size_t x, floats;
    TAKT_TRY(takt_planner_input(p, n->in[0], &x));
    if (!takt_conv_packed_floats(&f->shape, f->panels, &floats))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW,
                         "the packed weights of a convolution are too large");
    return takt_planner_packed(p, n->in[1], "conv nhwc groups=1", floats * sizeof(float),
                               pack_constant, f, &f->w);
}

/* As many lines at a time as the ring has room for. */
static void choose_lines(facts *f)
{
    const takt_conv_shape *c = &f->lines.shape;
    const size_t line = f->shape.in[2] * f->shape.cout * sizeof(float);
    size_t lines = TAKT_DEPTHWISE_LINES - 1;
    while (lines > LINES_MIN && ((lines - 1) * c->stride[1] + c->kernel[1]) * line > RING_BYTES)
        lines--;
    f->lines_at_once = lines;
    f->slots = (lines - 1) * c->stride[1] + c->kernel[1];
}

static size_t kernel_bytes(const facts *f, const takt_gemm_f32_info *info)
{
    const takt_conv_shape *c = &f->shape;
    size_t most = 0;
    for (size_t lines = 1; lines <= f->slots; lines++) {
        const takt_gemm_f32 g = {.m = lines * c->in[2],
                                 .n = c->cout,
                                 .k = c->k,
                                 .a_row = c->cin,
                                 .a_col = 1,
                                 .blocking = f->blocking};
        const size_t bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static takt_status compile_halves(takt_planner *p, facts *f, const takt_group *whole)
{
    const takt_group first = {.nodes = whole->nodes, .count = whole->anchor};
    const takt_group second = {.nodes = whole->nodes + whole->anchor,
                               .count = whole->count - whole->anchor};
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    takt_step *s = p->step;
    p->group = &first;
    f->shape = takt_conv_shape_of(p->graph, whole->nodes[0]);
    f->shape.k_row = f->shape.k;
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    f->run = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    f->lines.shape = takt_conv_shape_of(p->graph, second.nodes[0]);
    choose_lines(f);
    TAKT_TRY(add_operands(p, f));
    TAKT_TRY(takt_conv_end_inner(p, f->shape.cout, &f->end));
    f->ring = kernel_bytes(f, info);
    f->registers =
        f->ring + takt_cpu_aligned(f->slots * f->shape.in[2] * f->shape.cout * sizeof(float));
    s->scratch_each = f->registers + takt_conv_end_scratch(&f->end);
    p->group = &second;
    return takt_lines_compile(p, &f->lines);
}

static takt_status compile(takt_planner *p)
{
    const takt_group *whole = p->group;
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    const takt_status status = compile_halves(p, f, whole);
    p->group = whole;
    TAKT_TRY(status);
    p->step->data = f;
    p->step->run = run;
    const size_t tasks = takt_lines_tasks(p, &f->lines);
    p->step->task_count = tasks < threads ? tasks : threads;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_conv_depthwise = {.name = "conv_depthwise",
                                               .family = TAKT_FAMILY_CONV,
                                               .accepts = accepts,
                                               .absorbs = takt_epilogue_absorbs,
                                               .continues = continues,
                                               .compile = compile};
