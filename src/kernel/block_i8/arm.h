/* arm.h - the operations of body.h by sdot: four bytes of a row against four levels of each lane.
 */
#include <arm_neon.h>

#define LEVEL_SHIFT(bits) ((bits) == 8 ? 128 : 0)

typedef int8x16_t act;

static inline act act_load(const int8_t *p)
{
    return vld1q_s8(p);
}

/* Levels of 8 bits less 128, so that sdot, which is signed, reads them correctly. */
static inline __attribute__((always_inline)) int32x4_t levels(int32x4_t word, const unsigned bits,
                                                              const unsigned j)
{
    const uint8x16_t w = vreinterpretq_u8_s32(word);
    if (bits == 8)
        return vreinterpretq_s32_u8(veorq_u8(w, vdupq_n_u8(0x80)));
    const uint8x16_t down = j == 0 ? w : (uint8x16_t)(w >> (unsigned char)(bits * j));
    return vreinterpretq_s32_u8(
        bits * (j + 1) == 8 ? down : vandq_u8(down, vdupq_n_u8((uint8_t)((1U << bits) - 1))));
}

static inline __attribute__((always_inline)) int32x4_t dot4(int32x4_t sum, int32x4_t level, act a,
                                                            const int lane, const unsigned bits)
{
    const int8x16_t w = vreinterpretq_s8_s32(level);
    (void)bits;
    return lane == 0   ? vdotq_laneq_s32(sum, w, a, 0)
           : lane == 1 ? vdotq_laneq_s32(sum, w, a, 1)
           : lane == 2 ? vdotq_laneq_s32(sum, w, a, 2)
                       : vdotq_laneq_s32(sum, w, a, 3);
}

/* Sixteen k of one panel of 4 bits for one row. The compiler keeps more of this in flight than it
 * has registers for. */
#define ROW_STEP_4 row_step_4
#define SDOTS(s, u, v, l, h)                                                                       \
    "sdot %" s ".4s, " u ", %[x].4b[" l "]\n\tsdot %" s ".4s, " v ", %[x].4b[" h "]\n\t"
#define HALVES(i, t)                                                                               \
    "and %[u" i "].16b, %[" t "].16b, %[mask].16b\n\tushr %[" t "].16b, %[" t "].16b, #4\n\t"
#define LANES(i, t, l, h) SDOTS("[s" i "]", "%[u" i "].16b", "%[" t "].16b", l, h)

static inline __attribute__((always_inline)) void row_step_4(int32x4_t *s, const uint32_t *w, act x)
{
    uint8x16_t t0, t1, t2, t3, t4, t5, t6, t7, u0, u1, u2, u3;
    const uint8x16_t mask = vdupq_n_u8(15);
    __asm__("ldp %q[t0], %q[t1], [%[w]]\n\tldp %q[t2], %q[t3], [%[w], #32]\n\t"
            "ldp %q[t4], %q[t5], [%[w], #64]\n\tldp %q[t6], %q[t7], [%[w], #96]\n\t" HALVES(
                "0", "t0") HALVES("1", "t1") HALVES("2", "t2") HALVES("3", "t3")
                LANES("0", "t0", "0", "1") LANES("1", "t1", "0", "1") LANES("2", "t2", "0", "1")
                    LANES("3", "t3", "0", "1") HALVES("0", "t4") HALVES("1", "t5") HALVES("2", "t6")
                        HALVES("3", "t7") LANES("0", "t4", "2", "3") LANES("1", "t5", "2", "3")
                            LANES("2", "t6", "2", "3") LANES("3", "t7", "2", "3")
            : [s0] "+w"(s[0]), [s1] "+w"(s[1]), [s2] "+w"(s[2]), [s3] "+w"(s[3]), [t0] "=&w"(t0),
              [t1] "=&w"(t1), [t2] "=&w"(t2), [t3] "=&w"(t3), [t4] "=&w"(t4), [t5] "=&w"(t5),
              [t6] "=&w"(t6), [t7] "=&w"(t7), [u0] "=&w"(u0), [u1] "=&w"(u1), [u2] "=&w"(u2),
              [u3] "=&w"(u3)
            : [w] "r"(w), [mask] "w"(mask), [x] "w"(x), "m"(*(const uint32_t(*)[32])w));
}
