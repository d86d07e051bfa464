/* syntax_file.c - models, layers and graph literals: everything with parameters and a body. */
#include "lang/syntax.h"

takt_ast *takt_syntax_declared(takt_syntax *s, takt_ast *node, const takt_ast *name)
{
    node->name = name->name;
    node->is_quoted = name->is_quoted;
    if (takt_syntax_take(s, TAKT_T_COLON) && (node->a = takt_syntax_type(s)) == NULL)
        return NULL;
    if (takt_syntax_take(s, TAKT_T_ASSIGN) && (node->b = takt_syntax_expression(s)) == NULL)
        return NULL;
    return takt_syntax_close(s, node);
}

static takt_ast *parameter(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "a parameter's name") : NULL;
    return name != NULL ? takt_syntax_declared(s, node, name) : NULL;
}

/* name: type = default, ... up to ')'. */
static bool parameters(takt_syntax *s, takt_ast **list)
{
    takt_ast **end = list;
    *list = NULL;
    if (!takt_syntax_expect(s, TAKT_T_OPEN, "before the parameters"))
        return false;
    while (s->token.kind != TAKT_T_CLOSE) {
        *end = parameter(s);
        if (*end == NULL)
            return false;
        end = &(*end)->next;
        if (s->token.kind != TAKT_T_CLOSE && !takt_syntax_take(s, TAKT_T_COMMA))
            return takt_syntax_expect(s, TAKT_T_CLOSE, "or a comma");
    }
    takt_syntax_advance(s);
    return true;
}

/* -> type, or -> (name: type, ...) */
static bool results(takt_syntax *s, takt_function *f)
{
    if (!takt_syntax_take(s, TAKT_T_ARROW))
        return true;
    f->has_results = true;
    if (s->token.kind == TAKT_T_OPEN)
        return parameters(s, &f->results);
    takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
    if (node == NULL || (node->a = takt_syntax_type(s)) == NULL)
        return false;
    f->results = takt_syntax_close(s, node);
    return true;
}

/* seed=7 */
static bool options(takt_syntax *s, takt_function *f)
{
    takt_ast **end = &f->options;
    while (s->token.kind == TAKT_T_NAME) {
        *end = parameter(s);
        if (*end == NULL)
            return false;
        end = &(*end)->next;
    }
    return true;
}

/* The word is current. */
static takt_function *function(takt_syntax *s, bool is_named)
{
    takt_function *f = takt_arena_array(s->arena, 1, sizeof *f);
    if (f == NULL) {
        s->status = TAKT_ERR_MEMORY;
        return NULL;
    }
    f->source = s->source;
    f->place = takt_syntax_node(s, TAKT_A_NAME, &s->token);
    takt_syntax_advance(s);
    if (is_named && (f->place = takt_syntax_name(s, "a name")) != NULL)
        f->name = f->place->name;
    if (f->place == NULL || !parameters(s, &f->parameters) || !results(s, f) || !options(s, f))
        return NULL;
    bool good;
    f->body = takt_syntax_block(s, &good);
    if (is_named && f->body != NULL && f->body->kind == TAKT_A_DOC) {
        f->doc = f->body;
        while (f->body != NULL && f->body->kind == TAKT_A_DOC)
            f->body = f->body->next;
    }
    return good ? f : NULL;
}

takt_ast *takt_syntax_graph(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_GRAPH, &s->token);
    if (node == NULL || (node->function = function(s, false)) == NULL)
        return NULL;
    return node;
}

/* To the next model, layer, import or domain at the start of a line. */
static void recover(takt_syntax *s)
{
    while (s->token.kind != TAKT_T_END &&
           !(s->token.starts_line && (takt_syntax_is(s, "model") || takt_syntax_is(s, "layer") ||
                                      takt_syntax_is(s, "import") || takt_syntax_is(s, "domain"))))
        takt_syntax_advance(s);
}

/* import "blocks.takt" */
static void import(takt_syntax *s)
{
    takt_syntax_advance(s);
    takt_ast *path = NULL;
    if (s->token.kind != TAKT_T_STRING || s->token.starts_line)
        takt_syntax_fail(s, "import \"blocks.takt\"", "expected a path in quotes, found");
    else
        path = takt_syntax_node(s, TAKT_A_STRING, &s->token);
    if (path == NULL) {
        recover(s);
        return;
    }
    path->text = s->token.text;
    takt_syntax_advance(s);
    *s->last_import = path;
    s->last_import = &path->next;
}

takt_status takt_syntax_file(takt_syntax *s, takt_function **models, takt_function **layers)
{
    *models = *layers = NULL;
    while (s->token.kind != TAKT_T_END && s->status == TAKT_OK) {
        const bool is_layer = takt_syntax_is(s, "layer");
        s->depth = s->block_depth = 0;
        if (takt_syntax_is(s, "import")) {
            import(s);
            continue;
        }
        if (takt_syntax_is(s, "domain")) {
            takt_syntax_domain(s);
            continue;
        }
        if (!is_layer && !takt_syntax_is(s, "model")) {
            s->last_end = 0;
            takt_syntax_fail(
                s,
                "a text has models, `model name(inputs) { ... }`, layers, "
                "`layer name(parameters) { ... }`, imports, `import \"file.takt\"`, and domains of "
                "rules, `domain name = \"names.txt\"`",
                "expected 'model', 'layer' or 'import', found");
            s->is_skipping = true;
            takt_syntax_advance(s);
            recover(s);
            s->is_skipping = false;
            continue;
        }
        takt_function *f = function(s, true);
        if (f == NULL) {
            recover(s);
            continue;
        }
        takt_function ***const end = is_layer ? &layers : &models;
        **end = f;
        *end = &f->next;
    }
    return s->status;
}
