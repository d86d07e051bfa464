/* session.h - segments of a session as CUDA graphs. */
#ifndef TAKT_BACKEND_CUDA_SESSION_H
#define TAKT_BACKEND_CUDA_SESSION_H

#include "backend/cuda/device.h"

takt_status takt_cuda_session_open(void *state, const takt_plan *plan, void *const *base,
                                   unsigned char *arena, void **part);
void takt_cuda_session_close(void *part);
takt_status takt_cuda_session_bind(void *part, size_t step, bool is_away);
takt_status takt_cuda_session_stream(void *part, void *stream);
size_t takt_cuda_rates(void *state, takt_device_rate *rates); /* rates.c */
takt_status takt_cuda_enqueue(void *part, const takt_execution *x, const takt_segment *g);
takt_status takt_cuda_wait(void *part, const takt_execution *x, const takt_segment *g,
                           size_t *step);

/* memory.c */
void takt_cuda_session_memory(const takt_plan *plan, takt_space space, takt_session_memory *m);

#endif
