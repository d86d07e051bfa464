/* file.c - files that a text refers to: their paths, and tables read from them. */
#include <string.h>

#include "lang/elab.h"

static const char *wrong_path(takt_span path)
{
    enum { LONGEST = 255 };
    size_t start = 0;
    if (path.length == 0 || path.length > LONGEST)
        return "a path has 1 to 255 bytes";
    for (size_t i = 0; i <= path.length; i++) {
        if (i < path.length && ((unsigned char)path.at[i] < ' ' || path.at[i] == '\\'))
            return "a path has no backslashes and no control characters";
        if (i < path.length && path.at[i] != '/')
            continue;
        const takt_span part = {path.at + start, i - start};
        if (part.length == 0 || takt_span_is(part, ".") || takt_span_is(part, ".."))
            return "a path leads downwards from the text's folder: no '/' at its ends, no '.' or "
                   "'..' in it";
        start = i + 1;
    }
    return NULL;
}

const char *takt_path_beneath(takt_arena *arena, const takt_source *from, takt_span path,
                              const char **why)
{
    *why = wrong_path(path);
    if (*why != NULL)
        return NULL;
    const char *slash = from->is_imported ? strrchr(from->name, '/') : NULL;
    return takt_arena_format(arena, "%.*s%.*s", slash != NULL ? (int)(slash + 1 - from->name) : 0,
                             from->name, (int)path.length, path.at);
}

/* The source text of the call, as the user sees it. */
static const takt_source *source_of(const takt_frame *f)
{
    while (f->function->source->is_builtin && f->caller != NULL)
        f = f->caller;
    return f->function->source;
}

static bool has_type(takt_frame *f, const takt_ast *at, const char *path, const takt_type *want,
                     const takt_type *got)
{
    char left[TAKT_TYPE_TEXT], right[TAKT_TYPE_TEXT];
    if (want == NULL || takt_type_same(f->graph->dims, want, got))
        return true;
    takt_complain(f, at, TAKT_E_SHAPE, NULL, "%s holds %s, not %s", path,
                  takt_type_text(f->graph->dims, got, left),
                  takt_type_text(f->graph->dims, want, right));
    return false;
}

bool takt_elab_file(takt_frame *f, const takt_ast *at, const takt_value *path,
                    const takt_value *name, const takt_type *type, takt_tensor *out)
{
    const takt_parse_files *files = f->e->options->files;
    const char *why, *key = NULL;
    *out = (takt_tensor){0};
    if (name != NULL && name->kind != TAKT_V_STRING)
        return takt_complain(f, at, TAKT_E_CALL, NULL, "the name of a tensor is a string").b;
    if (files == NULL)
        return takt_complain(f, at, TAKT_E_IMPORT, NULL,
                             "this text has no folder where files could lie")
            .b;
    const char *full = takt_path_beneath(&f->arena, source_of(f), path->text, &why);
    if (why != NULL)
        return takt_complain(f, at, TAKT_E_IMPORT, NULL, "%s", why).b;
    if (name != NULL)
        key = takt_arena_text(&f->arena, name->text.at, name->text.length);
    if (full == NULL || (name != NULL && key == NULL))
        return takt_out_of_memory(f).b;
    if (files->tensor(files->user, full, key, out) != TAKT_OK)
        return takt_complain_last(f, at).b;
    if (has_type(f, at, full, type, &out->type))
        return true;
    takt_tensor_release(out);
    *out = (takt_tensor){0};
    return false;
}
