/* roofline.c - the floor of a step: the slower of its arithmetic and its memory traffic. */
#include "measure/roofline.h"

#include <math.h>
#include <string.h>

#include "plan/finish.h"

static double view_bytes(const takt_view *v)
{
    double elements = 1;
    for (int i = 0; i < v->rank; i++)
        elements *= (double)v->dim[i];
    return elements * takt_dtype_bits(v->dtype) / 8;
}

static bool is_constant(const takt_plan *plan, const takt_view *v)
{
    return v->buffer < plan->buffer_count && plan->buffers[v->buffer].place == TAKT_PLACE_CONSTANT;
}

/* The rate of `threads` threads, from those of `one` and `all`. */
static double scaled(double one, double all, int threads, int most)
{
    return threads >= most ? all : fmin(all > 0 ? all : one, one * threads);
}

static double arithmetic_peak(const takt_step *s, const takt_ceilings *c, int threads)
{
    const takt_view *v = s->in_count > 0 ? &s->in[0] : s->out_count > 0 ? &s->out[0] : NULL;
    const takt_dtype type = v != NULL ? v->dtype : TAKT_F32;
    const takt_ceiling *one = &c->one, *all = &c->all;
    if (type == TAKT_F64)
        return scaled(one->f64_gflops, all->f64_gflops, threads, all->threads);
    if ((type == TAKT_I8 || type == TAKT_U8) && s->facts.arithmetic == TAKT_I8)
        return scaled(one->int8_gops, all->int8_gops, threads, all->threads);
    if (s->facts.arithmetic == TAKT_BF16 && one->bf16_gflops > 0)
        return scaled(one->bf16_gflops, all->bf16_gflops, threads, all->threads);
    if (s->facts.arithmetic == TAKT_F16 && one->f16_gflops > 0)
        return scaled(one->f16_gflops, all->f16_gflops, threads, all->threads);
    return scaled(one->f32_gflops, all->f32_gflops, threads, all->threads);
}

static double bandwidth(const takt_ceilings *c, int level, int threads)
{
    return scaled(takt_ceilings_read_gbs(c, level, false), takt_ceilings_read_gbs(c, level, true),
                  threads, c->all.threads);
}

/* For bytes that are read and written one for one, both counted; the read rate if copying was not
 * measured. */
static double copy_bandwidth(const takt_ceilings *c, int level, int threads)
{
    for (int i = level; i < TAKT_LEVELS; i++)
        if (c->one.copy_gbs[i] > 0)
            return scaled(c->one.copy_gbs[i], c->all.copy_gbs[i], threads, c->all.threads);
    return bandwidth(c, level, threads);
}

typedef struct traffic {
    double weights, read, written; /* constants, other inputs, results */
} traffic;

/* A gather reads a part of its largest operand; its cost knows how much. */
static traffic count_bytes(const takt_plan *plan, const takt_step *s)
{
    traffic t = {0};
    double largest = 0;
    bool is_weight = false;
    for (size_t i = 0; i < s->in_count; i++) {
        const double bytes = view_bytes(&s->in[i]);
        const bool constant = is_constant(plan, &s->in[i]);
        *(constant ? &t.weights : &t.read) += bytes;
        if (bytes > largest) {
            largest = bytes;
            is_weight = constant;
        }
    }
    for (size_t i = 0; i < s->out_count; i++)
        t.written += view_bytes(&s->out[i]);
    const double cost = takt_step_cost(plan, s).bytes;
    const double unread = t.weights + t.read + t.written - cost;
    if (cost > 0 && unread > 0)
        *(is_weight ? &t.weights : &t.read) -= fmin(unread, largest);
    const double rest = t.weights + t.read + t.written;
    if (cost > 0 && rest > cost) { /* less than its other operands */
        const double part = cost / rest;
        t = (traffic){t.weights * part, t.read * part, t.written * part};
    }
    return t;
}

double takt_roof_weights(const takt_plan *plan, const takt_step *step)
{
    return count_bytes(plan, step).weights;
}

/* Weights stream in from `far`; the rest is in near caches: bytes read and written in equal amounts
 * count as a copy, the remainder as reads. */
static void fill_memory(takt_roof *roof, const traffic *t, const takt_ceilings *c, int far,
                        int near)
{
    const double far_gbs = bandwidth(c, far, roof->threads);
    const double near_gbs = bandwidth(c, near, roof->threads);
    const double copy_gbs = copy_bandwidth(c, near, roof->threads);
    if (!(far_gbs > 0 && near_gbs > 0 && copy_gbs > 0))
        return;
    const double both = fmin(t->read, t->written);
    const double near_ns =
        2 * both / copy_gbs + (t->read - both) / near_gbs + (t->written - both) / copy_gbs;
    const double far_ns = t->weights / far_gbs;
    roof->level = far_ns > near_ns ? far : near;
    roof->memory_ns = far_ns + near_ns;
    roof->gbs = roof->memory_ns > 0 ? roof->bytes / roof->memory_ns : near_gbs;
}

void takt_roof_of(const takt_plan *plan, const takt_step *s, const takt_ceilings *c,
                  takt_roof *roof)
{
    const traffic t = count_bytes(plan, s);
    *roof = (takt_roof){.flops = takt_step_cost(plan, s).flops,
                        .bytes = t.weights + t.read + t.written};
    roof->threads = s->task_count > 1 ? plan->threads : 1;
    if (c == NULL || takt_roof_is_away(s)) /* the host's ceilings are not a device's */
        return;
    const double each = roof->threads;
    const double footprint =
        (double)(plan->weight_bytes + plan->packed_bytes + plan->arena_bytes + plan->io_bytes);
    fill_memory(roof, &t, c, takt_ceilings_level(c, footprint / each),
                takt_ceilings_level(c, roof->bytes / each));
    roof->gflops = arithmetic_peak(s, c, roof->threads);
    roof->compute_ns = roof->gflops > 0 ? roof->flops / roof->gflops : 0;
    roof->floor_ns = fmax(roof->compute_ns, roof->memory_ns);
}

/* ---- a device ---- */

bool takt_roof_is_away(const takt_step *s)
{
    return s->space != 0 || s->transfer.way != TAKT_COPY_NONE;
}

takt_device_peaks takt_device_peaks_of(const takt_device_rate *rates, size_t count)
{
    takt_device_peaks d = {0};
    const struct {
        const char *key;
        double *to;
    } keys[] = {{"f32_flops", &d.flops},       {"read_bytes_per_s", &d.read},
                {"copy_bytes_per_s", &d.copy}, {"l2_bytes_per_s", &d.near},
                {"up_bytes_per_s", &d.up},     {"down_bytes_per_s", &d.down}};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strcmp(rates[i].key, keys[k].key) == 0)
                *keys[k].to = rates[i].value * 1e-9;
        if (strcmp(rates[i].key, "launch_s") == 0)
            d.launch_ns = rates[i].value * 1e9;
    }
    return d;
}

/* Constants come from the level that holds the whole plan's memory, the rest from the level that
 * holds the step's. */
static void fill_device_memory(const takt_plan *plan, const takt_step *s, const traffic *t,
                               const takt_device_peaks *d, takt_roof *roof)
{
    const takt_plan_space *space = &plan->space[s->space];
    const double all = (double)(space->constants + space->state + space->arena);
    const bool is_far = all > TAKT_DEVICE_NEAR, is_long = roof->bytes > TAKT_DEVICE_NEAR;
    const double far = is_far ? d->read : d->near;
    const double near = !is_long ? d->near : t->written > 0 ? d->copy : d->read;
    if (!(far > 0 && near > 0))
        return;
    const double far_ns = t->weights / far, near_ns = (t->read + t->written) / near;
    roof->away = (far_ns > near_ns ? is_far : is_long) ? "HBM" : "L2";
    roof->memory_ns = far_ns + near_ns;
}

void takt_roof_of_device(const takt_plan *plan, const takt_step *s, const takt_device_peaks *d,
                         takt_roof *roof)
{
    const traffic t = count_bytes(plan, s);
    *roof = (takt_roof){.flops = takt_step_cost(plan, s).flops,
                        .bytes = t.weights + t.read + t.written,
                        .threads = 1,
                        .away = "unknown",
                        .launch_ns = d->launch_ns};
    if (s->transfer.way != TAKT_COPY_NONE) {
        const takt_copy way = s->transfer.way;
        const double rate = way == TAKT_COPY_UP ? d->up : way == TAKT_COPY_DOWN ? d->down : d->copy;
        roof->bytes = (double)s->transfer.bytes;
        roof->away = way == TAKT_COPY_WITHIN ? "HBM" : "PCIe";
        roof->memory_ns = rate > 0 ? roof->bytes / rate : 0;
    } else {
        fill_device_memory(plan, s, &t, d, roof);
    }
    roof->gflops = d->flops;
    roof->compute_ns = d->flops > 0 ? roof->flops / d->flops : 0;
    roof->floor_ns = fmax(roof->compute_ns, roof->memory_ns);
    roof->gbs = roof->memory_ns > 0 ? roof->bytes / roof->memory_ns : 0;
}

takt_bound takt_roof_kind(const takt_roof *roof, double ns)
{
    if (roof->away != NULL && !(roof->floor_ns > 0))
        return TAKT_BOUND_UNKNOWN;
    if (roof->away != NULL ? roof->floor_ns < roof->launch_ns
                           : roof->floor_ns < 0.2 * ns && ns < 3000)
        return TAKT_BOUND_OVERHEAD;
    return roof->compute_ns >= roof->memory_ns ? TAKT_BOUND_COMPUTE : TAKT_BOUND_MEMORY;
}

static const char *const words[] = {[TAKT_BOUND_UNKNOWN] = "unknown",
                                    [TAKT_BOUND_OVERHEAD] = "overhead",
                                    [TAKT_BOUND_COMPUTE] = "compute"};
static const char *const device_words[] = {[TAKT_BOUND_UNKNOWN] = "unknown",
                                           [TAKT_BOUND_OVERHEAD] = "launch",
                                           [TAKT_BOUND_COMPUTE] = "FMA"};

const char *takt_roof_bound(const takt_roof *roof, double ns)
{
    const takt_bound kind = takt_roof_kind(roof, ns);
    if (roof->away != NULL)
        return kind == TAKT_BOUND_MEMORY ? roof->away : device_words[kind];
    return kind == TAKT_BOUND_MEMORY ? takt_level_names[roof->level] : words[kind];
}

takt_bound takt_bound_read(const char *word)
{
    if (word == NULL || *word == '\0')
        return TAKT_BOUND_UNKNOWN;
    for (int i = TAKT_BOUND_UNKNOWN; i < TAKT_BOUND_MEMORY; i++)
        if (strcmp(word, words[i]) == 0 || strcmp(word, device_words[i]) == 0)
            return (takt_bound)i;
    return TAKT_BOUND_MEMORY;
}
