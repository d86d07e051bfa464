/* net_fold.c - fewer nodes for the same net. */
#include <string.h>

#include "verify/net.h"

/* Element by element, of one node. */
static bool is_scaled(const takt_net *net, const takt_net_node *n)
{
    const takt_net_part *p = n->parts;
    if (n->kind != TAKT_NET_SUM || n->part_count != 1 || p->form != TAKT_NET_MAP ||
        net->nodes[p->source].count != n->count)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        if (p->columns[i] != i)
            return false;
    return true;
}

static bool is_identity(const takt_net *net, const takt_net_node *n)
{
    return is_scaled(net, n) && n->parts->values == NULL && n->parts->factor == 1;
}

static bool is_direct(const takt_net *net, const takt_net_node *n)
{
    if (n->kind != TAKT_NET_SUM || n->part_count != 1)
        return false;
    const takt_net_node *s = &net->nodes[n->parts[0].source];
    while (is_scaled(net, s))
        s = &net->nodes[s->parts[0].source];
    return s->kind == TAKT_NET_INPUT;
}

static bool is_exact(const takt_net_node *n)
{
    return n->gamma == 0 && n->share == 0 && n->tiny == 0;
}

static bool has_bias(const takt_net_node *n)
{
    for (uint32_t i = 0; n->bias != NULL && i < n->count; i++)
        if (n->bias[i] != 0)
            return true;
    return false;
}

static void count_uses(const takt_net *net, uint32_t *uses)
{
    memset(uses, 0, net->count * sizeof *uses);
    uses[net->output]++;
    for (size_t i = 0; i < net->count; i++) {
        const takt_net_node *n = &net->nodes[i];
        for (size_t k = 0; k < n->part_count; k++)
            uses[n->parts[k].source]++;
        if (n->kind == TAKT_NET_CURVE || n->kind == TAKT_NET_PAIR)
            uses[n->sources[0]]++;
        if (n->kind == TAKT_NET_PAIR)
            uses[n->sources[1]]++;
    }
}

/* Readers of a node that only renames read its source directly. */
static void skip_names(takt_net *net, uint32_t *alias)
{
    for (uint32_t i = 0; i < net->count; i++) {
        takt_net_node *n = &net->nodes[i];
        for (size_t k = 0; k < n->part_count; k++)
            n->parts[k].source = alias[n->parts[k].source];
        n->sources[0] = alias[n->sources[0]];
        n->sources[1] = alias[n->sources[1]];
        alias[i] = i;
        if (is_identity(net, n) && is_exact(n) && !has_bias(n))
            alias[i] = n->parts[0].source;
    }
    net->output = alias[net->output];
}

/* x + b after a product that nothing else reads: one sum, with the errors of both. */
static takt_status join_bias(takt_net *net, uint32_t *uses)
{
    count_uses(net, uses);
    for (uint32_t i = 0; i < net->count; i++) {
        takt_net_node *n = &net->nodes[i];
        if (!is_identity(net, n) || uses[n->parts[0].source] != 1)
            continue;
        takt_net_node *s = &net->nodes[n->parts[0].source];
        /* Two biases may cancel, and with them the magnitude that the first rounding is relative
         * to. */
        if (s->kind != TAKT_NET_SUM || has_bias(s))
            continue;
        double *bias = takt_arena_array(&net->arena, n->count, sizeof *bias);
        if (bias == NULL)
            return TAKT_ERR_MEMORY;
        for (uint32_t k = 0; k < n->count; k++)
            bias[k] = n->bias != NULL ? n->bias[k] : 0;
        /* The share of the product is at most that of its magnitudes, and so is gamma. */
        n->gamma += s->gamma + s->share;
        n->tiny += s->tiny;
        n->parts = s->parts;
        n->part_count = s->part_count;
        n->bias = bias;
        s->part_count = 0;
    }
    return TAKT_OK;
}

static bool is_move(const takt_net_node *n)
{
    bool moves = n->kind == TAKT_NET_SUM && n->part_count == 1 && is_exact(n) && !has_bias(n) &&
                 n->parts[0].form == TAKT_NET_MAP && n->parts[0].values == NULL &&
                 n->parts[0].factor == 1;
    for (uint32_t i = 0; moves && i < n->count; i++)
        moves = n->parts[0].columns[i] != UINT32_MAX;
    return moves;
}

static void mark(takt_net *net)
{
    for (size_t i = 0; i < net->count; i++)
        net->nodes[i].is_move = is_move(&net->nodes[i]);
    net->nodes[net->output].is_used = true;
    for (size_t i = net->count; i-- > 0;) {
        const takt_net_node *n = &net->nodes[i];
        const bool reads = n->kind == TAKT_NET_CURVE || n->kind == TAKT_NET_PAIR;
        for (size_t k = 0; n->is_used && k < n->part_count; k++)
            net->nodes[n->parts[k].source].is_used = true;
        for (int k = 0; n->is_used && reads && k < (n->kind == TAKT_NET_PAIR ? 2 : 1); k++) {
            takt_net_node *s = &net->nodes[n->sources[k]];
            s->is_used = true;
            /* Bounds of one moved element are those of the element. */
            while (s->kind == TAKT_NET_SUM && s->part_count == 1 &&
                   s->parts[0].form == TAKT_NET_MAP)
                s = &net->nodes[s->parts[0].source];
            s->is_refined = s->kind == TAKT_NET_SUM || s->kind == TAKT_NET_PAIR;
            s->is_direct = is_direct(net, s);
        }
    }
    for (size_t i = 0; i < net->port_count; i++)
        net->nodes[net->inputs[i]].is_used = true;
}

static void mark_part(const takt_net_node *n, const takt_net_part *p, bool *to, uint32_t width)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (!n->is_live[i])
            continue;
        if (p->form == TAKT_NET_DENSE) {
            memset(to, true, width * sizeof *to);
            return;
        }
        if (p->form == TAKT_NET_SPARSE)
            for (size_t e = p->starts[i]; e < p->starts[i + 1]; e++)
                to[p->columns[e]] = true;
        else if (p->columns[i] != UINT32_MAX)
            to[p->columns[i]] = true;
    }
}

/* A model that reads one token of many leaves most elements of its last layers unread. */
static takt_status mark_elements(takt_net *net)
{
    for (size_t i = 0; i < net->count; i++) {
        takt_net_node *n = &net->nodes[i];
        n->is_live =
            n->is_used ? takt_arena_array(&net->arena, n->count, sizeof *n->is_live) : NULL;
        if (n->is_used && n->is_live == NULL)
            return TAKT_ERR_MEMORY;
    }
    const takt_net_node *out = &net->nodes[net->output];
    memset(out->is_live, true, out->count * sizeof *out->is_live);
    for (size_t i = net->count; i-- > 0;) {
        const takt_net_node *n = &net->nodes[i];
        const int inputs = n->kind == TAKT_NET_PAIR ? 2 : n->kind == TAKT_NET_CURVE ? 1 : 0;
        for (size_t k = 0; n->is_used && k < n->part_count; k++) {
            const takt_net_node *s = &net->nodes[n->parts[k].source];
            mark_part(n, &n->parts[k], s->is_live, s->count);
        }
        for (int k = 0; n->is_used && k < inputs; k++)
            for (uint32_t j = 0; j < n->count; j++)
                net->nodes[n->sources[k]].is_live[j] |= n->is_live[j];
    }
    return TAKT_OK;
}

/* The only used node that reads `id`, and nothing but it; UINT32_MAX: there is none. */
static uint32_t only_reader(const takt_net *net, uint32_t id)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = id + 1; i < net->count; i++) {
        const takt_net_node *n = &net->nodes[i];
        const int inputs = n->kind == TAKT_NET_PAIR ? 2 : n->kind == TAKT_NET_CURVE ? 1 : 0;
        bool reads = false;
        for (size_t k = 0; k < n->part_count; k++)
            reads = reads || n->parts[k].source == id;
        for (int k = 0; k < inputs; k++)
            reads = reads || n->sources[k] == id;
        if (!n->is_used || !reads)
            continue;
        if (found != UINT32_MAX)
            return UINT32_MAX;
        found = i;
    }
    return found;
}

static takt_status find_entries(takt_net *net)
{
    net->entries = takt_arena_array(&net->arena, net->port_count, sizeof *net->entries);
    if (net->entries == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < net->port_count; i++) {
        uint32_t at = net->inputs[i], next = at;
        while (at != net->output && (next = only_reader(net, at)) != UINT32_MAX &&
               is_scaled(net, &net->nodes[next]))
            at = next;
        net->entries[i] = at;
        net->nodes[at].is_entry = at != net->inputs[i];
    }
    return TAKT_OK;
}

takt_status takt_net_fold(takt_net *net)
{
    uint32_t *table = takt_arena_array(&net->arena, net->count, sizeof *table);
    if (table == NULL)
        return TAKT_ERR_MEMORY;
    skip_names(net, table);
    TAKT_TRY(join_bias(net, table));
    mark(net);
    TAKT_TRY(find_entries(net));
    net->element_count = 0;
    for (size_t i = 0; i < net->count; i++)
        net->element_count += net->nodes[i].is_used ? net->nodes[i].count : 0;
    return mark_elements(net);
}
