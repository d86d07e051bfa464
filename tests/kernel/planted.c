/* planted.c - kernels broken on purpose: the checker must catch every one of them.
 *
 * Each is a plausible mistake. It runs through the same check as the real kernels of its family,
 * against the real reference, restricted to the operation it breaks.
 */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "planted.h"

check_fn check_map_f32, check_map_i32, check_reduce_f32, check_rows_f32, check_convert,
    check_rnn_f32;
check_fn check_block_i8, check_block_f32, check_block_panels, check_gemm_f16;

static const takt_kernel *scalar(const char *family)
{
    return takt_kernel_find(family, UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
}

typedef struct planter {
    takt_check *c;
    int (*run)(takt_check *c, check_fn *check, const takt_kernel *reference);
    int planted, missed;
} planter;

static void plant(planter *p, const char *name, check_fn *check, takt_kernel broken,
                  const takt_kernel *reference)
{
    const takt_kernel_unit unit = {"planted", TAKT_ISA_scalar, &broken, 1};
    broken.name = name;
    p->c->unit = &unit;
    p->c->kernel = &broken;
    p->c->random = 1;
    p->planted++;
    if (p->run(p->c, check, reference) == 0) {
        p->missed++;
        printf("FAIL the broken kernel '%s' was not caught\n", name);
    }
}

static void plant_map(planter *p, const planted_map *row)
{
    const bool is_int = strcmp(row->family, "map_i32") == 0;
    const takt_kernel *real = scalar(row->family);
    if (real == NULL)
        return;
    takt_map_table good = {{NULL}}, bad = {{NULL}};
    good.op[row->op] = takt_map_find(real, row->op);
    bad.op[row->op] = row->run;
    const takt_kernel reference = {"reference", 0, NULL, &good}, broken = {NULL, 0, NULL, &bad};
    plant(p, row->name, is_int ? check_map_i32 : check_map_f32, broken, &reference);
}

static void plant_other(planter *p, const planted_other *row, check_fn *check)
{
    const takt_kernel *real = scalar(row->family);
    takt_kernel broken = {NULL, 0, row->run, NULL};
    if (real == NULL)
        return;
    broken.info = real->info;
    plant(p, row->name, check, broken, real);
}

static check_fn *check_of(const char *family)
{
    static const struct {
        const char *family;
        check_fn *check;
    } list[] = {{"rnn_f32", check_rnn_f32},           {"rows_f32", check_rows_f32},
                {"reduce_f32", check_reduce_f32},     {"convert", check_convert},
                {"block_i8", check_block_i8},         {"block_f32", check_block_f32},
                {"block_panels", check_block_panels}, {"gemm_f16", check_gemm_f16}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(list[i].family, family) == 0)
            return list[i].check;
    return NULL;
}

int check_planted(takt_check *c,
                  int (*run)(takt_check *c, check_fn *check, const takt_kernel *reference))
{
    planter p = {c, run, 0, 0};
    const unsigned long cases = c->cases;
    for (size_t i = 0; i < planted_map_count; i++)
        plant_map(&p, &planted_maps[i]);
    for (size_t i = 0; i < planted_other_count; i++)
        plant_other(&p, &planted_reductions[i], check_of(planted_reductions[i].family));
    for (size_t i = 0; i < planted_product_count; i++)
        plant_other(&p, &planted_products[i], check_of(planted_products[i].family));
    c->cases = cases;
    printf("%d of %d broken kernels caught\n", p.planted - p.missed, p.planted);
    return p.missed;
}
