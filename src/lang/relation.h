/* relation.h - a relation while its statement is read. */
#ifndef TAKT_LANG_RELATION_H
#define TAKT_LANG_RELATION_H

#include "lang/rule.h"

typedef struct takt_declared {
    takt_frame *f;
    const takt_ast *at;
    int arity;
    const takt_domain *domain[TAKT_MAX_RANK];
    takt_type type; /* bool, with the sizes of the domains */
    const uint32_t *facts;
    size_t fact_count;
    takt_stated_form stated;
    int64_t capacity; /* of an input of tuples */
} takt_declared;

/* The predicate of the statement, with its tensor. */
void takt_relation_declare(takt_declared *d, takt_id value, takt_form form,
                           takt_relation_kind kind);
/* Facts: of a file, or of a list. */
void takt_relation_from_file(takt_declared *d);
void takt_relation_from_list(takt_declared *d);

#endif
