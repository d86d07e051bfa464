/* demand.c - the message of a failed `check`. */
#include "op/util/demand.h"
#include "op/record/check.h"

#include <stdio.h>

const char *const takt_demand_names[] = {"truth", "settle", "branch", NULL};

takt_error_id takt_demand_id(const takt_node *n)
{
    static const takt_error_id ids[] = {TAKT_E_TRUTH, TAKT_E_RECURSION, TAKT_E_BRANCH};
    return ids[n->attr[TAKT_DEMAND_ERROR].i64];
}

const char *takt_demand_text(const takt_node *n, size_t index, double value,
                             char buffer[static TAKT_DEMAND_TEXT])
{
    const char *what = n->attr[TAKT_DEMAND_WHAT].string;
    if (n->attr[TAKT_DEMAND_ERROR].i64 == TAKT_DEMAND_SETTLE)
        snprintf(buffer, TAKT_DEMAND_TEXT, "%.120s: the recursion has not settled in its rounds",
                 what);
    else if (n->attr[TAKT_DEMAND_ERROR].i64 == TAKT_DEMAND_BRANCH)
        snprintf(buffer, TAKT_DEMAND_TEXT, "%.250s", what);
    else
        snprintf(buffer, TAKT_DEMAND_TEXT,
                 "%.120s: element %zu is %g, and a truth value lies between 0 and 1", what, index,
                 value);
    return buffer;
}

takt_id takt_demand(takt_graph *g, takt_id x, takt_id ok, int error, const char *what)
{
    const takt_id in[] = {x, ok};
    const takt_named_attr attrs[] = {{"error", takt_attr_i64(error)},
                                     {"what", takt_attr_string(what)}};
    return takt_graph_call(g, &takt_op_check, 2, in, 2, attrs);
}
