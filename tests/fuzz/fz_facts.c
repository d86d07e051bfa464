/* fz_facts.c - any bytes as facts: the first byte chooses the relation, the rest is its text. */
#include "logic/facts.h"

#include "base/ctx.h"
#include "fuzz/target.h"
#include "util/meter.h"

static void check(const takt_fact_table *f, const takt_domain *const *domains)
{
    for (size_t i = 0; i < f->count; i++) {
        for (int k = 0; k < f->arity; k++)
            must((takt_dim)f->tuples[i * (size_t)f->arity + (size_t)k] < domains[k]->size);
        must(f->weights == NULL || (f->weights[i] >= 0 && f->weights[i] <= 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char people[] = "ann\nbo\n# nobody\n\ncy \xc3\xa9\n\"dee\"\n";
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    const takt_config config = {.allocator = &allocator, .limits.bytes = 1 << 28};
    takt_ctx *ctx;
    takt_arena arena;
    takt_domain *person, number = {.name = "number", .size = 100}, *own;
    takt_fact_table facts;
    if (size == 0 || takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    takt_arena_init(&arena, ctx);
    must(takt_domain_read(&arena, "person", "people", (takt_span){people, sizeof people - 1},
                          &person) == TAKT_OK);
    const takt_domain *const domains[] = {person, &number, person};
    const takt_span text = {(const char *)data + 1, size - 1};
    const takt_facts_of of = {
        .name = "r", .arity = data[0] % 4, .domains = domains, .may_weigh = data[0] % 8 < 4};
    const size_t before = m.live;
    takt_status status = takt_facts_read(ctx, &of, "fuzz", text, &facts);
    must(m.peak <= before + 64 * size + 65536);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    if (status == TAKT_OK)
        check(&facts, domains);
    takt_facts_release(&facts);
    /* The same bytes as the names of a domain. */
    status = takt_domain_read(&arena, "own", "fuzz", text, &own);
    must(status != TAKT_ERR_INTERNAL);
    for (takt_dim i = 0; status == TAKT_OK && i < own->size; i++) {
        uint32_t index;
        must(takt_domain_find(own, own->entries[i], &index) && (takt_dim)index == i);
    }
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
    must(m.live == 0);
    return 0;
}
