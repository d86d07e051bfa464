/* fusion.c - what fusing a node into the step before it saves, and the record of it.
 *
 * The estimate is a cost model, not a measurement: a step takes as long as its arithmetic or its
 * memory traffic, whichever is longer, plus a small overhead per step. Fusing saves the traffic of
 * the intermediate value and one step. */
#include "plan/fusion.h"

#include "base/mem.h"
#include "plan/finish.h"

double takt_machine_us(const takt_machine *m, const takt_cost *c)
{
    const double by_flops = c->flops / m->flops_per_us, by_bytes = c->bytes / m->bytes_per_us;
    return m->step_us + (by_flops > by_bytes ? by_flops : by_bytes);
}

/* Its read is saved, and its write too if it has no other readers. */
static double bytes_saved(const takt_builder *b, takt_id from)
{
    size_t bytes = 0;
    (void)takt_type_bytes(takt_type_of(b->p.graph, from), &bytes);
    return (b->uses[from] == 1 ? 2.0 : 1.0) * (double)bytes;
}

takt_fusion takt_fusion_estimate(const takt_builder *b, takt_id node, takt_id from,
                                 const takt_cost *step)
{
    takt_cost own = {0};
    const takt_machine *m = takt_builder_machine(b, takt_builder_backend(b, node));
    takt_add_cost(b->p.graph, node, &own);
    const double saved = bytes_saved(b, from);
    takt_cost both = {step->flops + own.flops, step->bytes + own.bytes - saved};
    both.bytes = both.bytes > 0 ? both.bytes : 0;
    return (takt_fusion){.node = node,
                         .from = from,
                         .bytes = saved,
                         .gain = (takt_machine_us(m, step) + takt_machine_us(m, &own)) /
                                 takt_machine_us(m, &both)};
}

takt_fusion takt_fusion_between(const takt_builder *b, takt_id node, takt_id from,
                                const takt_cost *step, const takt_cost *other)
{
    const takt_machine *m = takt_builder_machine(b, takt_builder_backend(b, node));
    const double all = step->bytes + other->bytes, saved = bytes_saved(b, from);
    const takt_cost both = {step->flops + other->flops, all > saved ? all - saved : 0};
    return (takt_fusion){.node = node,
                         .from = from,
                         .bytes = all > saved ? saved : all,
                         .gain = (takt_machine_us(m, step) + takt_machine_us(m, other)) /
                                 takt_machine_us(m, &both)};
}

void takt_fusion_join(const takt_builder *b, const takt_fusion *fusion, takt_cost *step)
{
    takt_add_cost(b->p.graph, fusion->node, step);
    step->bytes -= fusion->bytes < step->bytes ? fusion->bytes : step->bytes;
}

void takt_fusion_note(takt_builder *b, const takt_fusion *fusion)
{
    void *array = b->fusions;
    if (takt_mem_grow(b->p.ctx, &array, &b->fusion_capacity, b->fusion_count + 1,
                      sizeof *b->fusions) != TAKT_OK)
        return; /* a line of an explanation is lost, never the plan */
    b->fusions = array;
    b->fusions[b->fusion_count++] = *fusion;
}
