/* measure.c - sessions to measure, the ceilings' file, and files to write. */
#define _POSIX_C_SOURCE 200809L
#include "measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t tool_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- sessions ---- */

static int open_session(takt_tool *t, tool_bench *b)
{
    int code = tool_load_inputs(&b->run);
    if (code != TAKT_EXIT_OK)
        return code;
    const uint64_t start = tool_now_ns();
    b->plan = tool_make_plan(t, b->model, &b->run.sizes, false, &code);
    b->plan_ns = (double)(tool_now_ns() - start);
    if (b->plan == NULL)
        return code;
    b->session = tool_make_session(t, b->plan, &code);
    return code != TAKT_EXIT_OK ? code : tool_bind_inputs(&b->run, b->session);
}

int tool_bench_open(takt_tool *t, tool_bench *b)
{
    int code;
    *b = (tool_bench){.run = {.t = t}};
    const uint64_t start = tool_now_ns();
    b->model = tool_open_model(t, &code);
    b->load_ns = (double)(tool_now_ns() - start);
    if (b->model == NULL)
        return code;
    b->run.model = b->model;
    code = open_session(t, b);
    if (code != TAKT_EXIT_OK)
        tool_bench_close(b);
    return code;
}

void tool_bench_close(tool_bench *b)
{
    takt_session_destroy(b->session);
    takt_plan_destroy(b->plan);
    if (b->run.t != NULL)
        tool_free_inputs(&b->run);
    takt_model_destroy(b->model);
    *b = (tool_bench){.run = {.t = NULL}};
}

/* ---- ceilings ---- */

/* Makes the folders of `path`, as far as possible. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
}

/* $XDG_CACHE_HOME/takt/<what>-<fingerprint>.json, or beneath ~/.cache. */
static bool cache_path(const char *what, char *to, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char fingerprint[17];
    int length = -1;
    takt_machine_fingerprint(fingerprint);
    if (cache != NULL && cache[0] == '/')
        length = snprintf(to, size, "%s/takt/%s-%s.json", cache, what, fingerprint);
    else if (home != NULL && home[0] == '/')
        length = snprintf(to, size, "%s/.cache/takt/%s-%s.json", home, what, fingerprint);
    if (length < 0 || (size_t)length >= size)
        return false;
    make_folders(to);
    return true;
}

int tool_ceilings(takt_tool *t, bool again, takt_ceilings *ceilings)
{
    char path[2048];
    const bool has_path = cache_path("ceilings", path, sizeof path);
    return tool_finish(t, takt_ceilings_get(t->ctx, has_path ? path : NULL, again, ceilings));
}

bool tool_ceilings_known(takt_tool *t, takt_ceilings *ceilings)
{
    char path[2048];
    return cache_path("ceilings", path, sizeof path) && access(path, R_OK) == 0 &&
           takt_ceilings_get(t->ctx, path, false, ceilings) == TAKT_OK && ceilings->from_file;
}

int tool_system_rates(takt_tool *t, bool again, takt_system_rates *rates)
{
    char path[2048], folder[2048];
    const bool has_path = cache_path("system", path, sizeof path);
    snprintf(folder, sizeof folder, "%s", has_path ? path : ".");
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
    return tool_finish(t,
                       takt_system_rates_get(t->ctx, folder, has_path ? path : NULL, again, rates));
}

/* ---- files ---- */

int tool_to_buffer(void *user, const char *text, size_t length)
{
    tool_buffer *b = user;
    if (length > b->capacity - b->length) {
        const size_t capacity = 2 * (b->length + length) + 256;
        char *at = realloc(b->at, capacity);
        if (at == NULL)
            return 1;
        b->at = at;
        b->capacity = capacity;
    }
    memcpy(b->at + b->length, text, length);
    b->length += length;
    return 0;
}

static int fail_to_write(const takt_tool *t, const char *path, int error)
{
    takt_error e = {.status = TAKT_ERR_IO, .id = 3003, .offset = -1};
    snprintf(e.message, sizeof e.message, "%s cannot be written: %s", path, strerror(error));
    if (error == ENOSPC || error == EDQUOT)
        snprintf(e.hint, sizeof e.hint, "free some space, or write to another place");
    return tool_report_error(t, &e);
}

int tool_cannot_write(const takt_tool *t, const char *path)
{
    return fail_to_write(t, path, errno);
}

bool tool_can_write(const takt_tool *t, const char *path, int *code)
{
    struct stat found;
    const bool is_new = stat(path, &found) != 0;
    if (strcmp(path, "-") == 0)
        return true;
    if (!is_new && S_ISFIFO(found.st_mode) && access(path, W_OK) == 0)
        return true; /* a reader would mistake an opening bracket for the end */
    FILE *file = fopen(path, "ab");
    if (file == NULL) {
        *code = tool_cannot_write(t, path);
        return false;
    }
    fclose(file);
    if (is_new)
        remove(path);
    return true;
}

bool tool_is_plain(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 ? S_ISREG(found.st_mode) : errno == ENOENT;
}

/* Replaces the file as a whole; false if that cannot be started here. */
static bool replace(const takt_tool *t, const tool_buffer *b, const char *path, int *error)
{
    const takt_files *files = takt_ctx_files(t->ctx);
    takt_file *file;
    if (!tool_is_plain(path) || files->create(files->user, path, &file) != 0)
        return false;
    *error = files->write(files->user, file, b->at, b->length);
    if (*error == 0)
        *error = files->commit(files->user, file);
    files->close(files->user, file);
    return true;
}

int tool_write_through(const tool_buffer *b, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(b->at, 1, b->length, file) == b->length;
    good = (file == NULL || fclose(file) == 0) && good;
    return good ? 0 : (errno != 0 ? errno : EIO);
}

int tool_buffer_save(const takt_tool *t, tool_buffer *b, const char *path)
{
    int error = 0;
    if (strcmp(path, "-") == 0)
        fwrite(b->at, 1, b->length, stdout); /* main() checks the stream's state */
    else if (!replace(t, b, path, &error))
        error = tool_write_through(b, path);
    free(b->at);
    *b = (tool_buffer){0};
    return error != 0 ? fail_to_write(t, path, error) : TAKT_EXIT_OK;
}

/* ---- figures ---- */

bool tool_duration(const takt_tool *t, tool_flag_id id, uint64_t fallback, uint64_t *ns)
{
    const char *text = tool_text_of(t, id);
    *ns = fallback;
    if (text == NULL || tool_read_number(TAKT_FLAG_TIME, text, ns))
        return true;
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || seconds > 1e6) {
        tool_usage_error(t, 1003, "write 2, 0.5 or 500ms", "--%s %s is not a duration",
                         tool_flags[id].name, text);
        return false;
    }
    *ns = (uint64_t)(seconds * 1e9);
    return true;
}
