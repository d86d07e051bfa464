/* gbnf.h - shared by the parts of GBNF's parser. */
#ifndef TAKT_TEXT_GBNF_H
#define TAKT_TEXT_GBNF_H

#include "text/grammar/grammar.h"

typedef struct takt_gparser {
    takt_grammar *g;
    const char *at;
    size_t length, pos;
    uint32_t line, depth;
    takt_status status;
    takt_gnode spare; /* used when out of memory */
} takt_gparser;

/* Records the first failure, with the line. */
void takt_gbnf_fail(takt_gparser *p, takt_error_id id, const char *format, ...) TAKT_PRINTF(3, 4);
char takt_gbnf_peek(const takt_gparser *p); /* 0 at the end */
bool takt_gbnf_skip(takt_gparser *p, const char *text);
takt_gnode *takt_gbnf_node(takt_gparser *p, takt_gnode_kind kind);
void takt_gbnf_add(const takt_gparser *p, takt_gnode *parent, takt_gnode *child);
/* After [ and after ". */
takt_gnode *takt_gbnf_class(takt_gparser *p);
takt_gnode *takt_gbnf_literal(takt_gparser *p);
takt_gnode *takt_gbnf_one_of(takt_gparser *p, takt_grange *ranges, size_t count);

#endif
