/* philox.c - known answers of Philox4x32-10, and that elements do not depend on how they are
 * computed. */
#include "base/philox.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* From the reference implementation's published test vectors (Random123, kat_vectors). */
static void known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint32_t got[4];
        takt_philox(rows[r].key, rows[r].counter, got);
        for (int i = 0; i < 4; i++)
            EXPECT(got[i] == rows[r].want[i], "row %zu word %d: %08x, expected %08x", r, i, got[i],
                   rows[r].want[i]);
    }
}

/* The counter layout is (element/4 low, high, stream, step). */
static void word_is_its_counter(void)
{
    const takt_philox_at at = {
        .seed = 0x299f31d0a4093822, .stream = 0x13198a2e, .step = 0x03707344};
    const uint64_t group = 0x05a308d3243f6a88;
    const uint32_t key[2] = {0xa4093822, 0x299f31d0};
    const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344};
    uint32_t want[4];
    takt_philox(key, counter, want);
    for (uint64_t i = 0; i < 4; i++)
        EXPECT(takt_philox_word(&at, 4 * group + i) == want[i], "word %d", (int)i);
}

static void fill_is_the_words(void)
{
    const takt_philox_at at = {.seed = 7, .stream = 3, .step = 11};
    uint32_t got[13];
    for (uint64_t first = 0; first < 6; first++) {
        takt_philox_fill(&at, first, 13, got);
        for (uint64_t i = 0; i < 13; i++)
            EXPECT(got[i] == takt_philox_word(&at, first + i), "word %d from %d", (int)i,
                   (int)first);
    }
}

static void distributions(void)
{
    enum { COUNT = 40000 };
    const takt_philox_at at = {.seed = 42, .stream = 1, .step = 0};
    double sum = 0, square = 0, flat = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        const double u = takt_philox_uniform(takt_philox_word(&at, i));
        EXPECT(u >= 0 && u < 1 && (float)u == u, "uniform %g", u);
        const double z = takt_philox_normal(&at, i);
        flat += u;
        sum += z;
        square += z * z;
    }
    /* Standard errors: 0.289/200, 1/200, 1.41/200; five of them each. */
    EXPECT(fabs(flat / COUNT - 0.5) < 0.008, "mean of uniform %g", flat / COUNT);
    EXPECT(fabs(sum / COUNT) < 0.025, "mean of normal %g", sum / COUNT);
    EXPECT(fabs(square / COUNT - 1) < 0.036, "variance of normal %g", square / COUNT);
}

/* Box and Muller by the C library, with more digits than are compared where long double has them.
 */
static double slow_normal(const takt_philox_at *at, uint64_t element)
{
    const uint64_t even = element & ~UINT64_C(1);
    const long double u = takt_philox_uniform(takt_philox_word(at, even));
    const long double v = takt_philox_uniform(takt_philox_word(at, even | 1));
    const long double angle = 6.283185307179586476925286766559005768L * v;
    return (double)(sqrtl(-2 * log1pl(-u)) * (element % 2 == 0 ? cosl(angle) : sinl(angle)));
}

static void normal_is_accurate(void)
{
    const takt_philox_at at = {.seed = 5, .stream = 9, .step = 2};
    for (uint64_t i = 0; i < 40000; i++) {
        const double got = takt_philox_normal(&at, i), want = slow_normal(&at, i);
        EXPECT(fabs(got - want) <= 1e-15 * (1 + fabs(want)), "normal %llu: %.17g, not %.17g",
               (unsigned long long)i, got, want);
    }
}

/* Bits that every machine must give; printed by a build for aarch64 and confirmed on x86-64. */
static void normal_is_the_same_everywhere(void)
{
    const takt_philox_at at = {.seed = 42, .stream = 1, .step = 3};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < 10000; i++) {
        const double z = takt_philox_normal(&at, i);
        uint64_t bits;
        memcpy(&bits, &z, sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
    EXPECT(hash == UINT64_C(0xb17049ec0008e6f8), "%016llx", (unsigned long long)hash);
}

TEST_MAIN(normal_is_accurate, normal_is_the_same_everywhere, known_answers, word_is_its_counter,
          fill_is_the_words, distributions)
