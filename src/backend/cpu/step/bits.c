/* bits.c - bools as bits of words, and back. */
#include "op/util/bits.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/bits_u64/bits_u64.h"

typedef struct facts {
    takt_bit_rows r;
    bool is_packing;
    takt_bits_u64_fn *kernel;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_pack_bits || op == &takt_op_unpack_bits ? NULL : "";
}

/* `bools` of row `row` from the one numbered `at` on, a multiple of 64. */
static void part(const facts *f, const void *in, void *out, size_t row, size_t at, size_t bools)
{
    const size_t bytes = row * f->r.bools + at, words = row * f->r.words + at / 64;
    takt_bits_u64 job = {.job = f->is_packing ? TAKT_BITS_PACK : TAKT_BITS_UNPACK, .k = bools};
    if (f->is_packing) {
        job.x = (const uint8_t *)in + bytes;
        job.c = (uint64_t *)out + words;
    } else {
        job.a = (const uint64_t *)in + words;
        job.y = (uint8_t *)out + bytes;
    }
    f->kernel(&job);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *in = takt_view_data(t, &s->in[0]);
    void *out = takt_view_data(t, &s->out[0]);
    takt_pace pace = takt_pace_of(t);
    size_t first, end;
    takt_cpu_share(f->r.rows, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++)
        for (size_t at = 0; at < f->r.bools; at += TAKT_PACE) {
            const size_t left = f->r.bools - at, bools = left < TAKT_PACE ? left : TAKT_PACE;
            part(f, in, out, i, at, bools);
            if (takt_pace_stops(&pace, bools))
                return;
        }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_type *in = takt_type_of(p->graph, n->in[0]);
    f->is_packing = n->op == &takt_op_pack_bits;
    f->r = f->is_packing ? takt_bit_rows_of(n->type, in) : takt_bit_rows_of(in, n->type);
    f->kernel = takt_kernel_as_bits_u64(takt_planner_kernel(p, "bits_u64"));
    p->step->run = run;
    p->step->data = f;
    const double count = (double)f->r.rows * (double)f->r.bools;
    p->step->task_count = takt_cpu_tasks(p, count, 1.125 * count, f->r.rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_bits = {
    .name = "bits", .family = TAKT_FAMILY_MAP, .accepts = accepts, .compile = compile};
