/* kernel_registry.c - instruction sets by name, caps on them, and the choice of a kernel. */
#include "test.h"

#include <string.h>

#include "kernel/kernel.h"
#include "kernel/map/map.h"

#define BIT(isa) (UINT32_C(1) << TAKT_ISA_##isa)

static void names(void)
{
    EXPECT_TEXT(takt_isa_name(TAKT_ISA_scalar), "scalar");
    EXPECT_TEXT(takt_isa_name(TAKT_ISA_avx512vnni), "avx512vnni");
    EXPECT(takt_isa_name((takt_isa)31) == NULL);
}

static void detection_has_scalar_and_one_architecture(void)
{
    const takt_isa_set arm = BIT(neon) | BIT(dotprod) | BIT(i8mm) | BIT(fp16) | BIT(fhm) |
                             BIT(bf16) | BIT(sve256) | BIT(sve512);
    const takt_isa_set here = takt_isa_detect();
    EXPECT_IS((here & BIT(scalar)), !=, 0);
    EXPECT((here & arm) == 0 || (here & ~(arm | BIT(scalar))) == 0, "set 0x%x", (unsigned)here);
    EXPECT(takt_isa_detect() == here, "the second answer differs");
#ifdef __aarch64__
    EXPECT_IS((here & BIT(neon)), !=, 0);
#endif
}

static takt_isa_set capped(takt_isa_set set, const char *cap)
{
    takt_isa_set result = 0;
    EXPECT(takt_isa_cap(set, cap, &result), "cap %s", cap);
    return result;
}

static void caps(void)
{
    const takt_isa_set x86 = BIT(scalar) | BIT(avx2) | BIT(avx512) | BIT(avx512vnni) | BIT(amx);
    const takt_isa_set arm = BIT(scalar) | BIT(neon) | BIT(dotprod) | BIT(i8mm);
    EXPECT_EQ(capped(x86, "avx2"), (BIT(scalar) | BIT(avx2)));
    EXPECT_EQ(capped(x86, "avx512"), (BIT(scalar) | BIT(avx2) | BIT(avx512)));
    EXPECT_EQ(capped(x86, "amx"), x86);
    EXPECT_EQ(capped(x86, "scalar"), BIT(scalar));
    EXPECT(capped(x86, "neon") == BIT(scalar), "another architecture's cap");
    EXPECT_EQ(capped(arm, "neon"), (BIT(scalar) | BIT(neon)));
    EXPECT_EQ(capped(arm, "sve512"), arm);
    takt_isa_set result = 0;
    EXPECT(!takt_isa_cap(arm, "sse9", &result) && result == arm);
    EXPECT(!takt_isa_cap(arm, "", &result));
}

/* In every family, on any machine, one row is chosen and the others state why not. */
static void choice_has_reasons(void)
{
    enum { MOST = 64 };
    takt_kernel_choice rows[MOST];
    for (size_t u = 0; u < takt_kernel_unit_count; u++) {
        const char *family = takt_kernel_units[u]->family;
        size_t count = 0, chosen = 0;
        const takt_kernel *best = takt_kernel_find(family, takt_isa_detect(), rows, MOST, &count);
        EXPECT(best != NULL, "%s has no kernel that runs here", family);
        for (size_t i = 0; i < count; i++) {
            chosen += rows[i].refused == NULL;
            EXPECT(rows[i].refused != NULL || rows[i].kernel == best, "%s", family);
            EXPECT(rows[i].refused == NULL || rows[i].kernel != best, "%s", family);
        }
        EXPECT(chosen == 1, "%s: %zu chosen", family, chosen);
    }
}

static void scalar_cap_gives_scalar(void)
{
    size_t count = 0;
    const takt_kernel *k = takt_kernel_find("map_f32", BIT(scalar), NULL, 0, &count);
    EXPECT(k != NULL && strcmp(k->name, "scalar") == 0);
    EXPECT(takt_kernel_find("map_f32", 0, NULL, 0, NULL) == NULL);
    EXPECT(takt_kernel_find("no such family", ~UINT32_C(0), NULL, 0, &count) == NULL && count == 0);
    takt_kernel_choice one[1];
    EXPECT(takt_kernel_find("map_f32", takt_isa_detect(), one, 1, &count) != NULL && count == 1);
}

/* Two kernels of one family never share a name: users and bug reports refer to it. */
static void kernel_names_are_unique(void)
{
    for (size_t u = 0; u < takt_kernel_unit_count; u++)
        for (size_t v = 0; v < takt_kernel_unit_count; v++) {
            const takt_kernel_unit *a = takt_kernel_units[u], *b = takt_kernel_units[v];
            if (strcmp(a->family, b->family) != 0)
                continue;
            for (size_t i = 0; i < a->count; i++)
                for (size_t k = 0; k < b->count; k++)
                    EXPECT((u == v && i == k) ||
                               strcmp(a->kernels[i].name, b->kernels[k].name) != 0,
                           "%s/%s twice", a->family, a->kernels[i].name);
        }
}

static void map_operations(void)
{
    EXPECT_EQ(takt_map_op_of("add"), TAKT_MAP_ADD);
    EXPECT_EQ(takt_map_op_of("nothing"), TAKT_MAP_OP_COUNT);
    EXPECT_EQ(takt_map_operands(TAKT_MAP_SELECT), 3);
    EXPECT_EQ(takt_map_operands(TAKT_MAP_EXP), 1);
    EXPECT(takt_map_is_predicate(TAKT_MAP_LT) && !takt_map_is_predicate(TAKT_MAP_ADD));
    EXPECT_TEXT(takt_map_name(TAKT_MAP_IS_NAN), "is_nan");
    EXPECT(takt_map_name(TAKT_MAP_OP_COUNT) == NULL);
}

TEST_MAIN(names, detection_has_scalar_and_one_architecture, caps, choice_has_reasons,
          scalar_cap_gives_scalar, kernel_names_are_unique, map_operations)
