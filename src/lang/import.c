/* import.c - `import "blocks.takt"`: the layers of other texts beneath the model's folder.
 *
 * Each text is read once, however often it is imported, in the order in which it is met. Then the
 * import graph is searched for cycles, which are refused. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lang/unit.h"

enum { MOST_FILES = 256 };

typedef struct edge {
    const takt_ast *at; /* the path, in the importing text */
    size_t to;
    struct edge *next;
} edge;

typedef struct file {
    const char *path;
    const takt_source *source;
    const takt_ast *imports;
    edge *edges;
    size_t depth;
    const edge *walk; /* where the search for cycles continues */
    enum { NEW, OPEN, DONE } mark;
} file;

typedef struct importer {
    takt_unit *u;
    file at[MOST_FILES];
    size_t count;
} importer;

static takt_status complain(importer *m, const file *in, const takt_ast *at, takt_error_id id,
                            const char *message)
{
    const takt_source *s = in->source;
    const takt_place place = {s->text, s->length, at->at, at->length, takt_source_file(s)};
    return takt_diagnostics_add(m->u->e.diagnostics, &place,
                                (takt_diagnostic){.id = (int)id, .message = message});
}

/* ---- reading ---- */

/* The failure that the context has just recorded, unless evaluation cannot continue. */
static takt_status complain_last(importer *m, const file *in, const takt_ast *at,
                                 takt_status status)
{
    char message[TAKT_ERROR_TEXT];
    if (status == TAKT_ERR_MEMORY)
        return status;
    const int id = takt_last_error_info(m->u->e.ctx)->id;
    snprintf(message, sizeof message, "%s", takt_last_error(m->u->e.ctx));
    return complain(m, in, at, (takt_error_id)id, message);
}

static takt_status read_source(importer *m, const char *path, takt_source **source)
{
    takt_elab *e = &m->u->e;
    const takt_parse_files *files = e->options->files;
    void *bytes;
    size_t length;
    TAKT_TRY(files->text(files->user, path, &bytes, &length));
    if (length >= UINT32_MAX) {
        takt_mem_put(e->ctx, bytes, length);
        return takt_fail(e->ctx, TAKT_E_FILE_SIZE, "%s: the text has %zu bytes, more than is read",
                         path, length);
    }
    *source = takt_arena_array(&e->arena, 1, sizeof **source);
    const char *text = takt_arena_text(&e->arena, bytes, length);
    takt_mem_put(e->ctx, bytes, length);
    if (*source == NULL || text == NULL)
        return TAKT_ERR_MEMORY;
    **source = (takt_source){.name = path, .text = text, .length = length, .is_imported = true};
    e->text_length += length;
    return TAKT_OK;
}

static takt_status add_file(importer *m, const file *in, const takt_ast *at, const char *path)
{
    takt_elab *e = &m->u->e;
    takt_function *models, *layers;
    takt_source *source = NULL;
    const takt_status status = read_source(m, path, &source);
    if (status != TAKT_OK)
        return complain_last(m, in, at, status);
    takt_syntax_begin(&e->syntax, source);
    TAKT_TRY(takt_syntax_file(&e->syntax, &models, &layers));
    m->at[m->count++] = (file){
        .path = path, .source = source, .imports = e->syntax.imports, .depth = in->depth + 1};
    return takt_unit_add_layers(m->u, layers);
}

static takt_status check(importer *m, const file *in, const takt_ast *at, const char *path)
{
    const uint64_t depth = m->u->e.ctx->limits.depth;
    const size_t length = strlen(path);
    char message[96];
    if (length < 5 || strcmp(path + length - 5, ".takt") != 0)
        return complain(m, in, at, TAKT_E_IMPORT, "an imported file is called something.takt");
    if (m->u->e.options->files == NULL)
        return complain(m, in, at, TAKT_E_IMPORT, "this text has no folder where files could lie");
    if (m->count == MOST_FILES) {
        snprintf(message, sizeof message, "a model consists of at most %d files", MOST_FILES);
        return complain(m, in, at, TAKT_E_IMPORT, message);
    }
    if (in->depth >= depth) {
        snprintf(message, sizeof message, "imports follow one another more than %llu deep",
                 (unsigned long long)depth);
        return complain(m, in, at, TAKT_E_NESTING, message);
    }
    return TAKT_OK;
}

/* One import of file `from`: finds or reads the file, and records the importer. */
static takt_status follow(importer *m, size_t from, const takt_ast *at)
{
    takt_elab *e = &m->u->e;
    file *in = &m->at[from];
    const char *why;
    const char *path = takt_path_beneath(&e->arena, in->source, at->text, &why);
    if (why != NULL)
        return complain(m, in, at, TAKT_E_IMPORT, why);
    edge *made = takt_arena_array(&e->arena, 1, sizeof *made);
    if (path == NULL || made == NULL)
        return TAKT_ERR_MEMORY;
    *made = (edge){.at = at, .next = in->edges};
    while (made->to < m->count && strcmp(m->at[made->to].path, path) != 0)
        made->to++;
    if (made->to == m->count) {
        const size_t errors = e->diagnostics->complaints;
        TAKT_TRY(check(m, in, at, path));
        if (e->diagnostics->complaints > errors)
            return TAKT_OK;
        TAKT_TRY(add_file(m, in, at, path));
        if (made->to == m->count)
            return TAKT_OK; /* it could not be read */
    }
    in->edges = made;
    return TAKT_OK;
}

/* ---- cycles ---- */

/* "a.takt imports b.takt imports a.takt": the files on the path from `to` down. */
static takt_status circle(importer *m, const size_t *path, size_t count, const edge *back)
{
    char message[TAKT_ERROR_TEXT];
    size_t at = 0, first = 0;
    while (path[first] != back->to)
        first++;
    for (size_t i = first; i < count && at < sizeof message - 1; i++) {
        const int n =
            snprintf(message + at, sizeof message - at, "%s imports ", m->at[path[i]].path);
        at += n > 0 ? (size_t)n : 0;
    }
    if (at < sizeof message - 1)
        snprintf(message + at, sizeof message - at, "%s", m->at[back->to].path);
    return complain(m, &m->at[path[count - 1]], back->at, TAKT_E_IMPORT, message);
}

/* Depth first, with the path in an array instead of recursion. */
static takt_status find_circles(importer *m)
{
    size_t path[MOST_FILES], count = 1;
    path[0] = 0;
    m->at[0].mark = OPEN;
    m->at[0].walk = m->at[0].edges;
    while (count > 0) {
        file *f = &m->at[path[count - 1]];
        const edge *e = f->walk;
        if (e == NULL) {
            f->mark = DONE;
            count--;
            continue;
        }
        f->walk = e->next;
        file *to = &m->at[e->to];
        if (to->mark == OPEN)
            TAKT_TRY(circle(m, path, count, e));
        if (to->mark != NEW)
            continue;
        to->mark = OPEN;
        to->walk = to->edges;
        path[count++] = e->to;
    }
    return TAKT_OK;
}

takt_status takt_unit_import(takt_unit *u)
{
    takt_elab *e = &u->e;
    if (e->syntax.imports == NULL)
        return TAKT_OK;
    importer *m = takt_arena_array(&e->arena, 1, sizeof *m);
    if (m == NULL)
        return TAKT_ERR_MEMORY;
    const char *slash = strrchr(u->source.name, '/');
    m->u = u;
    m->at[0] = (file){.path = slash != NULL ? slash + 1 : u->source.name,
                      .source = &u->source,
                      .imports = e->syntax.imports};
    m->count = 1;
    for (size_t i = 0; i < m->count && !e->diagnostics->is_full; i++)
        for (const takt_ast *at = m->at[i].imports; at != NULL; at = at->next)
            TAKT_TRY(follow(m, i, at));
    return find_circles(m);
}
