/* gpu_memory.c - memory of the tests' CUDA driver: counted, between red zones. */
#include <stdlib.h>
#include <string.h>

#include "util/gpu_state.h"

enum { ZONE = 256, HEAD = 64 };

void *gpu_hold(size_t bytes)
{
    const size_t all = (bytes + 2 * HEAD - 1) / HEAD * HEAD;
    gpu_held *h = aligned_alloc(HEAD, all);
    if (h == NULL)
        return NULL;
    memset(h, 0, all);
    *h = (gpu_held){NULL, gpu.held, bytes};
    if (gpu.held != NULL)
        gpu.held->before = h;
    gpu.held = h;
    return (char *)h + HEAD;
}

size_t gpu_drop(void *object)
{
    gpu_held *h = (gpu_held *)(void *)((char *)object - HEAD);
    const size_t bytes = h->bytes;
    *(h->before != NULL ? &h->before->next : &gpu.held) = h->next;
    if (h->next != NULL)
        h->next->before = h->before;
    free(h);
    return bytes;
}

void gpu_drop_all(void)
{
    while (gpu.held != NULL)
        gpu_drop((char *)gpu.held + HEAD);
    for (size_t i = 0; i < GPU_BLOCKS; i++)
        if (gpu.blocks[i].at != NULL)
            free(gpu.blocks[i].at - ZONE);
}

int gpu_mem_info(size_t *left, size_t *total)
{
    GPU_CALL();
    *total = gpu.set.memory;
    *left = gpu.set.memory - gpu.count.live_bytes;
    return TAKT_CU_OK;
}

static gpu_block *block_of(takt_cu_ptr ptr)
{
    for (size_t i = 0; i < GPU_BLOCKS; i++)
        if (gpu.blocks[i].at != NULL && ptr >= (takt_cu_ptr)(uintptr_t)gpu.blocks[i].at &&
            ptr <= (takt_cu_ptr)(uintptr_t)gpu.blocks[i].at + gpu.blocks[i].bytes)
            return &gpu.blocks[i];
    return NULL;
}

int gpu_mem_get(takt_cu_ptr *ptr, size_t bytes)
{
    GPU_CALL();
    size_t i = 0;
    while (i < GPU_BLOCKS && gpu.blocks[i].at != NULL)
        i++;
    if (bytes == 0 || i == GPU_BLOCKS || gpu.count.live_bytes + bytes > gpu.set.memory)
        return bytes == 0 ? GPU_INVALID : TAKT_CU_OUT_OF_MEMORY;
    unsigned char *all = aligned_alloc(ZONE, (bytes + 3 * ZONE - 1) / ZONE * ZONE);
    if (all == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    memset(all, 0xa5, ZONE);
    memset(all + ZONE, 0xff, bytes);
    memset(all + ZONE + bytes, 0xa5, ZONE);
    gpu.blocks[i] = (gpu_block){all + ZONE, bytes, 0};
    gpu.count.live_bytes += bytes;
    if (gpu.count.live_bytes > gpu.count.peak_bytes)
        gpu.count.peak_bytes = gpu.count.live_bytes;
    *ptr = (takt_cu_ptr)(uintptr_t)(all + ZONE);
    return TAKT_CU_OK;
}

int gpu_mem_put(takt_cu_ptr ptr)
{
    gpu_block *b = block_of(ptr);
    (void)gpu_call();
    if (b == NULL || (takt_cu_ptr)(uintptr_t)b->at != ptr) {
        gpu_complain("memory is given back that was not taken");
        return GPU_INVALID;
    }
    for (size_t i = 0; i < ZONE; i++)
        if (b->at[b->bytes + i] != 0xa5 || b->at[-1 - (ptrdiff_t)i] != 0xa5)
            gpu_complain("something wrote beyond its device memory");
    gpu.count.live_bytes -= b->bytes;
    free(b->at - ZONE);
    b->at = NULL;
    return TAKT_CU_OK;
}

int gpu_host_get(void **data, size_t bytes, unsigned flags)
{
    (void)flags;
    GPU_CALL();
    *data = gpu_hold(bytes);
    if (*data == NULL)
        return TAKT_CU_OUT_OF_MEMORY;
    gpu.count.pinned_bytes += bytes;
    return TAKT_CU_OK;
}
int gpu_host_put(void *data)
{
    (void)gpu_call();
    gpu.count.pinned_bytes -= gpu_drop(data);
    return TAKT_CU_OK;
}

/* Whether [ptr, ptr + bytes) is inside one block. */
bool gpu_has(takt_cu_ptr ptr, size_t bytes)
{
    const gpu_block *b = block_of(ptr);
    const bool inside = b != NULL && ptr + bytes <= (takt_cu_ptr)(uintptr_t)b->at + b->bytes;
    if (!inside)
        gpu_complain("a copy from or to what is not a device memory");
    return inside;
}

int gpu_copy_up(takt_cu_ptr to, const void *from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    if (!gpu_has(to, bytes))
        return GPU_INVALID;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return TAKT_CU_OK;
}
int gpu_copy_down(void *to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    if (!gpu_has(from, bytes))
        return GPU_INVALID;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return TAKT_CU_OK;
}
int gpu_copy_within(takt_cu_ptr to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    if (!gpu_has(from, bytes) || !gpu_has(to, bytes))
        return GPU_INVALID;
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return TAKT_CU_OK;
}
int gpu_fill(takt_cu_ptr to, unsigned value, size_t count, takt_cu_stream stream)
{
    (void)stream;
    GPU_CALL();
    if (!gpu_has(to, 4 * count))
        return GPU_INVALID;
    for (size_t i = 0; i < count; i++)
        ((unsigned *)(uintptr_t)to)[i] = value;
    return TAKT_CU_OK;
}

/* ---- pointers ---- */

int gpu_pointer(void *value, int attribute, takt_cu_ptr ptr)
{
    const gpu_block *b = block_of(ptr);
    GPU_CALL();
    if (b == NULL)
        return GPU_INVALID;
    *(int *)value = attribute == TAKT_CU_ORDINAL ? b->ordinal : TAKT_CU_MEMORY_DEVICE;
    return TAKT_CU_OK;
}
int gpu_range(takt_cu_ptr *first, size_t *bytes, takt_cu_ptr ptr)
{
    const gpu_block *b = block_of(ptr);
    GPU_CALL();
    if (b == NULL)
        return GPU_INVALID;
    *first = (takt_cu_ptr)(uintptr_t)b->at;
    *bytes = b->bytes;
    return TAKT_CU_OK;
}

void *gpu_foreign(size_t bytes, int ordinal)
{
    takt_cu_ptr ptr = 0;
    if (gpu_mem_get(&ptr, bytes) != TAKT_CU_OK)
        return NULL;
    block_of(ptr)->ordinal = ordinal;
    return (void *)(uintptr_t)ptr;
}
void gpu_foreign_put(void *data)
{
    (void)gpu_mem_put((takt_cu_ptr)(uintptr_t)data);
}
