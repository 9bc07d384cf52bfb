//go:build cuda

// cuBLASLt, opened at run time: products with a bias. The prototypes are our own and hold for
// versions 11 to 13.

#ifndef GX_BLASLT_H
#define GX_BLASLT_H

#include <stddef.h>
#include <stdint.h>

// The algorithm for one product, as the library chooses it.
typedef struct {
	uint64_t algo[8];
	size_t bytes; // of working memory
	int state;
	float waves;
	int reserved[4];
} gcu_lt_choice;

typedef struct {
	int (*Create)(void **);
	int (*MatmulDescCreate)(void **, int, int);
	int (*MatmulDescSetAttribute)(void *, int, const void *, size_t);
	int (*MatmulDescDestroy)(void *);
	int (*MatrixLayoutCreate)(void **, int, uint64_t, uint64_t, int64_t);
	int (*MatrixLayoutDestroy)(void *);
	int (*MatmulPreferenceCreate)(void **);
	int (*MatmulPreferenceSetAttribute)(void *, int, const void *, size_t);
	int (*MatmulPreferenceDestroy)(void *);
	int (*MatmulAlgoGetHeuristic)(void *, void *, void *, void *, void *, void *, void *, int,
		gcu_lt_choice *, int *);
	int (*Matmul)(void *, void *, const void *, const void *, void *, const void *, void *,
		const void *, const void *, void *, void *, void *, const void *, void *, size_t, void *);
} gcu_lt;

// The description of a product whose matrices are stored column by column. epilogue says whether the
// product adds a vector or computes one.
typedef struct {
	int ta, tb, m, n, k, lda, ldb, ldc, type, compute, epilogue;
} gcu_lt_product;

typedef struct {
	const void *a, *b;
	void *c, *bias, *space;
	size_t bytes; // of space
} gcu_lt_memory;

enum {
	gcu_lt_add_bias = 4,   // adds bias, one number per row
	gcu_lt_sum_bias = 512, // writes the sums of the columns of op(b) to bias
	gcu_lt_declined = 15,  // the library has no algorithm
};

int gcu_lt_load(void *lib, gcu_lt *f, const char **missing);
int gcu_lt_open(gcu_lt *f, void *ctx, void **handle);
// gcu_lt_choose finds an algorithm whose results repeat.
int gcu_lt_choose(gcu_lt *f, void *ctx, void *handle, const gcu_lt_product *p,
	const gcu_lt_memory *at, gcu_lt_choice *choice);
int gcu_lt_run(gcu_lt *f, void *ctx, void *handle, void *stream, const gcu_lt_product *p,
	const gcu_lt_memory *at, const gcu_lt_choice *choice);

#endif
