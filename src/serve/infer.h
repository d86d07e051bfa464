/* infer.h - tensors of a request, and the model's outputs. */
#ifndef TAKT_SERVE_INFER_H
#define TAKT_SERVE_INFER_H

#include "serve/serve.h"

enum { TAKT_TENSORS = 12 };

typedef struct takt_tensors {
    takt_server *s;
    takt_job *job;
    const takt_model *model;
    takt_tensor_view views[TAKT_TENSORS];
    const char *names[TAKT_TENSORS];
    size_t count;
    const char *why; /* it is refused */
    takt_plan *plan;
    takt_session *session; /* with the outputs */
} takt_tensors;

/* Reads the inputs of the body into the job's arena; `why` if they do not fit the model. */
void takt_tensors_read(takt_tensors *t);
TAKT_MUST_USE takt_status takt_tensors_run(takt_tensors *t);
void takt_tensors_free(takt_tensors *t);
/* The reply of a job: rows [first, first + count) of the outputs, or all if `count` is 0. */
void takt_tensors_reply(const takt_tensors *of, const takt_job *job, int64_t first, int64_t count,
                        takt_text *out);
void takt_tensors_fail(const takt_tensors *t, takt_status status, takt_text *out);

#endif
