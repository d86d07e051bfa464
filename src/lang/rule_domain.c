/* rule_domain.c - `domain person = "people.txt"`: names from a file or a list, a size, or i32. */
#include <string.h>

#include "base/mem.h"
#include "lang/rule.h"

static takt_domain *complain(takt_frame *f, const takt_ast *at, const char *what)
{
    takt_complain(
        f, at, TAKT_E_RULE,
        "a domain is a file of names, a list of strings, the number of its elements, or i32", "%s",
        what);
    return NULL;
}

/* The names in a file beneath the folder of the text that declares the domain. */
static takt_domain *from_file(takt_frame *f, const takt_function *d)
{
    const takt_parse_files *files = f->e->options->files;
    takt_domain *domain = NULL;
    const char *why;
    void *bytes;
    size_t length;
    if (files == NULL) {
        takt_complain(f, d->body, TAKT_E_IMPORT, NULL,
                      "this text has no folder where files could lie");
        return NULL;
    }
    const char *path = takt_path_beneath(&f->e->arena, d->source, d->body->text, &why);
    if (why != NULL) {
        takt_complain(f, d->body, TAKT_E_IMPORT, NULL, "%s", why);
        return NULL;
    }
    if (path == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    if (files->text(files->user, path, &bytes, &length) != TAKT_OK) {
        takt_complain_last(f, d->body);
        return NULL;
    }
    const takt_status status = takt_domain_read(&f->graph->arena, d->name->text, path,
                                                (takt_span){bytes, length}, &domain);
    takt_mem_put(f->e->ctx, bytes, length);
    if (status != TAKT_OK)
        takt_complain_last(f, d->body);
    return domain;
}

static takt_domain *from_list(takt_frame *f, const takt_function *d)
{
    size_t count = 0, at = 0;
    for (const takt_ast *i = d->body->a; i != NULL; i = i->next, count++)
        if (i->kind != TAKT_A_STRING)
            return complain(f, i, "the names of a domain are strings");
    takt_span *entries = takt_arena_array(&f->graph->arena, count + 1, sizeof *entries);
    takt_domain *domain = NULL;
    bool is_good = entries != NULL;
    for (const takt_ast *i = d->body->a; i != NULL && is_good; i = i->next, at++) {
        entries[at] = (takt_span){takt_arena_text(&f->graph->arena, i->text.at, i->text.length),
                                  i->text.length};
        is_good = entries[at].at != NULL;
    }
    if (!is_good)
        takt_out_of_memory(f);
    else if (takt_domain_of(&f->graph->arena, d->name->text, entries, count, &domain) != TAKT_OK)
        takt_complain_last(f, d->body);
    return domain;
}

static takt_domain *from_size(takt_frame *f, const takt_function *d)
{
    enum { MOST = INT32_MAX };
    const bool is_open = d->body->kind == TAKT_A_NAME && !d->body->is_quoted &&
                         strcmp(d->body->name->text, "i32") == 0;
    if (!is_open && (d->body->kind != TAKT_A_INTEGER || d->body->integer > MOST))
        return complain(f, d->body, "a domain's size is a number from 0 to 2147483647");
    takt_domain *domain = takt_arena_array(&f->graph->arena, 1, sizeof *domain);
    if (domain == NULL)
        takt_out_of_memory(f);
    else
        *domain = (takt_domain){.size = is_open ? (takt_dim)MOST + 1 : (takt_dim)d->body->integer,
                                .is_open = is_open};
    return domain;
}

/* Its name is also the name of a dimension. */
static void bind(takt_frame *f, const takt_function *d, takt_domain *domain)
{
    takt_dim dim;
    domain->name = takt_arena_text(&f->graph->arena, d->name->text, d->name->length);
    if (domain->name == NULL) {
        takt_out_of_memory(f);
        return;
    }
    if (takt_dim_name(f->graph->dims, takt_span_of(d->name->text), &dim) != TAKT_OK ||
        takt_dim_unify(f->graph->dims, dim, domain->size) != TAKT_OK)
        takt_complain_last(f, d->place);
}

void takt_rules_domains(takt_frame *f)
{
    size_t count = 0;
    for (const takt_function *d = f->e->syntax.domains; d != NULL; d = d->next)
        count++;
    if (count == 0)
        return;
    takt_rules *r = takt_rules_of(f);
    if (r == NULL ||
        (r->domains = takt_arena_array(&f->e->arena, count, sizeof *r->domains)) == NULL) {
        takt_out_of_memory(f);
        return;
    }
    for (const takt_function *d = f->e->syntax.domains; d != NULL; d = d->next) {
        bool is_new = true;
        for (size_t i = 0; i < r->domain_count; i++)
            is_new = is_new && strcmp(r->domains[i]->name, d->name->text) != 0;
        if (!is_new) {
            takt_complain(f, d->place, TAKT_E_DUPLICATE, NULL, "there is another domain called %s",
                          d->name->text);
            continue;
        }
        takt_frame there = *f; /* for complaints: the text may have been imported */
        there.function = d;
        takt_domain *domain = d->body->kind == TAKT_A_STRING ? from_file(&there, d)
                              : d->body->kind == TAKT_A_LIST ? from_list(&there, d)
                                                             : from_size(&there, d);
        f->has_failed = f->has_failed || there.has_failed;
        if (domain == NULL)
            continue;
        bind(f, d, domain);
        if (domain->name == NULL) /* out of memory: nothing more is read */
            return;
        r->domains[r->domain_count++] = domain;
    }
}

bool takt_rules_is_open(const takt_frame *f, const takt_symbol *name)
{
    const takt_rules *r = f->e->rules;
    for (size_t i = 0; r != NULL && i < r->domain_count; i++)
        if (r->domains[i]->is_open && strcmp(r->domains[i]->name, name->text) == 0)
            return true;
    return false;
}

const takt_domain *takt_rules_domain(takt_frame *f, const takt_ast *name)
{
    const takt_rules *r = f->e->rules;
    char hint[TAKT_HINT_TEXT];
    takt_nearest near = takt_nearest_to(name->name->text);
    for (size_t i = 0; r != NULL && i < r->domain_count; i++) {
        if (strcmp(r->domains[i]->name, name->name->text) == 0)
            return r->domains[i];
        takt_nearest_try(&near, r->domains[i]->name);
    }
    const char *text = takt_nearest_hint(&near, hint);
    takt_complain(f, name, TAKT_E_UNDEFINED,
                  text != NULL ? text
                               : "domains stand before the models: domain person = \"people.txt\"",
                  "there is no domain called %s", name->name->text);
    return NULL;
}
