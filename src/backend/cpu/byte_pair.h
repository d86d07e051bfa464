/* byte_pair.h - steps that compute bytes from two operands of bytes, which may broadcast. */
#ifndef TAKT_BACKEND_CPU_BYTE_PAIR_H
#define TAKT_BACKEND_CPU_BYTE_PAIR_H

#include "backend/cpu/strided.h"

enum { TAKT_BYTE_PAIR_PIECE = 1024 }; /* elements of an operand that is spread out at a time */

typedef struct takt_byte_pair {
    size_t count; /* of the result */
    bool is_spread[2];
    takt_strided from[2]; /* of those that are spread */
    int64_t start[2];
} takt_byte_pair;

/* A part of the elements of a task. */
typedef struct takt_byte_piece {
    size_t n;
    const uint8_t *a, *b;
    uint8_t *y;
} takt_byte_piece;

typedef void takt_byte_pair_fn(const void *user, const takt_byte_piece *piece);

/* Adds the operands and the result of the group's first node to its step and cuts it into tasks;
 * each element is `operations` of work. */
TAKT_MUST_USE takt_status takt_byte_pair_plan(takt_planner *p, double operations,
                                              takt_byte_pair *pair);
/* Calls `run` for the pieces of a task. */
void takt_byte_pair_run(const takt_byte_pair *pair, const takt_step *s, const takt_task *t,
                        takt_byte_pair_fn *run, const void *user);

#endif
