/* posts.h - floats that blocks of one launch hand to another.
 *
 * A post is two words that begin as 0: the float, and a word that says that it is there. Both are
 * written at once, so that no fence is needed, and nobody waits for one. Who takes posts waits for
 * them: the launch must be cooperative (takt_cuda_launch.is_together).
 *
 *   post(words, x)                           posts x
 *   TAKE_POSTS(each, to, words, me, all, n)  waits for n posts and takes them, thread `me` of `all`
 *                                            at most `each`; the words are 0 again
 */
#ifndef TAKT_KERNEL_CUDA_POSTS_H
#define TAKT_KERNEL_CUDA_POSTS_H

#include "kernel/cuda/lang.h"

#ifdef __CUDACC__

DEVICE void post(uint32_t *words, float x)
{
    *(volatile uint64_t *)words = (uint64_t)1 << 32 | __float_as_uint(x); /* both or none is seen */
}

enum { TAKT_POSTS_EACH = 8 }; /* at most */

/* Loads all of the thread's posts at once: one by one, each would wait for memory. */
DEVICE void takt_take_posts(uint32_t each, float *to, uint32_t *words, uint32_t me, uint32_t all,
                            uint32_t n)
{
    volatile uint64_t *from = (volatile uint64_t *)words;
    uint64_t got[TAKT_POSTS_EACH];
    bool are_there;
    do {
        are_there = true;
        UNROLL
        for (uint32_t i = 0; i < each; i++)
            got[i] = me + i * all < n ? from[me + i * all] : (uint64_t)1 << 32;
        UNROLL
        for (uint32_t i = 0; i < each; i++)
            are_there = are_there && got[i] >> 32 != 0;
    } while (!are_there);
    UNROLL
    for (uint32_t i = 0; i < each; i++) {
        if (me + i * all >= n)
            continue;
        to[me + i * all] = __uint_as_float((uint32_t)got[i]);
        from[me + i * all] = 0;
    }
}
#define TAKE_POSTS(each, ...) takt_take_posts(each, __VA_ARGS__)

#else

DEVICE void post(uint32_t *words, float x)
{
    memcpy(words, &x, sizeof x);
    words[1] = 1;
}
DEVICE void takt_take_posts(takt_lane *self, float *to, uint32_t *words, uint32_t me, uint32_t all,
                            uint32_t n)
{
    for (uint32_t k = me; k < n; k += all) {
        takt_lane_await(self, words + 2 * k + 1, 1);
        memcpy(to + k, words + 2 * k, sizeof *to);
        words[2 * k] = words[2 * k + 1] = 0;
    }
}
#define TAKE_POSTS(each, ...) takt_take_posts(self, __VA_ARGS__)

#endif

#endif
