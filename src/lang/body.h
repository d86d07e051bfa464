/* body.h - pieces of a text that become subgraphs, and the names they share with their
 * surroundings. */
#ifndef TAKT_LANG_BODY_H
#define TAKT_LANG_BODY_H

#include "lang/elab.h"

enum { TAKT_NAMES = 256 };

typedef struct takt_names {
    const takt_symbol *at[TAKT_NAMES];
    size_t count;
    bool is_full; /* the list is incomplete */
} takt_names;

bool takt_names_have(const takt_names *n, const takt_symbol *name);
/* Adds the names that are read in statements or an expression, or with `assigned` those that are
 * assigned to. */
void takt_names_walk(const takt_ast *list, bool assigned, takt_names *to);
/* Only those that are tensors of this frame. */
void takt_names_keep_tensors(takt_frame *f, takt_names *n);

/* A subgraph being built, in its own frame. */
typedef struct takt_body {
    takt_frame frame;
    takt_function function;
    const takt_ast *at; /* for complaints */
    bool is_good;
} takt_body;

/* End it even after a failure. */
bool takt_body_begin(takt_frame *f, const takt_ast *at, takt_body *b);
void takt_body_end(takt_frame *f, takt_body *b);
/* An input of that name and type; or one for each tensor of the frame around it. */
void takt_body_take(takt_body *b, const takt_symbol *name, const takt_type *type);
void takt_body_take_all(takt_frame *f, takt_body *b, const takt_names *n);
/* An output; a number gets that element type. */
void takt_body_give(takt_body *b, const takt_ast *at, const char *name, takt_value v,
                    takt_dtype dtype);

#endif
