/* net_rows.c - a matrix that grows row by row. */
#include "verify/net_rows.h"

takt_status takt_net_rows_begin(takt_net_rows *m, takt_net_builder *b, size_t count, size_t terms)
{
    enum { MOST = 1 << 28 };
    if (terms > MOST)
        return takt_fail(b->net->ctx, TAKT_E_VERIFY_MODEL,
                         "linear bounds: a matrix of %zu entries is too large", terms);
    *m = (takt_net_rows){.b = b, .room = terms};
    m->starts = takt_arena_array(&b->net->arena, count + 1, sizeof *m->starts);
    m->columns = takt_arena_array(&b->net->arena, terms, sizeof *m->columns);
    m->values = takt_arena_array(&b->net->arena, terms, sizeof *m->values);
    return m->starts == NULL || m->columns == NULL || m->values == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

void takt_net_rows_put(takt_net_rows *m, size_t column, double value)
{
    m->columns[m->at] = (uint32_t)column;
    m->values[m->at++] = value;
}

void takt_net_rows_next(takt_net_rows *m)
{
    m->starts[++m->row] = m->at;
}

/* Number of consecutive columns; NULL in *out if a separate loop would not pay off. */
static takt_status find_runs(const takt_net_rows *m, const uint32_t **out)
{
    enum { LONG = 8 };
    uint32_t *runs = takt_arena_array(&m->b->net->arena, m->at, sizeof *runs);
    size_t first = 0;
    if (runs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t j = m->row; j-- > 0;)
        for (size_t e = m->starts[j + 1]; e-- > m->starts[j];) {
            const bool goes_on = e + 1 < m->starts[j + 1] && m->columns[e + 1] == m->columns[e] + 1;
            const bool begins = e == m->starts[j] || m->columns[e] != m->columns[e - 1] + 1;
            runs[e] = goes_on ? runs[e + 1] + 1 : 1;
            first += begins;
        }
    *out = m->at >= LONG * first ? runs : NULL;
    return TAKT_OK;
}

takt_status takt_net_rows_end(takt_net_rows *m, const takt_node *n, uint32_t source,
                              takt_net_value *out)
{
    takt_net_builder *b = m->b;
    const uint32_t id = takt_net_add(b, n, TAKT_NET_SUM, m->row);
    takt_net_part *part = id != UINT32_MAX ? takt_net_parts(b, id, 1) : NULL;
    if (part == NULL)
        return TAKT_ERR_MEMORY;
    const size_t width = b->net->nodes[source].count;
    bool is_dense = m->at == m->row * width;
    for (size_t i = 0; i < m->at && is_dense; i++)
        is_dense = m->columns[i] == i % width;
    *part = (takt_net_part){.form = is_dense ? TAKT_NET_DENSE : TAKT_NET_SPARSE,
                            .source = source,
                            .values = m->values,
                            .columns = m->columns,
                            .starts = m->starts};
    if (!is_dense)
        TAKT_TRY(find_runs(m, &part->runs));
    *out = (takt_net_value){.node = id};
    return TAKT_OK;
}
