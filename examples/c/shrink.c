/* shrink.c - a smaller model: channels go, then layers become integers.
 *
 *     cc shrink.c -ltakt -lm -pthread && ./a.out examples/spirals.takt examples/spirals.csv
 * out.onnx
 */
#include <stdio.h>
#include <stdlib.h>

#include <takt/takt.h>

static int print(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) != length;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "examples/spirals.takt";
    const char *samples = argc > 2 ? argv[2] : "examples/spirals.csv";
    takt_ctx *ctx;
    takt_model *model = NULL, *thin = NULL, *small = NULL;
    takt_data *data = NULL;
    takt_quantize_summary done = {0};
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return EXIT_FAILURE;
    takt_status status = takt_model_load(ctx, path, NULL, &model);
    if (status == TAKT_OK)
        status = takt_data_open(ctx, samples, NULL, &data);
    const takt_prune_options prune = {.amount = 0.25};
    if (status == TAKT_OK)
        status = takt_model_prune(model, &prune, TAKT_FORMAT_TEXT, print, NULL, &thin);
    const takt_quantize_options quantize = {.calib = data, .size_first = true, .summary = &done};
    if (status == TAKT_OK)
        status = takt_model_quantize(thin, &quantize, TAKT_FORMAT_TEXT, print, NULL, &small);
    if (status == TAKT_OK && argc > 3)
        status = takt_model_save(small, argv[3], NULL);
    if (status != TAKT_OK)
        fprintf(stderr, "%s\n", takt_last_error(ctx));
    takt_model_destroy(small);
    takt_model_destroy(thin);
    takt_model_destroy(model);
    takt_data_destroy(data);
    takt_ctx_destroy(ctx);
    return status == TAKT_OK && done.bytes_after < done.bytes_before ? EXIT_SUCCESS : EXIT_FAILURE;
}
