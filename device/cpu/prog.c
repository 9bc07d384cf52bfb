//go:build !nodnn

#include "dnnprog.h"

#include "gx.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_STEPS = 16, MAX_OWNED = 64, CONTEXTS = 4, ALIGN = 64, SCRATCHPAD = -2 };

typedef struct {
	dnnl_primitive_t prim;
	const char *impl; // owned by the description of the primitive
	int n, copy; // copy: nothing happens when the first two operands are one
	int packs;   // runs products of the library
	gx_bind binds[GX_PROG_ARGS];
	gx_own_fn own; // instead of a primitive; arg belongs to the program
	void *arg;
} step;

// context belongs to one run at a time. It holds memory objects whose pointers are set before each
// run.
typedef struct {
	dnnl_stream_t stream;
	dnnl_exec_arg_t args[MAX_STEPS][GX_PROG_ARGS];
} context;

struct gx_prog {
	int threads, steps, owned_md, owned_pd;
	int64_t scratch, pad; // bytes of buffers; of the largest scratchpad, which follows them
	dnnl_primitive_attr_t attr, post;
	gx_md packed;
	step step[MAX_STEPS];
	gx_md md[MAX_OWNED];
	dnnl_primitive_desc_t pd[MAX_OWNED];
	_Atomic(context *) idle[CONTEXTS];
};

static dnnl_engine_t engine;

static __attribute__((constructor)) void make_engine(void) {
	if (dnnl_engine_create(&engine, dnnl_cpu, 0)) engine = 0;
}

dnnl_engine_t gx_engine(void) { return engine; }

gx_prog *gx_prog_new(int threads) {
	gx_prog *p = calloc(1, sizeof *p);
	if (!p) return 0;
	p->threads = threads;
	omp_set_num_threads(threads); // primitives are made for the number of threads that run them
	if (dnnl_primitive_attr_create(&p->attr) ||
		dnnl_primitive_attr_set_scratchpad_mode(p->attr, dnnl_scratchpad_mode_user)) {
		gx_prog_free(p);
		return 0;
	}
	return p;
}

dnnl_primitive_attr_t gx_prog_attr(gx_prog *p) { return p->attr; }

dnnl_data_type_t gx_dnnl_type(int type) {
	static const dnnl_data_type_t types[] = {[GX_FLOAT] = dnnl_f32, [GX_BFLOAT] = dnnl_bf16,
		[GX_UINT8] = dnnl_u8, [GX_INT8] = dnnl_s8, [GX_NONE] = dnnl_data_type_undef};
	return types[type];
}

// new_md makes a description on the heap, by strides where they are given and else by a tag; null
// where oneDNN refuses it or memory is short.
static gx_md new_md(dnnl_data_type_t type, int n, const int64_t *dims, const int64_t *strides,
	int tag, int *err) {
	dnnl_dims_t d, s;
	for (int i = 0; i < n; i++) d[i] = dims[i], s[i] = strides ? strides[i] : 0;
#if DNNL_VERSION_MAJOR >= 3
	dnnl_memory_desc_t m = 0;
	*err = strides ? dnnl_memory_desc_create_with_strides(&m, n, d, type, s)
		: dnnl_memory_desc_create_with_tag(&m, n, d, type, (dnnl_format_tag_t)tag);
#else
	dnnl_memory_desc_t *m = malloc(sizeof *m);
	if (!m)
		*err = dnnl_out_of_memory;
	else
		*err = (int)(strides ? dnnl_memory_desc_init_by_strides(m, n, d, type, s)
			: dnnl_memory_desc_init_by_tag(m, n, d, type, (dnnl_format_tag_t)tag));
	if (!*err) return m;
	free(m);
	m = 0;
#endif
	return m;
}

static void free_md(gx_md m) {
#if DNNL_VERSION_MAJOR >= 3
	dnnl_memory_desc_destroy((dnnl_memory_desc_t)m);
#else
	free((void *)m);
#endif
}

static int own_md(gx_prog *p, gx_md *md, gx_md m, int err) {
	if (!err) p->md[p->owned_md++] = *md = m;
	return err;
}

int gx_prog_md(gx_prog *p, gx_md *md, int type, int n, const int64_t *dims, int tag) {
	if (p->owned_md == MAX_OWNED) return dnnl_out_of_memory;
	int err;
	gx_md m = new_md(gx_dnnl_type(type), n, dims, 0, tag, &err);
	return own_md(p, md, m, err);
}

int gx_prog_strided_md(gx_prog *p, gx_md *md, int type, int n, const int64_t *dims,
	const int64_t *strides) {
	if (p->owned_md == MAX_OWNED) return dnnl_out_of_memory;
	int err;
	gx_md m = new_md(gx_dnnl_type(type), n, dims, strides, 0, &err);
	return own_md(p, md, m, err);
}

static int append_sum(dnnl_post_ops_t ops, float scale) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_post_ops_append_sum(ops, scale, 0, dnnl_data_type_undef);
#else
	return dnnl_post_ops_append_sum(ops, scale);
#endif
}

static int append_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_post_ops_append_eltwise(ops, alg, alpha, 0.0f);
#else
	return dnnl_post_ops_append_eltwise(ops, 1.0f, alg, alpha, 0.0f);
#endif
}

int gx_prog_post_ops(gx_prog *p, dnnl_post_ops_t ops, dnnl_primitive_attr_t *attr) {
	int err = dnnl_primitive_attr_create(&p->post);
	if (!err) err = dnnl_primitive_attr_set_scratchpad_mode(p->post, dnnl_scratchpad_mode_user);
	if (!err) err = dnnl_primitive_attr_set_post_ops(p->post, ops);
	*attr = p->post;
	dnnl_post_ops_destroy(ops);
	return err;
}

int gx_prog_post(gx_prog *p, int add, int relu, dnnl_primitive_attr_t *attr) {
	*attr = p->attr;
	if (!add && !relu) return 0;
	dnnl_post_ops_t ops;
	GX_TRY(dnnl_post_ops_create(&ops));
	int err = add ? append_sum(ops, 1.0f) : 0;
	if (relu && !err) err = append_eltwise(ops, dnnl_eltwise_relu, 0.0f);
	int set = gx_prog_post_ops(p, ops, attr);
	return err ? err : set;
}

int gx_prog_scale(gx_prog *p, float alpha, float beta, int relu, dnnl_primitive_attr_t *attr) {
	*attr = p->attr;
	if (alpha == 1.0f && beta == 0.0f && !relu) return 0;
	dnnl_post_ops_t ops;
	GX_TRY(dnnl_post_ops_create(&ops));
	int err = alpha != 1.0f ? append_eltwise(ops, dnnl_eltwise_linear, alpha) : 0;
	if (beta != 0.0f && !err) err = append_sum(ops, beta);
	if (relu && !err) err = append_eltwise(ops, dnnl_eltwise_relu, 0.0f);
	int set = gx_prog_post_ops(p, ops, attr);
	return err ? err : set;
}

static const int layout_tags[GX_LAYOUTS][4] = {
	{dnnl_x, dnnl_ncw, dnnl_nchw, dnnl_ncdhw},
	{dnnl_x, dnnl_nwc, dnnl_nhwc, dnnl_ndhwc},
	{dnnl_x, dnnl_nCw8c, dnnl_nChw8c, dnnl_nCdhw8c},
	{dnnl_x, dnnl_nCw16c, dnnl_nChw16c, dnnl_nCdhw16c},
};

int gx_layout_tag(int layout, int axes) { return layout_tags[layout][axes]; }

static dnnl_data_type_t type_of(gx_md md) {
#if DNNL_VERSION_MAJOR >= 3
	dnnl_data_type_t type = dnnl_f32;
	dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
	return type;
#else
	return md->data_type;
#endif
}

int gx_layout_of(gx_md md, int n, const int64_t *dims) {
	int got = -1;
	for (int i = 0; i < GX_LAYOUTS && got < 0; i++) {
		if ((i == GX_BLOCK8 && dims[1] % 8) || (i == GX_BLOCK16 && dims[1] % 16)) continue;
		int err;
		gx_md m = new_md(type_of(md), n, dims, 0, layout_tags[i][n - 2], &err);
		if (err) return -1;
		if (dnnl_memory_desc_equal(m, md)) got = i;
		free_md(m);
	}
	return got;
}

const char *gx_impl(dnnl_primitive_desc_t pd) {
	const char *name = 0;
	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) || !name ? "" : name;
}

int gx_naive(dnnl_primitive_desc_t pd) { return !strncmp(gx_impl(pd), "ref", 3); }

const char *gx_prog_impl(const gx_prog *p, int i) { return i < p->steps ? p->step[i].impl : 0; }

void gx_prog_set_packed(gx_prog *p, gx_md md) { p->packed = md; }
gx_md gx_prog_packed(const gx_prog *p) { return p->packed; }
int64_t gx_prog_packed_bytes(const gx_prog *p) {
	return p->packed ? (int64_t)dnnl_memory_desc_get_size(p->packed) : 0;
}

int gx_prog_packed_equal(const gx_prog *a, const gx_prog *b) {
	return a->packed && b->packed && dnnl_memory_desc_equal(a->packed, b->packed);
}

gx_md gx_query(dnnl_primitive_desc_t pd, dnnl_query_t what) {
	return dnnl_primitive_desc_query_md(pd, what, 0);
}

int gx_prog_keep(gx_prog *p, dnnl_primitive_desc_t pd) {
	if (p->owned_pd == MAX_OWNED) {
		dnnl_primitive_desc_destroy(pd);
		return dnnl_out_of_memory;
	}
	p->pd[p->owned_pd++] = pd;
	return 0;
}

// take_scratch returns a place for bytes bytes.
static gx_place take_scratch(gx_prog *p, int64_t bytes) {
	gx_place at = {-1, p->scratch};
	p->scratch += (bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

int gx_prog_step(gx_prog *p, dnnl_primitive_desc_t pd, const gx_bind *binds, int n) {
	if (p->steps == MAX_STEPS || n + 1 > GX_PROG_ARGS) return dnnl_out_of_memory;
	step *s = &p->step[p->steps];
	int err = dnnl_primitive_create(&s->prim, pd);
	if (err) return err;
	p->steps++;
	s->impl = gx_impl(pd);
	s->packs = strstr(s->impl, "gemm") != 0;
	memcpy(s->binds, binds, (size_t)n * sizeof *binds);
	s->n = n;
	gx_md pad = gx_query(pd, dnnl_query_scratchpad_md);
	int64_t bytes = pad ? (int64_t)dnnl_memory_desc_get_size(pad) : 0;
	if (bytes > 0) {
		s->binds[s->n++] = (gx_bind){DNNL_ARG_SCRATCHPAD, pad, {SCRATCHPAD, 0}};
		p->pad = gx_max(p->pad, bytes);
	}
	return 0;
}

int gx_prog_own(gx_prog *p, gx_own_fn fn, const char *name, const void *arg, size_t size,
	const gx_place *at, int n) {
	if (p->steps == MAX_STEPS || n > GX_PROG_ARGS) return dnnl_out_of_memory;
	step *s = &p->step[p->steps];
	s->arg = malloc(size);
	if (!s->arg) return dnnl_out_of_memory;
	p->steps++;
	memcpy(s->arg, arg, size);
	s->own = fn, s->impl = name, s->n = n;
	for (int i = 0; i < n; i++) s->binds[i].at = at[i];
	return 0;
}

gx_place gx_prog_room(gx_prog *p, int64_t floats) {
	return take_scratch(p, floats * (int64_t)sizeof(float));
}

static int reorder(gx_prog *p, gx_md from, gx_place a, gx_md to, gx_place b) {
	dnnl_primitive_desc_t pd;
	int err = dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, p->attr);
	if (err) return err;
	err = gx_prog_keep(p, pd);
	if (err) return err;
	gx_bind binds[] = {{DNNL_ARG_FROM, from, a}, {DNNL_ARG_TO, to, b}};
	return gx_prog_step(p, pd, binds, 2);
}

int gx_prog_use(gx_prog *p, gx_md from, gx_place at, gx_md want, gx_place *got) {
	*got = at;
	if (dnnl_memory_desc_equal(from, want)) return 0;
	*got = take_scratch(p, (int64_t)dnnl_memory_desc_get_size(want));
	return reorder(p, from, at, want, *got);
}

int gx_prog_place(gx_prog *p, gx_md made, gx_md plain, gx_place final, gx_place *got) {
	*got = final;
	if (!dnnl_memory_desc_equal(made, plain))
		*got = take_scratch(p, (int64_t)dnnl_memory_desc_get_size(made));
	return 0;
}

int gx_prog_deliver(gx_prog *p, gx_md made, gx_place at, gx_md plain, gx_place final) {
	if (dnnl_memory_desc_equal(made, plain)) return 0;
	return reorder(p, made, at, plain, final);
}

int gx_prog_copy(gx_prog *p, gx_md from, gx_place at, gx_md to, gx_place into) {
	int err = reorder(p, from, at, to, into);
	if (!err) p->step[p->steps - 1].copy = dnnl_memory_desc_equal(from, to);
	return err;
}

int gx_reorder(gx_prog **out, int type, int axes, const int64_t *dims, int from, int to,
	int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_md a, b;
	int err = gx_prog_md(p, &a, type, axes + 2, dims, gx_layout_tag(from, axes));
	if (!err) err = gx_prog_md(p, &b, type, axes + 2, dims, gx_layout_tag(to, axes));
	return err ? err : reorder(p, a, (gx_place){0, 0}, b, (gx_place){1, 0});
}

int64_t gx_prog_scratch(const gx_prog *p) { return p->scratch + p->pad; }

static void free_context(const gx_prog *p, context *c) {
	if (!c) return;
	for (int i = 0; i < p->steps; i++)
		for (int k = 0; k < p->step[i].n; k++)
			if (c->args[i][k].memory) dnnl_memory_destroy(c->args[i][k].memory);
	if (c->stream) dnnl_stream_destroy(c->stream);
	free(c);
}

static context *new_context(const gx_prog *p) {
	context *c = calloc(1, sizeof *c);
	if (!c) return 0;
	int err = dnnl_stream_create(&c->stream, engine, dnnl_stream_default_flags);
	for (int i = 0; i < p->steps && !err; i++)
		for (int k = 0; k < p->step[i].n && !err && !p->step[i].own; k++) {
			const gx_bind *b = &p->step[i].binds[k];
			c->args[i][k].arg = b->arg;
			err = dnnl_memory_create(&c->args[i][k].memory, b->md, engine, DNNL_MEMORY_NONE);
		}
	if (!err) return c;
	free_context(p, c);
	return 0;
}

static void *pointer(const gx_prog *p, gx_place at, void *const *ptrs, char *scratch) {
	if (at.slot == SCRATCHPAD) return scratch + p->scratch;
	return at.slot < 0 ? scratch + at.offset : ptrs[at.slot];
}

static int run(const gx_prog *p, context *c, void *const *ptrs, char *scratch) {
	for (int i = 0; i < p->steps; i++) {
		const step *s = &p->step[i];
		void *at[GX_PROG_ARGS];
		for (int k = 0; k < s->n; k++) at[k] = pointer(p, s->binds[k].at, ptrs, scratch);
		if (s->copy && at[0] == at[1]) continue;
		if (s->own) {
			s->own(s->arg, at, p->threads);
			continue;
		}
		for (int k = 0; k < s->n; k++) {
			int err = dnnl_memory_set_data_handle(c->args[i][k].memory, at[k]);
			if (err) return err;
		}
		if (s->packs) gx_close_gaps(p->threads);
		int err = dnnl_primitive_execute(s->prim, c->stream, s->n, c->args[i]);
		if (err) return err;
	}
	return dnnl_stream_wait(c->stream);
}

int gx_prog_run(gx_prog *p, void *a, void *b, void *c, void *d, void *e, void *f, void *scratch) {
	void *ptrs[GX_PROG_PTRS] = {a, b, c, d, e, f};
	gx_team(p->threads);
	context *ctx = 0;
	for (int i = 0; i < CONTEXTS && !ctx; i++) ctx = atomic_exchange(&p->idle[i], 0);
	if (!ctx) ctx = new_context(p);
	if (!ctx) return dnnl_out_of_memory;
	int err = run(p, ctx, ptrs, scratch);
	for (int i = 0; i < CONTEXTS && ctx; i++) {
		context *none = 0;
		if (atomic_compare_exchange_strong(&p->idle[i], &none, ctx)) ctx = 0;
	}
	free_context(p, ctx);
	return err;
}

void gx_prog_free(gx_prog *p) {
	if (!p) return;
	for (int i = 0; i < CONTEXTS; i++) free_context(p, atomic_exchange(&p->idle[i], 0));
	for (int i = 0; i < p->steps; i++) {
		if (p->step[i].prim) dnnl_primitive_destroy(p->step[i].prim);
		free(p->step[i].arg);
	}
	for (int i = 0; i < p->owned_pd; i++) dnnl_primitive_desc_destroy(p->pd[i]);
	for (int i = 0; i < p->owned_md; i++) free_md(p->md[i]);
	if (p->post) dnnl_primitive_attr_destroy(p->post);
	if (p->attr) dnnl_primitive_attr_destroy(p->attr);
	free(p);
}
