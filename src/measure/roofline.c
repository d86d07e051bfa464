/* roofline.c - the floor of a step: the slower of its arithmetic and its memory traffic. */
#include "measure/roofline.h"

#include <math.h>
#include <string.h>

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

/* Of `one` thread and of `all`, what `threads` of them reach. */
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
    if ((type == TAKT_I8 || type == TAKT_U8) && strncmp(s->kernel, "gemm_i8", 7) == 0)
        return scaled(one->int8_gops, all->int8_gops, threads, all->threads);
    return scaled(one->f32_gflops, all->f32_gflops, threads, all->threads);
}

static double bandwidth(const takt_ceilings *c, int level, int threads)
{
    return scaled(takt_ceilings_read_gbs(c, level, false), takt_ceilings_read_gbs(c, level, true),
                  threads, c->all.threads);
}

void takt_roof_of(const takt_plan *plan, const takt_step *s, const takt_ceilings *c,
                  takt_roof *roof)
{
    double weights = 0, others = 0;
    for (size_t i = 0; i < s->in_count; i++)
        *(is_constant(plan, &s->in[i]) ? &weights : &others) += view_bytes(&s->in[i]);
    for (size_t i = 0; i < s->out_count; i++)
        others += view_bytes(&s->out[i]);
    /* A gather looks at a part of its operands; its cost knows which. */
    const double all = weights + others;
    const double part = s->cost.bytes > 0 && s->cost.bytes < all ? s->cost.bytes / all : 1;
    *roof = (takt_roof){.flops = s->cost.flops, .bytes = all * part};
    roof->threads = s->task_count > 1 ? plan->threads : 1;
    if (c == NULL)
        return;
    const double each = roof->threads;
    const double footprint =
        (double)(plan->weight_bytes + plan->packed_bytes + plan->arena_bytes + plan->io_bytes);
    const int far = takt_ceilings_level(c, footprint / each);
    const int near = takt_ceilings_level(c, all * part / each);
    const double far_gbs = bandwidth(c, far, roof->threads);
    const double near_gbs = bandwidth(c, near, roof->threads);
    roof->level = weights * near_gbs > others * far_gbs ? far : near;
    roof->gbs = roof->level == far ? far_gbs : near_gbs;
    roof->gflops = arithmetic_peak(s, c, roof->threads);
    roof->compute_ns = roof->gflops > 0 ? roof->flops / roof->gflops : 0;
    roof->memory_ns =
        far_gbs > 0 && near_gbs > 0 ? part * (weights / far_gbs + others / near_gbs) : 0;
    roof->floor_ns = fmax(roof->compute_ns, roof->memory_ns);
}

const char *takt_roof_bound(const takt_roof *roof, double ns)
{
    if (roof->floor_ns < 0.2 * ns && ns < 3000)
        return "overhead";
    return roof->compute_ns >= roof->memory_ns ? "compute" : takt_level_names[roof->level];
}
