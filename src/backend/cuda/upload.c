/* upload.c - large copies from the host, such as weights, through two pinned buffers: one is filled
 * while the other is copied. */
#include <string.h>

#include "backend/cuda/device.h"

enum { STAGE = 4 << 20 };

/* The buffers and their events; false, and nothing is held, if they cannot be had. */
static bool get(takt_cuda *c, takt_cuda_stage *s)
{
    const takt_cuda_driver *d = &c->driver;
    for (size_t i = 0; i < 2; i++) {
        void *block = NULL;
        if (d->host_get(&block, STAGE, 0) != TAKT_CU_OK)
            return false;
        s->data[i] = block;
        if (d->event_create(&s->sent[i], TAKT_CU_EVENT_NO_TIMING) != TAKT_CU_OK)
            return false;
    }
    return true;
}

static void put(takt_cuda *c, takt_cuda_stage *s)
{
    for (size_t i = 0; i < 2; i++) {
        if (s->sent[i] != NULL)
            (void)c->driver.event_destroy(s->sent[i]);
        if (s->data[i] != NULL)
            (void)c->driver.host_put(s->data[i]);
    }
}

static int send(takt_cuda *c, const takt_cuda_stage *s, takt_cu_ptr to, const char *from,
                size_t bytes)
{
    const takt_cuda_driver *d = &c->driver;
    int result = TAKT_CU_OK;
    for (size_t at = 0, i = 0; at < bytes && result == TAKT_CU_OK; at += STAGE, i++) {
        const size_t n = bytes - at < STAGE ? bytes - at : STAGE;
        if (i >= 2)
            result = d->event_wait(s->sent[i % 2]);
        if (result != TAKT_CU_OK)
            break;
        memcpy(s->data[i % 2], from + at, n);
        result = d->copy_up(to + at, s->data[i % 2], n, c->stream);
        if (result == TAKT_CU_OK)
            result = d->event_record(s->sent[i % 2], c->stream);
    }
    const int ended = d->stream_wait(c->stream);
    return result == TAKT_CU_OK ? ended : result;
}

int takt_cuda_upload(takt_cuda *c, takt_cu_ptr to, const void *from, size_t bytes)
{
    takt_cuda_stage s = {{NULL, NULL}, {NULL, NULL}};
    const bool is_staged = bytes >= 2 * (size_t)STAGE && get(c, &s);
    int result = TAKT_CU_OK;
    if (is_staged) {
        result = send(c, &s, to, from, bytes);
    } else {
        result = c->driver.copy_up(to, from, bytes, c->stream);
        if (result == TAKT_CU_OK)
            result = c->driver.stream_wait(c->stream);
    }
    put(c, &s);
    return result;
}
