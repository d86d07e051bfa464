/* relation.c - relations of a graph by name. */
#include "logic/relation.h"

#include <string.h>

const takt_relation_info *takt_relation_find(const takt_graph *g, const char *name)
{
    const takt_relation_info *r = g->relations != NULL ? g->relations->first : NULL;
    while (r != NULL && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

const char *takt_form_name(takt_form form)
{
    static const char *const names[] = {[TAKT_FORM_SOFT] = "soft",
                                        [TAKT_FORM_BOOL] = "bool",
                                        [TAKT_FORM_BITS] = "bits",
                                        [TAKT_FORM_VALUE] = "value",
                                        [TAKT_FORM_TUPLES] = "tuples"};
    return names[form];
}
