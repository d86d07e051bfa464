/* narrow_choice.c - which arithmetic f16 weights get under `numerics = fast`, on machines with one
 * unit, with both and with neither.
 */
#include "test.h"

#include <string.h>

#include "backend/cpu/narrow.h"

static const takt_gemm_bf16_info slow_info = {.f16_rows = 0},
                                 quick_info = {.f16_rows = 8, .f16_rows_near = 2};
static const takt_kernel f16 = {.name = "f16", .rank = 40},
                         scalar = {.name = "scalar", .info = &quick_info},
                         bf16 = {.name = "bf16", .rank = 20, .info = &slow_info},
                         tiles = {.name = "tiles", .rank = 40, .info = &quick_info};

enum { NEAR = 784 * 256, FAR = 1024 * 1024 }; /* weights */

static void rows_decide_where_both_are_there(void)
{
    EXPECT(takt_narrow_prefers_f16(&f16, &tiles, 1, NEAR), "one row reads the weights once");
    EXPECT(!takt_narrow_prefers_f16(&f16, &tiles, 2, NEAR), "weights come from L2");
    EXPECT(takt_narrow_prefers_f16(&f16, &bf16, 2, NEAR), "f16 keeps more bits");
    EXPECT(takt_narrow_prefers_f16(&f16, &tiles, 1, FAR), "one row reads the weights once");
    EXPECT(takt_narrow_prefers_f16(&f16, &tiles, 7, FAR), "tiles are mostly empty");
    EXPECT(!takt_narrow_prefers_f16(&f16, &tiles, 8, FAR), "tiles are faster");
    EXPECT(!takt_narrow_prefers_f16(&f16, &tiles, 1 << 20, FAR), "tiles are faster");
    for (size_t rows = 0; rows < 2000; rows += 13)
        EXPECT(takt_narrow_prefers_f16(&f16, &bf16, rows, FAR), "%zu rows: f16 keeps more bits",
               rows);
}

static void what_is_not_there_is_not_taken(void)
{
    EXPECT(takt_narrow_prefers_f16(&f16, NULL, 100, FAR), "no bf16 at all");
    EXPECT(takt_narrow_prefers_f16(&f16, &scalar, 100, FAR), "bf16 in scalar code alone");
    EXPECT(!takt_narrow_prefers_f16(NULL, &tiles, 1, FAR), "no f16 at all");
    EXPECT(!takt_narrow_prefers_f16(&scalar, &tiles, 1, FAR), "f16 in scalar code alone");
    EXPECT(!takt_narrow_prefers_f16(&scalar, &scalar, 1, FAR), "neither");
    EXPECT(!takt_narrow_prefers_f16(NULL, NULL, 100, FAR), "neither");
}

/* Chooses among the kernels built here by instruction sets that this machine may lack. */
static void every_machine_chooses(void)
{
    const takt_isa_set all = ~UINT32_C(0);
    static const char *const caps[] = {"scalar", "neon", "avx2", "avx512fp16", "amx"};
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        takt_isa_set set;
        EXPECT(takt_isa_cap(all, caps[i], &set), "%s", caps[i]);
        const takt_kernel *one = takt_kernel_find("gemm_f16", set, NULL, 0, NULL),
                          *other = takt_kernel_find("gemm_bf16", set, NULL, 0, NULL);
        const bool has_f16 = one != NULL && one->rank > 0;
        const bool has_tiles = other != NULL && strncmp(other->name, "amx", 3) == 0;
        EXPECT(takt_narrow_prefers_f16(one, other, 1, FAR) == has_f16, "%s, one row", caps[i]);
        EXPECT(takt_narrow_prefers_f16(one, other, 32, FAR) == (has_f16 && !has_tiles),
               "%s, 32 rows", caps[i]);
    }
}

int main(void)
{
    rows_decide_where_both_are_there();
    what_is_not_there_is_not_taken();
    every_machine_chooses();
    return test_done();
}
