/* property.h - what is to be proved: no input of a box leads to outputs of an unsafe set.
 *
 * A property is a list of cases. Each has a box of inputs and half-spaces; a point of the box whose
 * outputs are in all half-spaces violates the property. It holds if no case has such a point. */
#ifndef TAKT_VERIFY_PROPERTY_H
#define TAKT_VERIFY_PROPERTY_H

#include "base/arena.h"
#include "base/text.h"

typedef struct takt_term {
    uint32_t index; /* index among the elements of all outputs, or of all inputs, one after the
                     * other */
    bool is_input;
    double factor;
} takt_term;

/* The sum of factor * element is at most `bound`; `is_strict`: less than it. */
typedef struct takt_halfspace {
    const takt_term *terms;
    size_t count;
    double bound;
    bool is_strict;
} takt_halfspace;

typedef struct takt_case {
    const double *lo, *hi; /* per input element */
    const takt_halfspace *rows;
    size_t row_count;
    bool is_empty; /* it has no violating point, whatever the model computes */
} takt_case;

typedef struct takt_property {
    takt_arena arena;
    size_t input_count, output_count; /* elements */
    takt_case *cases;
    size_t case_count;
    const double
        *center; /* inputs are also within `radius` of it, by the sum of squares; or NULL */
    double radius;
} takt_property;

/* From VNN-LIB text, 1.0 or 2.0; `name` is for messages. */
TAKT_MUST_USE takt_status takt_property_read(takt_ctx *ctx, const char *name, takt_span text,
                                             takt_property *property);
/* From a file, which may be compressed by gzip. */
TAKT_MUST_USE takt_status takt_property_load(takt_ctx *ctx, const char *path,
                                             takt_property *property);
void takt_property_deinit(takt_property *property);

/* ---- the formula of a text, before its cases are known ---- */

typedef enum takt_formula_kind {
    TAKT_FORMULA_ATOM,
    TAKT_FORMULA_AND,
    TAKT_FORMULA_OR
} takt_formula_kind;

typedef struct takt_formula_node {
    takt_formula_kind kind;
    uint32_t atom;        /* index into atoms */
    uint32_t first, next; /* child and sibling; UINT32_MAX: none */
} takt_formula_node;

typedef struct takt_formula_atom {
    size_t first; /* term */
    uint32_t count;
    bool is_strict;
    double bound;
} takt_formula_atom;

typedef struct takt_formula_tree {
    takt_formula_node *nodes; /* node 0 is the root, an "and" */
    takt_formula_atom *atoms;
    takt_term *terms;
    size_t node_count, atom_count, term_count;
    size_t node_room, atom_room, term_room;
    size_t input_count, output_count;
} takt_formula_tree;

/* The cases of a formula; `name` for messages. */
TAKT_MUST_USE takt_status takt_property_cases(takt_ctx *ctx, const char *name,
                                              const takt_formula_tree *tree,
                                              takt_property *property);

#endif
