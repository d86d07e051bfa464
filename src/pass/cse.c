/* cse.c - equal nodes become one, and dead ones disappear.
 *
 * Both happen by construction when a graph is copied; this pass exists so that merging can be
 * switched off by name, and so that a graph built without it is merged here.
 */
#include "pass/passes.h"

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    static const takt_pass copy = {.name = "cse", .summary = "copy what is live"};
    (void)given;
    takt_graph merging = *in;
    merging.keeps_equals = false;
    return takt_pass_apply(&copy, &merging, report, out);
}

const takt_pass takt_pass_cse = {
    .name = "cse",
    .summary = "compute equal values once, and nothing that nobody needs",
    .run = run,
};
