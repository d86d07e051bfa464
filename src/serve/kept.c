/* kept.c - texts of the last run: read when a server opens, written when it ends. */
#include <errno.h>
#include <stdio.h>

#include "base/ctx.h"
#include "io/file.h"
#include "serve/serve.h"

enum { MOST = 4096, PATH = 4096 }; /* texts; bytes of a path */

static takt_status path_of(const takt_server *s, size_t number, char to[static PATH])
{
    const int length = snprintf(to, PATH, "%s.%zu", s->options.prompt_cache, number);
    return length > 0 && length < PATH
               ? TAKT_OK
               : takt_fail(s->ctx, TAKT_E_ARGUMENT, "the path of the prompt cache is too long");
}

static bool is_there(const takt_server *s, const char *path)
{
    const takt_files *files = &s->ctx->files;
    takt_file *file = NULL;
    const int error = files->open_read(files->user, path, &file);
    files->close(files->user, file);
    return error != ENOENT;
}

/* Known at the start: at the end it would be too late. */
static takt_status check_place(const takt_server *s, const char *path)
{
    const takt_files *files = &s->ctx->files;
    takt_file *file = NULL;
    const int error = takt_create_private(s->ctx, path, &file);
    files->close(files->user, file); /* not committed: it disappears */
    return error == 0 ? TAKT_OK : takt_fail_file(s->ctx, TAKT_E_FILE_WRITE, path, "write", error);
}

/* A damaged file loses its text but does not stop the server: it is reported, and replaced when the
 * server ends. A file of another model, or one that is not a prompt cache, stops the server: its
 * owner may want to keep it. */
static takt_status read_text(takt_server *s, takt_slot *slot, const char *path)
{
    const takt_status status = takt_generator_load(slot->g, path);
    if (status == TAKT_OK || takt_last_error_info(s->ctx)->id != TAKT_E_PROMPT_CACHE ||
        !takt_is_prompt_cache(s->ctx, path))
        return status;
    takt_log(s->ctx, TAKT_LOG_WARNING, "%s: the text is not used", takt_last_error(s->ctx));
    takt_generator_reset(slot->g);
    return TAKT_OK;
}

takt_status takt_serve_read_kept(takt_server *s)
{
    const size_t most = s->kv != NULL ? MOST : s->slot_count;
    char path[PATH];
    if (s->options.prompt_cache == NULL)
        return TAKT_OK;
    if (s->slot_count == 0 || s->slots[0].g->engine.has_encoder)
        return takt_fail(s->ctx, TAKT_E_OPTION, "there is no model whose prompts could be kept");
    for (size_t i = most; i-- > 0;) { /* the last used is read last */
        TAKT_TRY(path_of(s, i, path));
        if (!is_there(s, path))
            continue;
        takt_slot *slot = &s->slots[s->kv != NULL ? 0 : i];
        TAKT_TRY(read_text(s, slot, path));
        slot->used = ++s->slot_uses;
        if (s->kv != NULL) /* also a text without tokens has a page */
            TAKT_TRY(takt_kv_release(slot->g));
    }
    takt_serve_count_blocks(s);
    return check_place(s, path);
}

/* The slot that was used last before `than`; NULL: there is none with a text. */
static const takt_slot *last_used(const takt_server *s, uint64_t than)
{
    const takt_slot *found = NULL;
    for (size_t i = 0; i < s->slot_count; i++) {
        const takt_slot *slot = &s->slots[i];
        if (slot->g->position > 0 && slot->used < than &&
            (found == NULL || slot->used > found->used))
            found = slot;
    }
    return found;
}

/* Files of earlier runs, which had more texts, would be read as the oldest ones. */
static takt_status remove_from(const takt_server *s, size_t first)
{
    const takt_files *files = &s->ctx->files;
    char path[PATH];
    for (size_t i = first; i < MOST && files->remove != NULL; i++) {
        TAKT_TRY(path_of(s, i, path));
        const bool is_ours = takt_is_prompt_cache(s->ctx, path);
        const int error = is_ours ? files->remove(files->user, path) : 0;
        if (error != 0 && error != ENOENT)
            return takt_fail_file(s->ctx, TAKT_E_FILE_WRITE, path, "remove", error);
    }
    return TAKT_OK;
}

takt_status takt_serve_write_kept(takt_server *s)
{
    char path[PATH];
    size_t count = 0;
    uint64_t than = UINT64_MAX;
    if (s->options.prompt_cache == NULL)
        return TAKT_OK;
    if (s->kv != NULL) {
        for (const takt_kv_kept *k = s->kv->kept; k != NULL && count < MOST; k = k->next) {
            TAKT_TRY(path_of(s, count++, path));
            TAKT_TRY(takt_generator_save_kept(s->slots[0].g, k, path));
        }
        return remove_from(s, count);
    }
    for (const takt_slot *slot; (slot = last_used(s, than)) != NULL; than = slot->used) {
        TAKT_TRY(path_of(s, count++, path));
        TAKT_TRY(takt_generator_save(slot->g, path));
    }
    return remove_from(s, count);
}
