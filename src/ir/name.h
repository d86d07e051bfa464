/* name.h - names of values in the text form: unique, and quoted where necessary. */
#ifndef TAKT_IR_NAME_H
#define TAKT_IR_NAME_H

#include "ir/graph.h"

typedef struct takt_name_table {
    takt_ctx *ctx;
    takt_arena arena;
    const char **of; /* one per node */
    takt_id *gets;   /* first `get` of a node with several results, chained by `next_get` */
    takt_id *next_get;
} takt_name_table;

TAKT_MUST_USE takt_status takt_name_table_init(takt_name_table *t, const takt_graph *g);
void takt_name_table_deinit(takt_name_table *t);
/* The node that takes result `index` of `id`, or TAKT_NONE. */
takt_id takt_name_table_get(const takt_name_table *t, const takt_graph *g, takt_id id,
                            uint32_t index);

/* Words that cannot be names of values. */
bool takt_name_is_reserved(const char *name, size_t length);
/* As the text form writes it: in backquotes unless it is a plain name, with control characters
 * escaped.
 */
void takt_name_print(const char *name, takt_text *text);
/* Into `to`, cut and terminated; returns the bytes that it needs without the terminator. */
size_t takt_name_put(const char *name, char *to, size_t size);

#endif
