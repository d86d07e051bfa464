/* stream_body.h - the bandwidth kernels, written once for all ISAs. */
#include "kernel/simd/simd.h"
#include "kernel/stream/stream.h"

/* One cache line, or a little more. */
enum { VECTORS = VF >= 16 ? 2 : VF >= 8 ? 2 : 4, BLOCK = VECTORS * VF };

static double total(vf v)
{
    float lanes[VF];
    double sum = 0;
    vf_store(lanes, v);
    for (int i = 0; i < VF; i++)
        sum += (double)lanes[i];
    return sum;
}

#define INLINE static inline __attribute__((always_inline))

/* A part of the arrays, [first, first + places * apart), read at `places` positions in parallel;
 * their number and whether to prefetch are compile-time constants. */
typedef struct walk {
    const takt_stream *s;
    size_t first, apart, places;
    bool asks;
} walk;

/* Lines of one block, this many bytes further on. */
INLINE void ask(const float *from, size_t ahead)
{
    enum { LINE = 64 / sizeof(float) };
    for (size_t i = 0; i < BLOCK; i += LINE)
        __builtin_prefetch((const char *)(from + i) + ahead);
}

INLINE double read_all(const walk w)
{
    vf acc[8] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0),
                 vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
    double sum = 0;
    for (size_t at = w.first; at < w.first + w.apart; at += BLOCK)
        for (size_t p = 0; p < w.places; p++) {
            const float *a = w.s->a + at + p * w.apart;
            if (w.asks)
                ask(a, w.s->ahead);
            for (size_t v = 0; v < VECTORS; v++)
                acc[(p * VECTORS + v) & 7] =
                    vf_add(acc[(p * VECTORS + v) & 7], vf_load(a + v * VF));
        }
    for (int i = 0; i < 8; i++)
        sum += total(acc[i]);
    return sum;
}

INLINE void copy_all(const walk w)
{
    const float *a = w.s->a;
    float *restrict c = w.s->c;
    const size_t ahead = w.s->ahead;
    for (size_t at = w.first; at < w.first + w.apart; at += BLOCK)
        for (size_t p = 0; p < w.places; p++) {
            const size_t i = at + p * w.apart;
            if (w.asks)
                ask(a + i, ahead);
            for (size_t v = 0; v < VECTORS; v++)
                vf_store(c + i + v * VF, vf_load(a + i + v * VF));
        }
}

INLINE void triad_all(const walk w)
{
    const float *a = w.s->a, *b = w.s->b;
    float *restrict c = w.s->c;
    const size_t ahead = w.s->ahead;
    const vf three = vf_set1(3.0f);
    for (size_t at = w.first; at < w.first + w.apart; at += BLOCK)
        for (size_t p = 0; p < w.places; p++) {
            const size_t i = at + p * w.apart;
            if (w.asks) {
                ask(a + i, ahead);
                ask(b + i, ahead);
            }
            for (size_t v = 0; v < VECTORS; v++) {
                const vf x = vf_load(a + i + v * VF), y = vf_load(b + i + v * VF);
                vf_store(c + i + v * VF, vf_fma(three, y, x));
            }
        }
}

INLINE double walk_all(const walk w)
{
    if (w.s->kind == TAKT_STREAM_READ)
        return read_all(w);
    if (w.s->kind == TAKT_STREAM_COPY)
        copy_all(w);
    else
        triad_all(w);
    return 0;
}

/* The remainder is read as a single stream. */
INLINE double walk_places(const takt_stream *s, size_t places, bool asks)
{
    const size_t apart = s->count / places / BLOCK * BLOCK, done = apart * places;
    const double sum = walk_all((walk){s, 0, apart, places, asks});
    return places == 1 ? sum : sum + walk_all((walk){s, done, s->count - done, 1, asks});
}

static double run(const takt_stream *s)
{
    if (s->ahead > 0)
        return s->streams == 6   ? walk_places(s, 6, true)
               : s->streams == 4 ? walk_places(s, 4, true)
                                 : walk_places(s, 1, true);
    return s->streams == 6   ? walk_places(s, 6, false)
           : s->streams == 4 ? walk_places(s, 4, false)
                             : walk_places(s, 1, false);
}

TAKT_KERNELS(stream, TAKT_KERNEL(stream, SIMD_NAME, SIMD_RANK, run, NULL));
