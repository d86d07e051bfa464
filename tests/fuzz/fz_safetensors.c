/* fz_safetensors.c - any bytes as safetensors: every weight lies inside, without holes. */
#include "fuzz/target.h"
#include "io/safetensors/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const takt_config config = {.limits.bytes = 1 << 28};
    takt_ctx *ctx;
    takt_arena arena;
    takt_weight_list list;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    takt_arena_init(&arena, ctx);
    const takt_status status = takt_safetensors_read(&arena, "fuzz", data, size, &list);
    must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
    uint64_t total = 0;
    for (size_t i = 0; status == TAKT_OK && i < list.count; i++) {
        size_t bytes;
        must(takt_type_bytes(&list.at[i].type, &bytes) && bytes == list.at[i].bytes);
        must(list.at[i].offset <= size && bytes <= size - list.at[i].offset);
        total += bytes;
    }
    must(status != TAKT_OK || total <= size);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
    return 0;
}
