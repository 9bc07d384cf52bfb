#include "order.h"

#include "gx.h"

// A rank is an element's place in the order in the upper half and its index in the lower: ranks are
// unique, and their order is the stable one.
typedef uint64_t rank;

typedef struct {
	float *values, *mask;
	void *indices;
	const float *x;
	const gx_order_spec *p;
	char *scratch;
	int64_t room; // bytes of scratch memory per vector that is worked on
	int threads;
} job;

enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 3, CHUNK = 64 };

// keys writes for each element a number whose order as an unsigned integer is the wanted one.
GX_CLONES static void keys(uint32_t *key, const float *x, int64_t n, int64_t stride,
	uint32_t flip) {
	for (int64_t i = 0; i < n; i++) {
		float f = x[i * stride] + 0.0f; // both zeros are equal
		uint32_t b;
		memcpy(&b, &f, 4);
		uint32_t k = b ^ ((uint32_t)-(int32_t)(b >> 31) | 0x80000000u);
		key[i] = (f != f ? 0xffffffffu : k) ^ flip;
	}
}

// sort orders n ranks by their keys, counting digits; the result is in a.
static void sort(rank *a, rank *b, const uint32_t *key, int64_t n) {
	uint32_t count[PASSES][DIGITS] = {0};
	for (int64_t i = 0; i < n; i++) {
		a[i] = (rank)key[i] << 32 | (rank)i;
		for (int p = 0; p < PASSES; p++) count[p][key[i] >> (p * BITS) & (DIGITS - 1)]++;
	}
	for (int p = 0; p < PASSES; p++) {
		uint32_t at = 0;
		for (int d = 0; d < DIGITS; d++) {
			uint32_t c = count[p][d];
			count[p][d] = at, at += c;
		}
		for (int64_t i = 0; i < n; i++)
			b[count[p][a[i] >> (32 + p * BITS) & (DIGITS - 1)]++] = a[i];
		rank *t = a;
		a = b, b = t;
	}
	memcpy(b, a, (size_t)n * sizeof *a); // three passes end in the other array
}

// sink moves the first of n ranks down a heap whose largest is on top.
static void sink(rank *heap, int64_t n) {
	rank r = heap[0];
	int64_t i = 0;
	for (int64_t c; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && heap[c + 1] > heap[c]) c++;
		if (heap[c] <= r) break;
		heap[i] = heap[c];
	}
	heap[i] = r;
}

// any_below reports whether one of CHUNK keys is below limit.
GX_CLONES static int any_below(const uint32_t *key, uint32_t limit) {
	uint32_t found = 0;
	for (int i = 0; i < CHUNK; i++) found |= key[i] < limit ? 1 : 0;
	return (int)found;
}

// take_all offers keys [begin, end) to a heap of the k smallest ranks. Those equal to the largest
// come too late.
static void take_all(rank *heap, int64_t k, const uint32_t *key, int64_t begin, int64_t end) {
	for (int64_t i = begin; i < end; i++) {
		if (key[i] >= (uint32_t)(heap[0] >> 32)) continue;
		heap[0] = (rank)key[i] << 32 | (rank)i;
		sink(heap, k);
	}
}

// choose puts the k smallest of n ranks in order into heap.
static void choose(rank *heap, int64_t k, const uint32_t *key, int64_t n) {
	for (int64_t i = 0; i < k; i++) heap[i] = (rank)key[i] << 32 | (rank)i;
	for (int64_t i = k / 2; i-- > 0;) { // from the last inner node up
		rank r = heap[i];
		int64_t at = i;
		for (int64_t c; (c = 2 * at + 1) < k; at = c) {
			if (c + 1 < k && heap[c + 1] > heap[c]) c++;
			if (heap[c] <= r) break;
			heap[at] = heap[c];
		}
		heap[at] = r;
	}
	int64_t i = k;
	for (; i + CHUNK <= n; i += CHUNK)
		if (any_below(key + i, (uint32_t)(heap[0] >> 32))) take_all(heap, k, key, i, i + CHUNK);
	take_all(heap, k, key, i, n);
	for (int64_t m = k - 1; m > 0; m--) {
		rank r = heap[m];
		heap[m] = heap[0];
		heap[0] = r;
		sink(heap, m);
	}
}

// put writes the selected elements of the vector at offset from to offset to of the outputs.
static void put(const job *j, const rank *order, int64_t from, int64_t to) {
	const gx_order_spec *p = j->p;
	for (int64_t i = 0; i < p->k; i++) {
		int32_t at = (int32_t)(uint32_t)order[i];
		int64_t out = to + i * p->inner, in = from + at * p->inner;
		if (j->values) j->values[out] = j->x[in];
		if (j->mask) j->mask[in] = 1.0f;
		if (j->indices && p->ints) ((int32_t *)j->indices)[out] = at;
		if (j->indices && !p->ints) ((float *)j->indices)[out] = (float)at;
	}
}

static int selects(const gx_order_spec *p) { return p->k * 8 <= p->n; }

// vectors works on the vectors of shares [begin, end): one share is one thread's.
static void vectors(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_order_spec *p = j->p;
	int64_t count = p->outer * p->inner;
	rank *a = (rank *)(j->scratch + begin * j->room), *b = a + p->n;
	uint32_t *key = (uint32_t *)(b + p->n);
	for (int64_t v = count * begin / j->threads; v < count * end / j->threads; v++) {
		int64_t o = v / p->inner, i = v % p->inner, from = o * p->n * p->inner + i,
			to = o * p->k * p->inner + i;
		keys(key, j->x + from, p->n, p->inner, p->descend ? 0xffffffffu : 0);
		if (selects(p))
			choose(a, p->k, key, p->n);
		else
			sort(a, b, key, p->n);
		put(j, a, from, to);
	}
}

static int64_t room(const gx_order_spec *p) {
	return gx_lines(p->n * (int64_t)(2 * sizeof(rank) + sizeof(uint32_t)));
}

int64_t gx_order_scratch(const gx_order_spec *p, int threads) { return room(p) * threads; }

void gx_order(float *values, void *indices, float *mask, const float *x, const gx_order_spec *p,
	void *scratch, int threads) {
	job j = {values, mask, indices, x, p, scratch, room(p), threads};
	if (p->k > 0) gx_parallel(threads, threads, 1, vectors, &j);
}
