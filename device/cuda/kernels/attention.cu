// Scaled dot-product attention without the matrix of all weights (Dao et al., FlashAttention,
// 2022). A block has a tile of queries, or of keys, of one head, and goes over the other side tile
// by tile, always in the same order: results repeat bit for bit. Queries are
// [batch][n][heads][size]; keys and values are [batch][keys][groups][size], and heads / groups
// neighbouring heads share them.

struct Attention {
	const T *q, *k, *v, *dy;
	T *y; // 0 in the forward part: not wanted; in the backward part it is read
	A *lse, *delta; // [batch][heads][n]: logarithms of the sums of exponents; sums of dy·y
	Ptr mask, length, position; // 0: none, all keys, zeros
	Int *seed; // where the backward part finds the place of the random numbers
	T *dq, *dk, *dv, *dmask;
	Int batch, n, keys, heads, groups, size;
	Int causal, chooses, length_type, position_type; // chooses: the mask has booleans
	Int strides[4], extents[4]; // of the mask by sequence, head, query and key; 0: broadcast
	double scale;
	Int drops, keep; // a weight is kept if the upper 24 bits of its random number are below keep
	double kept;     // factor of the weights that are kept
	uint64_t key, counter;
	const uint64_t *base; // a number that is added to the counter; 0: none
};

const int SIDE = 16; // a block has SIDE x SIDE threads
const int TILE = sizeof(A) == 8 ? 32 : 64;
const int PER = TILE / SIDE; // rows Y + SIDE·i and columns X + SIDE·j of a thread
const int DEEP = 32;         // elements of vectors that are in shared memory at a time
#define X ((int)threadIdx.x % SIDE)
#define Y ((int)threadIdx.x / SIDE)

struct Tiles {
	A s[TILE][TILE + 1]; // weights or slopes, queries down
	A a[TILE][DEEP + 1], b[TILE][DEEP + 1];
};

// Head is one head of one sequence; its vectors are q_step and k_step elements apart.
struct Head {
	Int b, h, row; // row is the number of its first query among those of all heads
	Int q, k, q_step, k_step;
	__device__ Head(const Attention &p, Int sequence, Int head) : b(sequence), h(head) {
		row = (b * p.heads + h) * p.n;
		q_step = p.heads * p.size, k_step = p.groups * p.size;
		q = b * p.n * q_step + h * p.size;
		k = b * p.keys * k_step + h / (p.heads / p.groups) * p.size;
	}
};

// reads returns the number of keys that a query reads.
__device__ inline Int reads(const Attention &p, Int b, Int query) {
	Int most = p.keys;
	if (p.length) most = gx_min(most, read_int(p.length, p.length_type, b));
	if (p.causal)
		most = gx_min(most, query + 1 +
			(p.position ? read_int(p.position, p.position_type, b) : (Int)0));
	return gx_max(most, (Int)0);
}

// scored scales the product of a query and a key, and adds the mask.
__device__ inline A scored(const Attention &p, const Head &o, Int query, Int key, A dot) {
	A s = dot * (A)p.scale;
	if (!p.mask) return s;
	Int i = o.b * p.strides[0] + o.h * p.strides[1] + query * p.strides[2] + key * p.strides[3];
	if (p.chooses) return ((const uint8_t *)p.mask)[i] ? s : (A)-INFINITY;
	return s + get((const T *)p.mask, i);
}

// counter_of and key_of give the place of the random numbers, which the backward part reads from
// memory.
__device__ inline uint64_t counter_of(const Attention &p) {
	return p.dy ? (uint64_t)p.seed[1] : p.counter + (p.base ? *p.base : 0);
}
__device__ inline uint64_t key_of(const Attention &p) {
	return p.dy ? (uint64_t)p.seed[0] : p.key;
}

// drop_factors fills a tile with the factors of its weights. Weights are numbered row by row;
// number i is kept as word i % 4 of block i / 4 says.
__device__ inline void drop_factors(const Attention &p, Tiles &t, const Head &o, Int query,
	Int key) {
	const int quads = TILE / 4 + 1;
	const uint64_t from = counter_of(p), random = key_of(p);
	for (int e = threadIdx.x; e < TILE * quads; e += SIDE * SIDE) {
		int r = e / quads;
		Int first = (o.row + query + r) * p.keys + key, quad = first / 4 + e % quads;
		uint32_t word[4];
		philox(random, from, 0, quad, word);
		for (int w = 0; w < 4; w++) {
			Int j = quad * 4 + w - first;
			if (j >= 0 && j < TILE) t.s[r][j] = (Int)(word[w] >> 8) < p.keep ? (A)p.kept : (A)0;
		}
	}
	__syncthreads();
}

// load copies the first DEEP of width elements of rows to shared memory, with zeros behind them.
__device__ inline void load(A (*to)[DEEP + 1], const T *from, Int step, Int rows, Int width) {
	for (int e = threadIdx.x; e < TILE * DEEP; e += SIDE * SIDE) {
		int r = e / DEEP, d = e % DEEP;
		to[r][d] = r < rows && d < width ? get(from, r * step + d) : (A)0;
	}
}

// dots multiplies rows of a with rows of b. Threads must not use t.a and t.b before it.
__device__ inline void dots(A (*s)[PER], Tiles &t, const T *a, Int a_step, Int a_rows, const T *b,
	Int b_step, Int b_rows, Int size) {
	for (int i = 0; i < PER; i++)
		for (int j = 0; j < PER; j++) s[i][j] = 0;
	for (Int d = 0; d < size; d += DEEP) {
		load(t.a, a + d, a_step, a_rows, size - d);
		load(t.b, b + d, b_step, b_rows, size - d);
		__syncthreads();
		for (int e = 0; e < DEEP; e++) {
			A x[PER], y[PER];
			for (int i = 0; i < PER; i++) x[i] = t.a[Y + SIDE * i][e], y[i] = t.b[X + SIDE * i][e];
			for (int i = 0; i < PER; i++)
				for (int j = 0; j < PER; j++) s[i][j] += x[i] * y[j];
		}
		__syncthreads();
	}
}

// add_values adds to columns from, from + 1, ... of out the product of t.s, turned if that is set,
// and rows. Threads must not write t.s before it without a barrier.
template <int W, bool turned>
__device__ inline void add_values(A (*out)[W / SIDE], Tiles &t, const T *b, Int step, Int rows,
	Int from, Int size) {
#pragma unroll
	for (int c = 0; c < W; c += DEEP) {
		if (from + c >= size) break;
		load(t.b, b + from + c, step, rows, size - from - c);
		__syncthreads();
		for (int k = 0; k < TILE; k++) {
			A x[PER];
			for (int i = 0; i < PER; i++)
				x[i] = turned ? t.s[k][Y + SIDE * i] : t.s[Y + SIDE * i][k];
#pragma unroll
			for (int j = 0; j < DEEP / SIDE; j++) {
				A y = t.b[k][X + SIDE * j];
				for (int i = 0; i < PER; i++) out[i][c / SIDE + j] += x[i] * y;
			}
		}
		__syncthreads();
	}
}

// store writes rows of a result, times a factor.
template <int W>
__device__ inline void store(T *to, A (*out)[W / SIDE], Int step, Int rows, Int from, Int size,
	const A *factor) {
#pragma unroll
	for (int c = 0; c < W / SIDE; c++)
		for (int i = 0; i < PER; i++) {
			Int r = Y + SIDE * i, d = from + X + SIDE * c;
			if (r < rows && d < size) put(to, r * step + d, out[i][c] * factor[i]);
		}
}

// Each block has TILE queries of a head and W elements of their results.
#define QUERIES(W) \
	__shared__ Tiles t; \
	const Int tiles = (p.n + TILE - 1) / TILE, parts = (p.size + W - 1) / W; \
	for (Int block = blockIdx.x; block < p.batch * p.heads * tiles * parts; block += gridDim.x) { \
		const Int part = block % parts, first = block / parts % tiles * TILE, \
			rows = gx_min((Int)TILE, p.n - first); \
		const Head o(p, block / parts / tiles / p.heads, block / parts / tiles % p.heads); \
		const Int end = reads(p, o.b, first + rows - 1); \
		const T *q = p.q + o.q + first * o.q_step; \
		A out[PER][W / SIDE]; \
		for (int i = 0; i < PER; i++) \
			for (int c = 0; c < W / SIDE; c++) out[i][c] = 0;

template <int W> __device__ inline void attend(const Attention &p) {
	QUERIES(W)
		A most[PER], sum[PER];
		for (int i = 0; i < PER; i++) most[i] = -INFINITY, sum[i] = 0;
		for (Int at = 0; at < end; at += TILE) {
			A s[PER][PER];
			Int some = gx_min((Int)TILE, p.keys - at);
			dots(s, t, q, o.q_step, rows, p.k + o.k + at * o.k_step, o.k_step, some, p.size);
			if (p.drops) drop_factors(p, t, o, first, at);
			for (int i = 0; i < PER; i++) {
				Int query = first + Y + SIDE * i,
					limit = query < p.n ? reads(p, o.b, query) : (Int)0;
				A top = most[i], more = 0;
				for (int j = 0; j < PER; j++) {
					Int key = at + X + SIDE * j;
					s[i][j] = key < limit ? scored(p, o, query, key, s[i][j]) : (A)-INFINITY;
					top = gx_max(top, s[i][j]);
				}
				top = across<Most, SIDE>(top);
				A base = top == -INFINITY ? (A)0 : top,
					fade = most[i] == -INFINITY ? (A)0 : gx_exp(most[i] - base);
				for (int j = 0; j < PER; j++) {
					A &w = t.s[Y + SIDE * i][X + SIDE * j], e = gx_exp(s[i][j] - base);
					more += e;
					w = p.drops ? w * e : e;
				}
				sum[i] = sum[i] * fade + across<Add, SIDE>(more);
				most[i] = top;
				for (int c = 0; c < W / SIDE; c++) out[i][c] *= fade;
			}
			__syncthreads();
			add_values<W, false>(out, t, p.v + o.k + at * o.k_step, o.k_step, some, part * W,
				p.size);
		}
		A factor[PER];
		for (int i = 0; i < PER; i++) {
			Int query = first + Y + SIDE * i;
			factor[i] = sum[i] == 0 ? (A)0 : 1 / sum[i];
			if (part == 0 && X == 0 && query < p.n && p.lse)
				p.lse[o.row + query] = sum[i] == 0 ? (A)-INFINITY : most[i] + gx_log(sum[i]);
		}
		if (p.y)
			store<W>(p.y + o.q + first * o.q_step, out, o.q_step, rows, part * W, p.size, factor);
	}
	if (p.seed && blockIdx.x == 0 && threadIdx.x == 0)
		p.seed[0] = p.drops ? (Int)key_of(p) : (Int)0,
			p.seed[1] = p.drops ? (Int)counter_of(p) : (Int)0;
}
KERNEL(attention, Attention) { attend<64>(k); }
KERNEL(attention_wide, Attention) { attend<128>(k); }

// slope makes of the products of a query and a key, and of the gradient of the query's result and
// a value, the gradient of the score, and returns the weight. factor is the weight's.
__device__ inline A slope(const Attention &p, const Head &o, Int query, Int key, Int limit, A dot,
	A &grad, A factor, A lse, A delta) {
	A w = key < limit && lse != -INFINITY ? gx_exp(scored(p, o, query, key, dot) - lse) : (A)0;
	grad = key < limit ? w * (grad * factor - delta) : (A)0;
	return w * factor;
}

// The gradient of queries, and delta.
template <int W> __device__ inline void query_grad(const Attention &p) {
	QUERIES(W)
		A delta[PER], lse[PER], factor[PER];
		const T *dy = p.dy + o.q + first * o.q_step;
		for (int i = 0; i < PER; i++) {
			Int r = Y + SIDE * i;
			A sum = 0;
			if (r < rows)
				for (Int d = X; d < p.size; d += SIDE)
					sum += get(dy, r * o.q_step + d) * get(p.y, o.q + (first + r) * o.q_step + d);
			delta[i] = across<Add, SIDE>(sum), factor[i] = (A)p.scale;
			lse[i] = r < rows ? p.lse[o.row + first + r] : (A)-INFINITY;
			if (part == 0 && X == 0 && r < rows) p.delta[o.row + first + r] = delta[i];
		}
		for (Int at = 0; at < end && p.dq; at += TILE) {
			A s[PER][PER], g[PER][PER];
			Int some = gx_min((Int)TILE, p.keys - at), key = o.k + at * o.k_step;
			dots(s, t, q, o.q_step, rows, p.k + key, o.k_step, some, p.size);
			dots(g, t, dy, o.q_step, rows, p.v + key, o.k_step, some, p.size);
			if (p.drops) drop_factors(p, t, o, first, at);
			for (int i = 0; i < PER; i++) {
				Int query = first + Y + SIDE * i,
					limit = query < p.n ? reads(p, o.b, query) : (Int)0;
				for (int j = 0; j < PER; j++) {
					A &w = t.s[Y + SIDE * i][X + SIDE * j];
					slope(p, o, query, at + X + SIDE * j, limit, s[i][j], g[i][j],
						p.drops ? w : (A)1, lse[i], delta[i]);
					w = g[i][j];
				}
			}
			__syncthreads();
			add_values<W, false>(out, t, p.k + key, o.k_step, some, part * W, p.size);
		}
		if (p.dq)
			store<W>(p.dq + o.q + first * o.q_step, out, o.q_step, rows, part * W, p.size, factor);
	}
}
KERNEL(attention_query_grad, Attention) { query_grad<64>(k); }
KERNEL(attention_query_grad_wide, Attention) { query_grad<128>(k); }

// The gradients of keys and values: each block has TILE keys of a group and W elements of their
// gradients, and goes over the queries of the heads of the group.
template <int W> __device__ inline void key_grad(const Attention &p) {
	__shared__ Tiles t;
	const Int tiles = (p.keys + TILE - 1) / TILE, parts = (p.size + W - 1) / W,
		share = p.heads / p.groups;
	for (Int block = blockIdx.x; block < p.batch * p.groups * tiles * parts; block += gridDim.x) {
		const Int part = block % parts, at = block / parts % tiles * TILE,
			some = gx_min((Int)TILE, p.keys - at), b = block / parts / tiles / p.groups,
			group = block / parts / tiles % p.groups;
		A dk[PER][W / SIDE], dv[PER][W / SIDE], factor[PER], one[PER];
		for (int i = 0; i < PER; i++) {
			factor[i] = (A)p.scale, one[i] = 1;
			for (int c = 0; c < W / SIDE; c++) dk[i][c] = dv[i][c] = 0;
		}
		const Int key = Head(p, b, group * share).k + at * (p.groups * p.size);
		for (Int h = group * share; h < (group + 1) * share; h++)
			for (Int first = 0; first < p.n; first += TILE) {
				const Head o(p, b, h);
				const Int rows = gx_min((Int)TILE, p.n - first),
					from = o.q + first * o.q_step;
				if (reads(p, b, first + rows - 1) <= at) continue;
				A s[PER][PER], g[PER][PER];
				dots(s, t, p.q + from, o.q_step, rows, p.k + key, o.k_step, some, p.size);
				dots(g, t, p.dy + from, o.q_step, rows, p.v + key, o.k_step, some, p.size);
				if (p.drops) drop_factors(p, t, o, first, at);
				for (int i = 0; i < PER; i++) {
					Int query = first + Y + SIDE * i,
						limit = query < p.n ? reads(p, b, query) : (Int)0;
					A lse = query < p.n ? p.lse[o.row + query] : (A)-INFINITY,
						delta = query < p.n ? p.delta[o.row + query] : (A)0;
					for (int j = 0; j < PER; j++) {
						A &w = t.s[Y + SIDE * i][X + SIDE * j];
						w = slope(p, o, query, at + X + SIDE * j, limit, s[i][j], g[i][j],
							p.drops ? w : (A)1, lse, delta);
					}
				}
				__syncthreads();
				add_values<W, true>(dv, t, p.dy + from, o.q_step, rows, part * W, p.size);
				for (int i = 0; i < PER; i++)
					for (int j = 0; j < PER; j++) t.s[Y + SIDE * i][X + SIDE * j] = g[i][j];
				__syncthreads();
				add_values<W, true>(dk, t, p.q + from, o.q_step, rows, part * W, p.size);
			}
		if (p.dk) store<W>(p.dk + key, dk, p.groups * p.size, some, part * W, p.size, factor);
		if (p.dv) store<W>(p.dv + key, dv, p.groups * p.size, some, part * W, p.size, one);
	}
}
KERNEL(attention_key_grad, Attention) { key_grad<64>(k); }
KERNEL(attention_key_grad_wide, Attention) { key_grad<128>(k); }

// The gradient of the mask, one block per element, which adds the slopes of the scores that read it.
KERNEL(attention_mask_grad, Attention) {
	const Int full[4] = {k.batch, k.heads, k.n, k.keys};
	Int terms = 1, elements = 1;
	for (int d = 0; d < 4; d++) terms *= full[d] / k.extents[d], elements *= k.extents[d];
	for (Int e = blockIdx.x; e < elements; e += gridDim.x) {
		A sum = 0;
		for (Int r = threadIdx.x; r < terms; r += blockDim.x) {
			Int at[4], own = e, rest = r;
			for (int d = 3; d >= 0; d--) {
				Int copies = full[d] / k.extents[d];
				at[d] = own % k.extents[d] + rest % copies;
				own /= k.extents[d], rest /= copies;
			}
			const Head o(k, at[0], at[1]);
			Int q = o.q + at[2] * o.q_step, key = o.k + at[3] * o.k_step,
				n = (o.row + at[2]) * k.keys + at[3];
			A s = 0, g = 0, factor = 1;
			for (Int d = 0; d < k.size; d++) {
				s += get(k.q, q + d) * get(k.k, key + d);
				g += get(k.dy, q + d) * get(k.v, key + d);
			}
			if (k.drops) {
				uint32_t word[4];
				philox(key_of(k), counter_of(k), 0, n / 4, word);
				factor = (Int)(word[n % 4] >> 8) < k.keep ? (A)k.kept : (A)0;
			}
			slope(k, o, at[2], at[3], reads(k, o.b, at[2]), s, g, factor, k.lse[o.row + at[2]],
				k.delta[o.row + at[2]]);
			sum += g;
		}
		sum = together<Add>(sum);
		if (threadIdx.x == 0) put(k.dmask, e, sum);
	}
}
