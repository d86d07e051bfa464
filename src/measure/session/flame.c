/* flame.c - a profile as a flame graph: one SVG file, drawn without a script, that a browser can
 * zoom (click) and search (the field above). */
#include <math.h>
#include <string.h>

#include "measure/report/svg.h"
#include "measure/session/measure.h"

enum { DEPTH = 8, WIDE = 1200, TOP = 46, ROW = 22, LETTER = 8 };

typedef struct frame {
    takt_span name;
    int depth;
    double from, ns;
    const takt_profile_row *row; /* of a step; NULL: a layer or the run */
} frame;

typedef struct flame {
    frame *frames;
    size_t count;
    size_t open[DEPTH]; /* indices of the frames that the last step was in */
    int open_count, deepest;
    double total;
} flame;

/* "stage_0.conv_0: conv" as run, stage_0, conv_0, and the step itself. */
static int path_of(const takt_profile_row *row, takt_span path[DEPTH])
{
    const char *name;
    size_t length = takt_step_layer(row->step, &name);
    int depth = 0;
    path[depth++] = (takt_span){"run", 3};
    while (length > 0 && depth < DEPTH - 1) {
        const char *dot = depth < DEPTH - 2 ? memchr(name, '.', length) : NULL;
        const size_t part = dot != NULL ? (size_t)(dot - name) : length;
        path[depth++] = (takt_span){name, part};
        name += part + (dot != NULL);
        length -= part + (dot != NULL);
    }
    path[depth++] = (takt_span){row->step->name, strlen(row->step->name)};
    return depth;
}

static bool is_same(takt_span a, takt_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The step's frame, beneath frames that its neighbour may have opened already. */
static void add_row(flame *f, const takt_profile_row *row)
{
    takt_span path[DEPTH];
    const int depth = path_of(row, path);
    int shared = 0;
    while (shared < f->open_count && shared < depth - 1 && f->frames[f->open[shared]].row == NULL &&
           is_same(f->frames[f->open[shared]].name, path[shared]))
        shared++;
    for (int d = shared; d < depth; d++) {
        f->frames[f->count] = (frame){.name = path[d], .depth = d, .from = f->total};
        f->open[d] = f->count++;
    }
    f->open_count = depth;
    f->deepest = depth > f->deepest ? depth : f->deepest;
    f->frames[f->open[depth - 1]].row = row;
    for (int d = 0; d < depth; d++)
        f->frames[f->open[d]].ns += row->median_ns;
    f->total += row->median_ns;
}

/* In hundredths, so that no locale can change the decimal point to a comma. */
static void attribute(takt_text *text, const char *name, double value)
{
    const long long whole = llround(value * 100);
    takt_text_add(text, " %s=\"%lld.%02lld\"", name, whole / 100, whole % 100);
}

static void escaped(takt_text *text, takt_span from, size_t most)
{
    while (most > 0 && most < from.length && ((unsigned char)from.at[most] & 0xc0) == 0x80)
        most--; /* not within a character */
    takt_svg_span(text, (takt_span){from.at, most < from.length ? most : from.length});
    if (from.length > most)
        takt_text_add(text, "..");
}

/* For a step, its description: the frames below show where it is. */
static takt_span label_of(const frame *f)
{
    const char *does = f->row != NULL ? f->row->step->does : NULL;
    return does != NULL ? takt_span_of(does) : f->name;
}

/* Compute is warm, memory cool, overhead grey; layers are pale. */
static const char *colour_of(const frame *f)
{
    if (f->row == NULL)
        return f->depth == 0 ? "#d9cfc1" : "#f0d9a8";
    static const char *const colours[] = {[TAKT_BOUND_UNKNOWN] = "#e0a23b",
                                          [TAKT_BOUND_OVERHEAD] = "#b0b0b0",
                                          [TAKT_BOUND_COMPUTE] = "#e8743b",
                                          [TAKT_BOUND_MEMORY] = "#5b8fd6"};
    return colours[f->row->limit];
}

static void draw(takt_text *text, const flame *all, const frame *f)
{
    char figure[TAKT_FIGURE_TEXT];
    const double scale = WIDE / fmax(all->total, 1), width = f->ns * scale;
    const int y = TOP + (all->deepest - 1 - f->depth) * ROW;
    takt_text_add(text, "<g class=\"f\" data-d=\"%d\"", f->depth);
    attribute(text, "data-x", f->from * scale);
    attribute(text, "data-w", width);
    takt_text_add(text, " data-n=\"");
    escaped(text, label_of(f), SIZE_MAX);
    takt_text_add(text, "\"><title>");
    escaped(text, f->name, SIZE_MAX);
    takt_text_add(text, ": %s, %lld.%lld %% of the run", takt_figure_time(f->ns, figure),
                  llround(1000 * f->ns / fmax(all->total, 1)) / 10,
                  llround(1000 * f->ns / fmax(all->total, 1)) % 10);
    if (f->row != NULL && f->row->bound != NULL)
        takt_text_add(text, "; bound: %s, %lld %% of the ceiling", f->row->bound,
                      llround(f->row->percent));
    takt_text_add(text, "</title><rect y=\"%d\" height=\"%d\" rx=\"2\" fill=\"%s\"", y, ROW - 1,
                  colour_of(f));
    attribute(text, "x", f->from * scale);
    attribute(text, "width", fmax(width - 0.5, 0.2));
    takt_text_add(text, "/><text y=\"%d\"", y + 15);
    attribute(text, "x", f->from * scale + 4);
    takt_text_add(text, ">");
    if (width > 3 * LETTER)
        escaped(text, label_of(f), (size_t)(width / LETTER) - 2);
    takt_text_add(text, "</text></g>\n");
}

static const char script[] =
    "<script><![CDATA[\n"
    "const F=[...document.querySelectorAll('.f')].map(g=>({g,d:+g.dataset.d,x:+g.dataset.x,\n"
    "  w:+g.dataset.w,l:g.dataset.n,n:g.querySelector('title').textContent.split(': ')\n"
    "  .slice(0,-1).join(': ')}));\n"
    "const W=1200, note=document.getElementById('note');\n"
    "function zoom(to){const k=W/to.w;for(const f of F){const x=(f.x-to.x)*k,w=f.w*k,\n"
    "  above=f.d<to.d&&f.x<=to.x+.01&&f.x+f.w>=to.x+to.w-.01,\n"
    "  inside=f.x>=to.x-.01&&f.x+f.w<=to.x+to.w+.01&&f.d>=to.d;\n"
    "  f.g.style.display=above||inside?'':'none'; f.g.style.opacity=above?.55:1;\n"
    "  const r=f.g.querySelector('rect'),t=f.g.querySelector('text'),X=above?0:x,V=above?W:w;\n"
    "  r.setAttribute('x',X);r.setAttribute('width',Math.max(V-.5,.2));t.setAttribute('x',X+4);\n"
    "  const m=Math.floor(V/8)-2;t.textContent=V>24?(f.l.length>m?f.l.slice(0,m)+'..':f.l):'';}}\n"
    "function search(q){let sum=0;for(const f of F){const hit=q!==''&&f.n.toLowerCase()\n"
    "  .includes(q.toLowerCase());f.g.classList.toggle('hit',hit);f.hit=hit;}\n"
    "  for(const f of F)if(f.hit&&!F.some(o=>o!==f&&o.hit&&o.d<f.d&&o.x<=f.x+.01&&\n"
    "  o.x+o.w>=f.x+f.w-.01))sum+=f.w;\n"
    "  note.textContent=q===''?'click to zoom':'matched '+(100*sum/W).toFixed(1)+' %';}\n"
    "for(const f of F)f.g.addEventListener('click',()=>zoom(f));\n"
    "const box=document.getElementById('q');box.addEventListener('input',()=>search(box.value));\n"
    "window.addEventListener('keydown',e=>{if(e.key==='Escape'){box.value='';search('');\n"
    "  zoom(F[0]);}});\nif(F.length)search('');\n"
    "]]></script>\n";

static void head(takt_text *text, const takt_profile *p, const flame *f)
{
    char figure[TAKT_FIGURE_TEXT];
    const int high = TOP + f->deepest * ROW + 34;
    takt_text_add(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "style=\"max-width:100%%;height:auto\" "
        "height=\"%d\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n"
        "<style>.b{fill:#fff}.t{fill:#222}.f{cursor:pointer}.f text{fill:#1c1c1c;"
        "pointer-events:none}.f:hover rect{stroke:#222}.hit rect{fill:#c43be8}"
        "@media(prefers-color-scheme:dark){svg{background:#12161d}.b{fill:#12161d}.t{fill:#e6e6e6}"
        ".f:hover rect{stroke:#fff}}</style>\n"
        "<rect class=\"b\" width=\"100%%\" height=\"100%%\"/>\n"
        "<text class=\"t\" x=\"6\" y=\"20\" font-size=\"15\">",
        WIDE, high, WIDE, high);
    takt_svg_text(text, p->plan->graph->name);
    takt_text_add(text,
                  ": %s in %zu step%s</text>\n<text class=\"t\" id=\"note\" x=\"6\" y=\"38\">"
                  "</text>\n"
                  "<foreignObject x=\"%d\" y=\"6\" width=\"234\" height=\"32\"><input "
                  "xmlns=\"http://www.w3.org/1999/xhtml\" id=\"q\" placeholder=\"search\" "
                  "style=\"display:block;box-sizing:border-box;width:230px;height:26px;"
                  "padding:4px\"/></foreignObject>\n",
                  takt_figure_time(f->total, figure), p->plan->step_count,
                  p->plan->step_count == 1 ? "" : "s", WIDE - 240);
}

static void legend(takt_text *text, const flame *f)
{
    static const char *const of[][2] = {{"#e8743b", "compute-bound"},
                                        {"#5b8fd6", "memory-bound"},
                                        {"#b0b0b0", "overhead"},
                                        {"#f0d9a8", "layer"}};
    const int y = TOP + f->deepest * ROW + 10;
    for (int i = 0; i < 4; i++)
        takt_text_add(text,
                      "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/>"
                      "<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n",
                      6 + 140 * i, y, of[i][0], 24 + 140 * i, y + 11, of[i][1]);
}

takt_status takt_profile_flame(const takt_profile *p, takt_sink_fn *sink, void *user)
{
    takt_arena arena;
    takt_text text;
    flame f = {.deepest = 1};
    takt_text_init(&text, p->ctx);
    takt_arena_init(&arena, p->ctx);
    f.frames = takt_arena_array(&arena, p->plan->step_count + 1, DEPTH * sizeof *f.frames);
    if (f.frames == NULL)
        text.status = TAKT_ERR_MEMORY;
    for (size_t i = 0; f.frames != NULL && i < p->plan->step_count; i++)
        add_row(&f, &p->rows[i]);
    head(&text, p, &f);
    for (size_t i = 0; i < f.count; i++)
        draw(&text, &f, &f.frames[i]);
    legend(&text, &f);
    takt_text_put(&text, script, sizeof script - 1);
    takt_text_add(&text, "</svg>\n");
    takt_arena_deinit(&arena);
    return takt_sink_text(p->ctx, &text, sink, user);
}
