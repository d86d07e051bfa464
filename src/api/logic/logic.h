/* logic.h - shared by the functions of takt/logic.h. */
#ifndef TAKT_API_LOGIC_LOGIC_H
#define TAKT_API_LOGIC_LOGIC_H

#include <takt/logic.h>

#include "api/model.h"
#include "logic/relation.h"

/* NULL, and the failure with the nearest name recorded, if there is none. */
const takt_relation_info *takt_logic_find(const takt_model *model, const char *name);
/* Whether a view can be the relation's tensor; else the failure is recorded. */
TAKT_MUST_USE takt_status takt_logic_check(const takt_model *model, const takt_relation_info *r,
                                           const takt_tensor_view *view);

/* A query without variables: its relation and tuple; `value` is the last argument of a rule that
 * yields a number. */
TAKT_MUST_USE takt_status takt_question_fact(const takt_model *model, const char *text,
                                             const takt_relation_info **relation,
                                             uint32_t tuple[static TAKT_MAX_RANK], double *value);

/* Goes through the tuples of a tensor in ascending order. */
typedef struct takt_tuple_walk {
    const takt_relation_info *relation;
    const takt_tensor_view *view;
    size_t at, count;              /* elements; of BITS those of the unpacked tensor */
    uint32_t entry[TAKT_MAX_RANK]; /* of the current tuple */
    double value;                  /* its truth, length, count or number; 1 for bools */
    bool has_value;                /* `value` means more than presence */
} takt_tuple_walk;

void takt_tuple_begin(takt_tuple_walk *w, const takt_relation_info *r,
                      const takt_tensor_view *view);
/* False after the last. */
bool takt_tuple_next(takt_tuple_walk *w);

#endif
