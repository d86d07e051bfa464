/* facts.h - tuples of a relation from a text: TSV or CSV, one tuple per line.
 *
 * Columns are the relation's arguments, by name or number; one more is a weight. Fields are
 * separated by tabs if the first line has one, else by commas; then a field may be in double
 * quotes, with "" for a quote. Blank lines and lines that begin with # are skipped. */
#ifndef TAKT_LOGIC_FACTS_H
#define TAKT_LOGIC_FACTS_H

#include "logic/domain.h"

typedef struct takt_fact_table {
    takt_ctx *ctx;
    int arity;
    size_t count;
    uint32_t *tuples;                       /* [count][arity], in the order of the file */
    double *weights;                        /* [count]; NULL: the file has none */
    size_t tuple_capacity, weight_capacity; /* in facts */
} takt_fact_table;

/* The relation that the facts belong to. */
typedef struct takt_facts_of {
    const char *name; /* of the relation */
    int arity;
    const takt_domain *const *domains; /* one per argument */
    bool may_weigh;                    /* a column of weights is allowed */
    bool is_length;                    /* weights are 0 or more, else within 0 to 1 */
} takt_facts_of;

/* `file`: for messages. Release the facts even if this fails. */
TAKT_MUST_USE takt_status takt_facts_read(takt_ctx *ctx, const takt_facts_of *of, const char *file,
                                          takt_span text, takt_fact_table *facts);
void takt_facts_release(takt_fact_table *facts);

#endif
