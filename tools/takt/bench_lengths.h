/* bench_lengths.h - a stream of requests of different sizes: the requests, and how long they took.
 */
#ifndef TAKT_TOOL_BENCH_LENGTHS_H
#define TAKT_TOOL_BENCH_LENGTHS_H

#include "measure.h"

typedef struct tool_stream {
    takt_tool *t;
    takt_model *model;
    takt_session *session;
    char name[TOOL_NAME];        /* the dimension */
    char base[TOOL_SIZES];       /* sizes of the others */
    int64_t *lengths, low, high; /* of the requests, in their order */
    size_t count, inputs;
    int64_t *dims;          /* [high - low + 1][inputs][TAKT_MAX_RANK]: shapes of the inputs at a
                             * length */
    void **data;            /* per input: at its largest size */
    double *total, *sizing; /* ns per request; of these, the time for resizing */
} tool_stream;

/* Prints the table, or JSON. */
int tool_stream_tell(const tool_stream *s);

#endif
