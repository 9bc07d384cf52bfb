#include "chain.h"

#include "elem.h"
#include "narrow.h"

enum { VALUES = GX_CHAIN_IN + GX_CHAIN_OUT + GX_CHAIN_TEMPS, ROOM = 8192, LEAST = 128,
	GRAIN = 1024 };

// How an output leaves a block: computed where it belongs, or copied there at the block's end, past
// the caches or not.
enum { DIRECT, COPIED, STREAMED };

typedef struct {
	const gx_chain *c;
	void *const *in;
	void *const *out;
	int64_t block;
	int way[GX_CHAIN_OUT];
} job;

GX_CLONES static void fill(float *d, float v, int64_t n) {
	GX_EACH(i, 0, n) d[i] = v;
}

// bring copies n elements of an input from element i on.
static void bring(float *d, const void *x, int64_t i, int64_t n, int narrow) {
	if (narrow)
		gx_bf16_widen(d, (const uint16_t *)x + i, n);
	else
		memcpy(d, (const float *)x + i, (size_t)n * sizeof *d);
}

// spread writes elements i to i+n of an input that repeats.
static void spread(float *d, const void *x, int64_t i, int64_t n, int64_t repeat, int64_t size,
	int narrow) {
	int64_t j = i / repeat % size, left = repeat - i % repeat;
	while (n > 0) {
		int64_t m;
		if (repeat == 1) {
			m = gx_min(size - j, n);
			bring(d, x, j, m, narrow);
			j = 0;
		} else {
			m = gx_min(left, n);
			fill(d, narrow ? gx_bf16_float(((const uint16_t *)x)[j]) : ((const float *)x)[j], m);
			left = repeat;
			if (++j == size) j = 0;
		}
		d += m, n -= m;
	}
}

// load points value at at elements i to i+n of input k; buf is the block's memory for it.
static void load(const job *j, float **at, float *buf, int k, int64_t i, int64_t n) {
	const gx_chain *c = j->c;
	int64_t size = c->size[k], first = size ? i % size : 0;
	if (size == 0 || (c->repeat[k] == 1 && first + n <= size)) {
		if (size == 0) first = i;
		*at = c->narrow ? buf : (float *)j->in[k] + first;
		if (c->narrow) bring(buf, j->in[k], first, n, 1);
	} else if (*at != buf || size > 1) {
		*at = buf;
		spread(buf, j->in[k], i, size > 1 ? n : j->block, c->repeat[k], size, c->narrow);
	}
}

// leave brings n elements of output k to their place.
static void leave(const job *j, const float *value, int k, int64_t i, int64_t n) {
	if (j->way[k] == DIRECT) return;
	if (j->c->narrow) {
		uint16_t *d = (uint16_t *)j->out[k] + i, half[GRAIN];
		if (j->way[k] == COPIED) {
			gx_bf16_narrow(d, value, n);
			return;
		}
		gx_bf16_narrow(half, value, n);
		gx_copy_past(d, half, (size_t)n * sizeof *half);
		return;
	}
	float *d = (float *)j->out[k] + i;
	if (j->way[k] == COPIED)
		memcpy(d, value, (size_t)n * sizeof(float));
	else
		gx_stream(d, value, n);
}

static void chain_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_chain *c = j->c;
	float room[ROOM + VALUES * LEAST] __attribute__((aligned(64)));
	float *value[VALUES] = {0};
	int outs = c->in, temps = c->in + c->out, values = temps + c->temps, streamed = 0;
	for (int v = temps; v < values; v++) value[v] = room + v * j->block;
	for (int64_t i = begin; i < end; i += j->block) {
		int64_t n = gx_min(j->block, end - i);
		for (int k = 0; k < c->in; k++) load(j, &value[k], room + k * j->block, k, i, n);
		for (int k = 0; k < c->out; k++)
			value[outs + k] = j->way[k] == DIRECT ? (float *)j->out[k] + i
				: room + (outs + k) * j->block;
		for (int s = 0; s < c->steps; s++) {
			const gx_link *p = &c->step[s];
			if (p->zip)
				gx_zip_block(p->op, value[p->d], value[p->a], value[p->b], n, p->s, p->t);
			else
				gx_map_block(p->op, value[p->d], value[p->a], n, p->s, p->t);
			if (c->narrow && p->round) gx_bf16_round(value[p->d], n);
		}
		for (int k = 0; k < c->out; k++) {
			leave(j, value[outs + k], k, i, n);
			streamed |= j->way[k] == STREAMED;
		}
	}
	if (streamed) gx_streamed();
}

// way chooses how output k leaves a block. Where it takes the place of an input that a later step
// reads, it is copied.
static int way(const job *j, int k, int64_t n) {
	for (int i = 0; i < j->c->in; i++)
		if (j->in[i] == j->out[k])
			return j->c->narrow || j->c->last[i] > j->c->first[k] ? COPIED : DIRECT;
	if (j->c->narrow) return n >= 2 * GX_LARGE ? STREAMED : COPIED;
	return n >= GX_LARGE ? STREAMED : DIRECT;
}

void gx_chain_run(const gx_chain *c, const uintptr_t *in, const uintptr_t *out, int64_t n,
	int threads) {
	job j = {.c = c, .in = (void *const *)in, .out = (void *const *)out};
	int values = c->in + c->out + c->temps;
	j.block = gx_max(LEAST, ROOM / values / 16 * 16);
	if (j.block > GRAIN) j.block = GRAIN;
	for (int k = 0; k < c->out; k++) j.way[k] = way(&j, k, n);
	gx_parallel(threads, n, GRAIN, chain_range, &j);
}
