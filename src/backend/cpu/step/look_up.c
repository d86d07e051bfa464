/* look_up.c - table lookup: byte tables with the kernel that requantize uses, others element by
 * element. */
#include "backend/cpu/flat.h"
#include "backend/cpu/pace.h"
#include "kernel/affine_f32/affine_f32.h"

enum { X, TABLE };

typedef struct facts {
    size_t count, entry_bytes;
    bool is_wide;              /* x has 16 bits */
    takt_affine_f32_fn *bytes; /* NULL: not by the kernel */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_look_up;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* Elements [first, end) by a table of unsigned integers of the entries' size. */
#define COPY(name, entry)                                                                          \
    static void name(const void *x, bool is_wide, const entry *table, entry *y, size_t first,      \
                     size_t end)                                                                   \
    {                                                                                              \
        const uint16_t *wide = x;                                                                  \
        const uint8_t *narrow = x;                                                                 \
        if (is_wide)                                                                               \
            for (size_t i = first; i < end; i++)                                                   \
                y[i] = table[wide[i]];                                                             \
        else                                                                                       \
            for (size_t i = first; i < end; i++)                                                   \
                y[i] = table[narrow[i]];                                                           \
    }
COPY(copy_8, uint8_t)
COPY(copy_16, uint16_t)
COPY(copy_32, uint32_t)
COPY(copy_64, uint64_t)

static void look_up(const facts *f, const void *x, const void *table, void *y, size_t first,
                    size_t end)
{
    if (f->bytes != NULL)
        f->bytes(&(takt_affine_f32){.kind = TAKT_AFFINE_LOOK_UP,
                                    .x = (const uint8_t *)x + first,
                                    .y = (uint8_t *)y + first,
                                    .n = end - first,
                                    .table = table});
    else if (f->entry_bytes == 1)
        copy_8(x, f->is_wide, table, y, first, end);
    else if (f->entry_bytes == 2)
        copy_16(x, f->is_wide, table, y, first, end);
    else if (f->entry_bytes == 4)
        copy_32(x, f->is_wide, table, y, first, end);
    else
        copy_64(x, f->is_wide, table, y, first, end);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[X]), *table = takt_view_data(t, &s->in[TABLE]);
    void *y = takt_view_data(t, &s->out[0]);
    size_t first, last, end;
    takt_cpu_share(f->count, TAKT_FLAT_GRAIN, t->index, s->task_count, &first, &last);
    for (; first < last && !takt_poll_stops(t->poll); first = end) {
        end = last - first < TAKT_PACE ? last : first + TAKT_PACE;
        look_up(f, x, table, y, first, end);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_cpu_flat(p, 8, &f->count));
    f->entry_bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    f->is_wide = takt_dtype_bits(takt_type_of(p->graph, n->in[X])->dtype) == 16;
    if (!f->is_wide && f->entry_bytes == 1)
        f->bytes = takt_kernel_as_affine_f32(takt_planner_kernel(p, "affine_f32"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_look_up = {.name = "look_up",
                                        .family = TAKT_FAMILY_MAP,
                                        .accepts = accepts,
                                        .keeps = keeps,
                                        .compile = compile};
