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

/* One block of each of the places, `apart` elements apart; `places` is known when compiled. */
static inline void read_blocks(const float *a, size_t apart, size_t places, vf *acc)
{
    for (size_t p = 0; p < places; p++)
        for (size_t v = 0; v < VECTORS; v++)
            acc[(p * VECTORS + v) & 7] =
                vf_add(acc[(p * VECTORS + v) & 7], vf_load(a + p * apart + v * VF));
}

static inline double read_all(const takt_stream *s, size_t places)
{
    const size_t apart = s->count / places;
    vf acc[8] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0),
                 vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
    double sum = 0;
    for (size_t at = 0; at < apart; at += BLOCK)
        read_blocks(s->a + at, apart, places, acc);
    for (int i = 0; i < 8; i++)
        sum += total(acc[i]);
    return sum;
}

static inline void copy_all(const takt_stream *s, size_t places)
{
    const size_t apart = s->count / places;
    const float *a = s->a;
    float *restrict c = s->c;
    for (size_t at = 0; at < apart; at += BLOCK)
        for (size_t p = 0; p < places; p++)
            for (size_t v = 0; v < VECTORS; v++)
                vf_store(c + at + p * apart + v * VF, vf_load(a + at + p * apart + v * VF));
}

static inline void triad_all(const takt_stream *s, size_t places)
{
    const size_t apart = s->count / places;
    const float *a = s->a, *b = s->b;
    float *restrict c = s->c;
    const vf three = vf_set1(3.0f);
    for (size_t at = 0; at < apart; at += BLOCK)
        for (size_t k = 0; k < places * VECTORS; k++) {
            const size_t i = at + k / VECTORS * apart + k % VECTORS * VF;
            vf_store(c + i, vf_fma(three, vf_load(b + i), vf_load(a + i)));
        }
}

static inline double walk(const takt_stream *s, size_t places)
{
    if (s->kind == TAKT_STREAM_READ)
        return read_all(s, places);
    if (s->kind == TAKT_STREAM_COPY)
        copy_all(s, places);
    else
        triad_all(s, places);
    return 0;
}

static double run(const takt_stream *s)
{
    return s->streams == 4 ? walk(s, 4) : walk(s, 1);
}

TAKT_KERNELS(stream, TAKT_KERNEL(stream, SIMD_NAME, SIMD_RANK, run, NULL));
