/* fz_text.c - any bytes as a text model: refused with a message, or read, printed and read again as
 * the same graph; nothing leaks. */
#include "base/ctx.h"
#include "base/mem.h"
#include "fuzz/target.h"
#include "lang/parse.h"

static void again(takt_ctx *ctx, const takt_graph *graph)
{
    takt_graph *copy;
    takt_text text, other;
    takt_text_init(&text, ctx);
    takt_text_init(&other, ctx);
    takt_graph_print(graph, NULL, &text);
    if (text.status == TAKT_OK) {
        const takt_status status =
            takt_parse(ctx, "printed", takt_text_get(&text), text.length, NULL, &copy);
        must(status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_LIMIT);
        if (status == TAKT_OK) {
            takt_graph_print(copy, NULL, &other);
            must(other.status != TAKT_OK ||
                 strcmp(takt_text_get(&text), takt_text_get(&other)) == 0);
        }
        takt_graph_destroy(copy);
    }
    takt_text_deinit(&other);
    takt_text_deinit(&text);
}

/* Every import is the input itself: cycles, repeated layers, endless nesting; only names that begin
 * with x are missing. */
typedef struct self {
    takt_ctx *ctx;
    const uint8_t *data;
    size_t size;
} self;

static takt_status import(void *user, const char *path, void **bytes, size_t *length)
{
    const self *s = user;
    must(path[0] != '/' && strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL);
    must(strlen(path) < 10000);
    *bytes = NULL;
    *length = s->size;
    if (path[0] == 'x')
        return takt_fail(s->ctx, TAKT_E_IMPORT, "there is no %s", path);
    const takt_status status = takt_mem_get(s->ctx, s->size, "file", bytes);
    if (status == TAKT_OK && s->size > 0)
        memcpy(*bytes, s->data, s->size);
    return status;
}

static takt_status table(void *user, const char *path, const char *name, takt_tensor *out)
{
    const self *s = user;
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {2}};
    must(path[0] != '/');
    if (name != NULL && name[0] == 'x')
        return takt_fail(s->ctx, TAKT_E_IMPORT, "there is no %s in %s", name, path);
    const takt_status status = takt_tensor_create(s->ctx, &type, out);
    if (status == TAKT_OK)
        memset(takt_tensor_data(out), 0, takt_tensor_bytes(out));
    return status;
}

/* Limits are low: a long model reaches nothing that a short one does not, and takes the time of
 * fifty. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const takt_config config = {
        .limits = {.bytes = 64 << 20, .tensor_bytes = 1 << 20, .nodes = 200, .trip_count = 100}};
    takt_ctx *ctx;
    takt_graph *graph = NULL;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return 0;
    takt_diagnostics list;
    takt_diagnostics_init(&list, ctx);
    self s = {ctx, data, size};
    takt_tensor weight; /* ref=0 */
    if (table(&s, "w", NULL, &weight) != TAKT_OK)
        memset(&weight, 0, sizeof weight);
    const takt_parse_files files = {.user = &s, .text = import, .tensor = table};
    const bool has_folder = size == 0 || data[size - 1] != '#'; /* texts may lack a file */
    const takt_parse_options options = {.diagnostics = &list,
                                        .files = has_folder ? &files : NULL,
                                        .weights = &weight,
                                        .weight_count = weight.storage != NULL};
    const takt_status status = takt_parse(ctx, "text", (const char *)data, size, &options, &graph);
    must((status == TAKT_OK) == (graph != NULL));
    must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (graph != NULL) {
        must(takt_graph_verify(graph) == TAKT_OK);
        again(ctx, graph);
    }
    takt_text out;
    takt_text_init(&out, ctx);
    takt_diagnostics_render(&list, "text", (const char *)data, size, &out);
    takt_text_deinit(&out);
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
    takt_tensor_release(&weight);
    must(ctx->live_bytes == 0);
    takt_ctx_destroy(ctx);
    return 0;
}
