/* late_memory.c - the memory of the device of late.c, and which of its calls fail. */
#define _POSIX_C_SOURCE 200809L
#include "util/late_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

takt_late_control takt_late;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and of the recorded
                                                          * misuse */
static const char *wrong;

void takt_late_note(const char *what)
{
    pthread_mutex_lock(&lock);
    if (wrong == NULL)
        wrong = what;
    pthread_mutex_unlock(&lock);
}

/* Whether this call is one that fails. */
bool takt_late_fails(void)
{
    const uint64_t call = atomic_fetch_add(&takt_late.calls, 1) + 1;
    const bool is_hit =
        takt_late.fail_at != 0 &&
        (call == takt_late.fail_at || (takt_late.is_for_ever && call > takt_late.fail_at));
    atomic_fetch_add(&takt_late.hits, is_hit);
    return is_hit;
}

/* ---- memory ---- */

enum { ZONE = 512, ALIGN = 256, RED = 0xa5, JUNK = 0xff };

typedef struct block {
    struct block *next;
    unsigned char *data;
    size_t bytes;
} block;

static block *blocks;

static takt_status get(void *dev, size_t bytes, void **data)
{
    (void)dev;
    *data = NULL;
    if (takt_late_fails())
        return TAKT_ERR_MEMORY;
    block *b = malloc(sizeof *b);
    unsigned char *memory = NULL;
    const size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (b == NULL || posix_memalign((void **)&memory, ALIGN, room + 2 * ZONE) != 0) {
        free(b);
        return TAKT_ERR_MEMORY;
    }
    memset(memory, RED, room + 2 * ZONE);
    memset(memory + ZONE, JUNK, bytes);
    *b = (block){.data = memory + ZONE, .bytes = bytes};
    pthread_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&takt_late.blocks, 1);
    atomic_fetch_add(&takt_late.bytes, (int64_t)bytes);
    *data = b->data;
    return TAKT_OK;
}

static bool is_red(const unsigned char *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] != RED)
            return false;
    return true;
}

static void put(void *dev, void *data, size_t bytes)
{
    (void)dev;
    pthread_mutex_lock(&lock);
    block **at = &blocks;
    while (*at != NULL && (*at)->data != data)
        at = &(*at)->next;
    block *b = *at;
    if (b != NULL)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    if (b == NULL || b->bytes != bytes) {
        takt_late_note("a block is given back that there is not, or with another size");
        return;
    }
    const size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!is_red(b->data - ZONE, ZONE) || !is_red(b->data + bytes, room - bytes + ZONE))
        takt_late_note("something was written outside a block");
    memset(b->data - ZONE, JUNK, room + 2 * ZONE);
    free(b->data - ZONE);
    free(b);
    atomic_fetch_sub(&takt_late.blocks, 1);
    atomic_fetch_sub(&takt_late.bytes, (int64_t)bytes);
}

/* Whether it is inside one block; false for host memory. */
bool takt_late_is_ours(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    bool is = false;
    pthread_mutex_lock(&lock);
    for (const block *b = blocks; b != NULL && !is; b = b->next)
        is =
            at >= b->data && at <= b->data + b->bytes && bytes <= (size_t)(b->data + b->bytes - at);
    pthread_mutex_unlock(&lock);
    return is;
}

void takt_late_move(takt_copy way, void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && (takt_late_is_ours(to, bytes) != (way != TAKT_COPY_DOWN) ||
                      takt_late_is_ours(from, bytes) != (way != TAKT_COPY_UP)))
        takt_late_note("a copy does not go where it says");
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

static takt_status copy(void *dev, takt_copy way, void *to, const void *from, size_t bytes)
{
    const takt_late_device *d = dev;
    if (takt_late_fails())
        return takt_fail(d->ctx, TAKT_E_DEVICE_FAILED, "late: a copy of %zu bytes failed", bytes);
    takt_late_move(way, to, from, bytes);
    return TAKT_OK;
}

static void memory(void *dev, uint64_t *total, uint64_t *left)
{
    (void)dev;
    *total = takt_late.total > 0 ? takt_late.total : UINT64_C(1) << 30;
    *left = *total - (uint64_t)atomic_load(&takt_late.bytes);
}

const takt_device takt_late_memory = {
    .get = get, .put = put, .copy = copy, .memory = memory, .alignment = ALIGN};

void takt_late_begin(void)
{
    takt_late = (takt_late_control){0};
    wrong = NULL;
}

const char *takt_late_end(void)
{
    if (wrong != NULL)
        return wrong;
    if (takt_late.blocks != 0 || takt_late.bytes != 0)
        return "device memory is not given back";
    if (takt_late.sessions != 0)
        return "a session was not closed";
    return takt_late.devices != 0 ? "a device was not closed" : NULL;
}
