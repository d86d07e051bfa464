/* lengths.c - value-dependent sizes: their bounds, and the sizes that a plan is made for. */
#include <string.h>

#include "api/lengths.h"
#include "api/model.h"
#include "base/mem.h"
#include "base/written.h"
#include "ir/leaves.h"
#include "op/util/length.h"

/* The caller's ranges by index of names, high -1 where none was given; `any` for all others, -1 if
 * there is none. */
typedef struct said {
    takt_size_range *ranges;
    int64_t any;
} said;

/* What is known so far, by index of names. */
typedef struct known {
    const takt_graph *model;
    takt_size_range *ranges;
    int64_t *tops;
    size_t count;
    takt_length_span *spans; /* range of a name */
    const takt_length_frame *frame;
} known;

static bool is_number(takt_span item, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < item.length; i++) {
        if (item.at[i] < '0' || item.at[i] > '9' || *number > INT64_MAX / 10 - 1)
            return false;
        *number = 10 * *number + (item.at[i] - '0');
    }
    return item.length > 0;
}

static takt_status read_said(takt_arena *arena, const takt_dims *dims, const char *text, said *s)
{
    const size_t room = text != NULL ? strlen(text) + 1 : 1;
    char *pairs = takt_arena_array(arena, room, 1);
    size_t at = 0, count;
    s->any = -1;
    if (pairs == NULL)
        return TAKT_ERR_MEMORY;
    while (text != NULL && *text != '\0') {
        const takt_span item = {text, takt_written_length(text, ",")};
        int64_t number;
        if (is_number(item, &number)) {
            s->any = number;
        } else {
            at += at > 0;
            memcpy(pairs + at, item.at, item.length);
            pairs[at + item.length] = text[item.length] == ',' ? ',' : '\0';
            at += item.length;
        }
        text += item.length + (text[item.length] == ',');
    }
    pairs[at] = '\0';
    return takt_parse_ranges(arena, dims, pairs, &s->ranges, &count);
}

static takt_status number_of(const takt_graph *g, takt_dim d, const int64_t *tops, size_t count,
                             int64_t *out)
{
    takt_dim dim;
    TAKT_TRY(takt_dim_substitute(g->dims, d, tops, count, &dim));
    *out = takt_dim_is_number(dim) ? dim : TAKT_LENGTH_OPEN;
    return TAKT_OK;
}

static takt_status fail_open(const takt_graph *g, const takt_node *n, size_t name)
{
    takt_ctx *ctx = g->ctx;
    const char *text = takt_dims_name(g->dims, name);
    takt_fail(ctx, TAKT_E_LENGTH_OPEN, "%s is a size that values decide, and nothing bounds it",
              text);
    if (n->origin != NULL || n->name != NULL)
        (void)takt_fail_node(ctx, n->origin != NULL ? n->origin->name : n->name);
    return takt_fail_hint(ctx, "say the most that it can be: --bound %s=1000", text);
}

/* Whether an input determines its own size. */
static bool is_given(const takt_graph *g, size_t name)
{
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_type *type = takt_type_of(g, g->inputs[i].id);
        size_t index;
        for (int d = 0; d < type->rank; d++)
            if (takt_dim_is_name(g->dims, type->dim[d], &index) && index == name)
                return true;
    }
    return false;
}

/* The range of the value, if it depends on sizes only. */
static takt_status worth(const takt_graph *g, const takt_node *n, uint32_t k, const known *so_far,
                         takt_length_span *out)
{
    takt_length_span found[TAKT_MAX_RANK];
    *out = (takt_length_span){0, TAKT_LENGTH_OPEN};
    if (n->attr[TAKT_LENGTH_NAMES].count > TAKT_MAX_RANK)
        return TAKT_OK;
    for (size_t i = 0; i < TAKT_MAX_RANK; i++)
        found[i] = *out;
    TAKT_TRY(takt_length_bound(g, n->in[0], so_far->spans, so_far->count, found));
    if (found[k].high >= 0)
        *out = (takt_length_span){found[k].low > 0 ? found[k].low : 0, found[k].high};
    if (out->high != TAKT_LENGTH_OPEN)
        return TAKT_OK;
    return takt_length_hull(so_far->frame, n->in[0], so_far->spans, so_far->count, &out->high);
}

static takt_status add_length(const takt_graph *g, const takt_node *n, uint32_t k, const said *s,
                              known *so_far)
{
    takt_size_range *ranges = so_far->ranges;
    int64_t bound, top;
    size_t name;
    if (!takt_dim_is_name(g->dims, n->attr[TAKT_LENGTH_NAMES].dims[k], &name) ||
        name >= so_far->count || ranges[name].is_length || is_given(so_far->model, name))
        return TAKT_OK; /* must equal its known size, which a run checks */
    const takt_dim open = n->attr[TAKT_LENGTH_BOUNDS].dims[k];
    TAKT_TRY(number_of(g, open, so_far->tops, so_far->count, &bound));
    TAKT_TRY(number_of(g, n->attr[TAKT_LENGTH_TOPS].dims[k], so_far->tops, so_far->count, &top));
    const int64_t own = s->ranges[name].high >= 0  ? s->ranges[name].high
                        : open == TAKT_LENGTH_OPEN ? s->any
                                                   : -1;
    bound = own >= 0 && own < bound ? own : bound;
    takt_length_span span = {0, bound};
    if (bound == TAKT_LENGTH_OPEN)
        TAKT_TRY(worth(g, n, k, so_far, &span));
    bound = span.high;
    if (bound == TAKT_LENGTH_OPEN)
        return fail_open(g, n, name);
    so_far->spans[name] = span;
    ranges[name] = (takt_size_range){
        .low = 0, .high = bound, .top = top < bound ? top : bound, .is_length = true};
    so_far->tops[name] = ranges[name].top;
    return TAKT_OK;
}

/* Bodies of loops have such sizes as well; graphs nest at most limits.depth deep. */
static takt_status add_lengths(const takt_length_frame *frame, const said *s, known *so_far)
{
    const takt_graph *g = frame->g;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        so_far->frame = frame;
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            TAKT_TRY(add_length(g, n, k, s, so_far));
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
            if (n->attr[k].is_set && n->op->attrs[k].type == TAKT_ATTR_GRAPH)
                TAKT_TRY(add_lengths(&(takt_length_frame){n->attr[k].graph, n, frame}, s, so_far));
    }
    return TAKT_OK;
}

takt_status takt_lengths_range(const takt_model *m, const char *bounds, takt_arena *arena,
                               takt_size_range *ranges, size_t count)
{
    const takt_graph *g = m->graph;
    said s;
    TAKT_TRY(read_said(arena, g->dims, bounds, &s));
    int64_t *tops = takt_arena_array(arena, count + 1, sizeof *tops);
    if (tops == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        tops[i] = ranges[i].top;
    takt_length_span *spans = takt_arena_array(arena, count + 1, sizeof *spans);
    if (spans == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        spans[i] = is_given(g, i) ? (takt_length_span){ranges[i].low, ranges[i].high}
                                  : (takt_length_span){-1, -1};
    known so_far = {g, ranges, tops, count, spans, NULL};
    return add_lengths(&(takt_length_frame){.g = g}, &s, &so_far);
}
