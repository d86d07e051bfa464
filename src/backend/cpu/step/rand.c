/* rand.c - random numbers by position: Philox words, and the distributions made from them.
 *
 * Normal numbers use the element-wise kernels' own logarithm, sine and cosine in double, so their
 * bits do not depend on the C library.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "base/philox.h"
#include "kernel/convert/convert.h"
#include "kernel/map/map.h"

enum { UNIFORM, NORMAL, BITS };
enum { TILE = 128 };

typedef struct facts {
    int64_t dist;
    uint32_t stream;
    size_t count;
    takt_dtype dtype;
    takt_convert_fn *convert;
    takt_map_fn *log, *sin, *cos, *sqrt;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_rand ? NULL : "";
}

/* Cut off, not rounded: the result is never 1. */
static void uniform(takt_dtype dtype, const uint32_t *words, double *to, size_t n)
{
    const int keep = dtype == TAKT_F16 ? 11 : dtype == TAKT_BF16 ? 8 : 24;
    const double unit = 1.0 / (double)(UINT32_C(1) << keep);
    for (size_t i = 0; i < n; i++)
        to[i] = (double)(words[i] >> (32 - keep)) * unit;
}

/* Box and Muller on the pairs of words (2j, 2j + 1): `first` is even. An angle is a number of
 * quarter circles plus or minus at most an eighth: it is split in integers, so that sine and cosine
 * are accurate even where they are small. */
static void normal(const facts *f, const uint32_t *words, double *to, size_t n)
{
    double radius[TILE / 2], angle[TILE / 2], cosine[TILE / 2], sine[TILE / 2];
    static const unsigned char full[1] = {0};
    const uint32_t eighth = UINT32_C(1) << 21, quarter = UINT32_C(1) << 22;
    const size_t pairs = (n + 1) / 2;
    for (size_t j = 0; j < pairs; j++) {
        const uint32_t shifted = (words[2 * j + 1] >> 8) + eighth;
        radius[j] = 1 - takt_philox_uniform(words[2 * j]); /* in (0, 1] */
        angle[j] = 1.57079632679489661923 *
                   (((double)(shifted % quarter) - (double)eighth) / (double)quarter);
    }
    f->log(radius, (const void *[]){radius}, full, pairs, NULL);
    for (size_t j = 0; j < pairs; j++)
        radius[j] *= -2;
    f->sqrt(radius, (const void *[]){radius}, full, pairs, NULL);
    f->cos(cosine, (const void *[]){angle}, full, pairs, NULL);
    f->sin(sine, (const void *[]){angle}, full, pairs, NULL);
    for (size_t i = 0; i < n; i++) {
        const size_t j = i / 2;
        /* The cosine is the sine a quarter later. */
        const uint32_t at = ((words[2 * j + 1] >> 8) + eighth) / quarter + (i % 2 == 0);
        const double wave = at % 2 == 0 ? sine[j] : cosine[j];
        to[i] = radius[j] * (at % 4 < 2 ? wave : -wave);
    }
}

/* Elements [at, at + n); words are drawn from an even one on, so that pairs are whole. */
static void tile(const facts *f, const takt_philox_at *where, uint64_t at, size_t n, char *to)
{
    uint32_t words[TILE + 2];
    double values[TILE + 1];
    const size_t odd = (size_t)(at % 2);
    takt_philox_fill(where, at - odd, (n + odd + 1) / 2 * 2, words);
    if (f->dist == NORMAL)
        normal(f, words, values, n + odd);
    else
        uniform(f->dtype, words, values, n + odd);
    const takt_convert narrow = {.to = f->dtype, .from = TAKT_F64};
    f->convert(&narrow, to, values + odd, n);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const uint64_t *seed = takt_view_data(t, &s->in[0]), *step = takt_view_data(t, &s->in[1]);
    const uint64_t *base = takt_view_data(t, &s->in[2]);
    const takt_philox_at where = {.seed = *seed, .stream = f->stream, .step = (uint32_t)*step};
    char *to = takt_view_data(t, &s->out[0]);
    const size_t bytes = (size_t)takt_dtype_bits(f->dtype) / 8;
    size_t first, end;
    takt_cpu_share(f->count, TILE, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = first, n; f->dist == BITS && i < end; i += n) {
        n = end - i < TILE ? end - i : TILE;
        takt_philox_fill(&where, *base + i, n, (uint32_t *)(void *)to + i);
        if (takt_pace_stops(&pace, 4 * n))
            return;
    }
    if (f->dist == BITS)
        return;
    for (size_t i = first; i < end && !takt_pace_stops(&pace, 16 * TILE); i += TILE - 2) {
        const size_t n = end - i < TILE - 2 ? end - i : TILE - 2;
        tile(f, &where, *base + i, n, to + i * bytes);
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
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_kernel *map = takt_planner_kernel(p, "map_f64");
    f->log = takt_map_find(map, TAKT_MAP_LOG);
    f->sin = takt_map_find(map, TAKT_MAP_SIN);
    f->cos = takt_map_find(map, TAKT_MAP_COS);
    f->sqrt = takt_map_find(map, TAKT_MAP_SQRT);
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    f->dist = takt_node_int(n, "dist");
    f->stream = (uint32_t)takt_node_int(n, "stream");
    f->dtype = n->type->dtype;
    (void)takt_type_count(n->type, &f->count);
    p->step->run = run;
    p->step->data = f;
    p->step->task_count =
        takt_cpu_tasks(p, 50.0 * (double)f->count, 0, (f->count + TILE - 1) / TILE);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rand = {.name = "rand",
                                     .is_cheap = true,
                                     .family = TAKT_FAMILY_MAP,
                                     .accepts = accepts,
                                     .compile = compile};
