/* twins_fields.h - the fields of takt_twins: twins_find.c fills them in, twins.c uses them. */
#ifndef TAKT_PLAN_TWINS_FIELDS_H
#define TAKT_PLAN_TWINS_FIELDS_H

#include "plan/twins.h"

/* Bytes that may depend on sizes; those of the leader are at `from`. */
typedef struct takt_twin_piece {
    unsigned char *to;
    const unsigned char *from;
    uint32_t bytes;
} takt_twin_piece;

/* A word, of 32 bits, in which a step and its leader differ. */
typedef struct takt_twin_word {
    unsigned char *to;
    const unsigned char *from;
    uint32_t own, leaders;
} takt_twin_word;

/* Steps shortly before a step and before its leader that write what both read; -1: none. */
typedef struct takt_twin_source {
    int32_t own, leaders;
} takt_twin_source;

/* A step with its memory. */
typedef struct takt_twin {
    int32_t leader;                  /* the step that it is copied from; -1: none */
    uint64_t sign;                   /* of its first node; 0: it has no twins */
    uint32_t piece, word, source;    /* the first of each; they end where the next begin */
    const unsigned char *low, *high; /* addresses of blocks and views */
    uint32_t inner;                  /* pointers to there */
    uint64_t checked;                /* the round in which is_steady was set */
    bool is_steady;                  /* the pointers still have the values that were found */
} takt_twin;

struct takt_twins {
    const takt_answers *answers;
    takt_twin *list; /* per step, and one more */
    size_t count;
    takt_twin_piece *pieces;
    takt_twin_word *words;
    takt_twin_source *sources;
    size_t piece_count, piece_room, word_count, word_room, source_count, source_room;
    uint64_t *signs,
        *next; /* per node: equal if steps cannot distinguish them; `next`: one level less */
    const size_t *after;
    size_t found;
    uint64_t turn;
};

/* Fills in the signs; `named`: the graph with names of sizes. */
void takt_twins_sign(takt_twins *t, const takt_builder *b, const takt_graph *named);
/* How many words of the step's blocks and of its record point to its own memory. */
uint32_t takt_twins_inner(const takt_twins *t, const takt_step *s, size_t index);

static inline size_t takt_twins_first_answer(const takt_twins *t, size_t index)
{
    return index > 0 ? t->after[index - 1] : 0;
}

#endif
