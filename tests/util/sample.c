/* sample.c - samples of op records with values for their inputs. */
#include "util/sample.h"

#include <math.h>
#include <string.h>

/* "f32[2]" as "f64[2]": only types of inputs have a bracket after them. */
static void widen_text(const char *text, char *to, size_t size)
{
    static const char *const narrow[] = {"bf16[", "f16[", "f32["};
    size_t length = 0;
    while (*text != '\0' && length + 8 < size) {
        size_t skip = 0;
        for (size_t i = 0; i < 3 && skip == 0; i++)
            if (strncmp(text, narrow[i], strlen(narrow[i])) == 0)
                skip = strlen(narrow[i]);
        if (skip != 0) {
            memcpy(to + length, "f64[", 4);
            length += 4;
            text += skip;
        } else {
            to[length++] = *text++;
        }
    }
    to[length] = '\0';
}

static takt_id find_call(const takt_graph *g, const takt_op *op)
{
    for (size_t i = g->count; i-- > 0;)
        if (g->nodes[i].op == op)
            return (takt_id)i;
    return TAKT_NONE;
}

/* Index of the graph's input that is node `id`; sample arguments are always inputs. */
static size_t input_index(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != id)
        i++;
    return i;
}

static takt_status fill(takt_sample *s, const takt_op *op)
{
    const takt_graph *g = s->graph;
    takt_random random = {.state = takt_graph_digest(g)};
    s->node = find_call(g, op);
    if (s->node == TAKT_NONE || g->input_count > TAKT_SAMPLE_INPUTS)
        return takt_fail(s->ctx, TAKT_E_INTERNAL, "the sample has no call of %s", op->name);
    const takt_node *n = takt_node_at(g, s->node);
    s->in = takt_arena_array(&s->arena, g->input_count, sizeof *s->in);
    s->args = takt_arena_array(&s->arena, n->in_count, sizeof *s->args);
    if (s->in == NULL || s->args == NULL)
        return TAKT_ERR_MEMORY;
    for (; s->count < g->input_count; s->count++) {
        takt_type type = *takt_type_of(g, g->inputs[s->count].id);
        for (int d = 0; d < type.rank; d++)
            TAKT_TRY(takt_dim_resolve(g->dims, type.dim[d], &type.dim[d]));
        TAKT_TRY(
            takt_random_array(s->ctx, &random, &type, &s->ranges.at[s->count], &s->in[s->count]));
    }
    for (uint32_t i = 0; i < n->in_count; i++) {
        const size_t k = input_index(g, n->in[i]);
        if (n->in[i] != TAKT_NONE && k == g->input_count)
            return takt_fail(s->ctx, TAKT_E_INTERNAL, "argument %u is not an input", i);
        s->args[i] = n->in[i] == TAKT_NONE ? (takt_array){.rank = -1} : s->in[k];
    }
    return TAKT_OK;
}

takt_status takt_sample_init(takt_ctx *ctx, const takt_op *op, const char *text, bool widen,
                             takt_sample *s)
{
    char wide[2048];
    *s = (takt_sample){.ctx = ctx};
    takt_arena_init(&s->arena, ctx);
    if (widen)
        widen_text(text, wide, sizeof wide);
    TAKT_TRY(takt_sample_graph(ctx, op, widen ? wide : text, &s->graph, &s->ranges));
    const takt_status status = fill(s, op);
    if (status != TAKT_OK)
        takt_sample_deinit(s);
    return status;
}

void takt_sample_deinit(takt_sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        takt_array_release(s->ctx, &s->in[i]);
    takt_graph_destroy(s->graph);
    takt_arena_deinit(&s->arena);
    *s = (takt_sample){0};
}

double takt_array_distance(const takt_array *a, const takt_array *b)
{
    double worst = 0;
    if (a->dtype != b->dtype || a->count != b->count)
        return INFINITY;
    for (size_t k = 0; k < a->count; k++) {
        double d = 0;
        if (a->f == NULL)
            d = a->i[k] == b->i[k] ? 0 : INFINITY;
        else if (a->f[k] != b->f[k] && !(isnan(a->f[k]) && isnan(b->f[k])))
            d = fabs(a->f[k] - b->f[k]) / (1 + fabs(a->f[k]));
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    return worst;
}
