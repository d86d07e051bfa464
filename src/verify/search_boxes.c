/* search_boxes.c - the threads' data for splits of inputs. */
#include "verify/search_hunt.h"

enum { INHERITED = 4096 }; /* elements whose bounds a part keeps for its halves */

takt_status takt_hunt_boxes(takt_hunt *h)
{
    size_t count = 0;
    for (size_t i = 0; i < h->net->count; i++)
        if (h->net->nodes[i].is_used && h->net->nodes[i].is_refined)
            count += h->net->nodes[i].count;
    h->has_reach = count <= INHERITED;
    if (h->o->keeps_slopes)
        return TAKT_OK;
    h->node_count = h->has_reach ? count : 0;
    h->joints = takt_arena_array(&h->s->arena, (size_t)h->threads, sizeof *h->joints);
    h->samples = takt_arena_array(&h->s->arena, (size_t)h->threads, sizeof *h->samples);
    if (h->joints == NULL || h->samples == NULL)
        return TAKT_ERR_MEMORY;
    for (int i = 0; i < h->threads; i++)
        TAKT_TRY(takt_points_init(&h->samples[i], h->net, &h->s->arena));
    return TAKT_OK;
}

takt_status takt_hunt_reach(const takt_hunt *h, takt_region *r)
{
    const takt_net *net = h->net;
    r->input_count = h->p->input_count;
    r->reach = takt_arena_array(&r->arena, net->count, sizeof *r->reach);
    for (size_t i = 0; r->reach != NULL && i < net->count; i++)
        if (net->nodes[i].is_used && net->nodes[i].is_refined) {
            r->reach[i] = takt_arena_array(&r->arena, net->nodes[i].count * r->input_count,
                                           sizeof **r->reach);
            if (r->reach[i] == NULL)
                return TAKT_ERR_MEMORY;
        }
    return r->reach == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}
