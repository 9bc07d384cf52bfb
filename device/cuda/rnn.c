//go:build cuda

#include "rnn.h"

#include <stdlib.h>
#include <string.h>

int cuCtxSetCurrent(void *ctx);

// sequences makes the descriptor of data with rows of the given number of elements at all steps.
static int sequences(gcu_dnn *f, void **d, const gcu_dnn_rnn_spec *s, int numbers) {
	enum { steps_first_packed = 1, no_memory = 2002 };
	int *lengths = malloc(s->batch * sizeof *lengths);
	if (!lengths) return no_memory;
	for (int i = 0; i < s->batch; i++) lengths[i] = s->steps;
	int err = f->CreateRNNDataDescriptor(d);
	if (!err)
		err = f->SetRNNDataDescriptor(*d, s->type, steps_first_packed, s->steps, s->batch, numbers,
			lengths, 0);
	free(lengths);
	return err;
}

int gcu_dnn_rnn_make(gcu_dnn *f, void *ctx, void *handle, const gcu_dnn_rnn_spec *s,
	gcu_dnn_rnn *r) {
	enum { standard = 0, two_biases = 2, linear_input = 0, full_sequences = 0 };
	memset(r, 0, sizeof *r);
	r->train = s->train;
	int dirs = s->both + 1, h[3] = {s->layers * dirs, s->batch, s->out},
		c[3] = {s->layers * dirs, s->batch, s->hidden};
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = f->CreateDropoutDescriptor(&r->dropout);
	if (!err) err = f->SetDropoutDescriptor(r->dropout, handle, 0, 0, 0, 0);
	if (!err) err = f->CreateRNNDescriptor(&r->op);
	if (!err)
		err = f->SetRNNDescriptor(r->op, standard, s->mode, two_biases, s->both, linear_input,
			s->type, s->compute, s->math, s->input, s->hidden, s->out,
	                                    s->layers, r->dropout, full_sequences);
	if (!err) err = sequences(f, &r->x, s, s->input);
	if (!err) err = sequences(f, &r->y, s, dirs * s->out);
	if (!err) err = gcu_dnn_tensor(f, &r->h, s->type, 3, h, 0);
	if (!err) err = gcu_dnn_tensor(f, &r->c, s->type, 3, c, 0);
	if (!err) err = f->GetRNNWeightSpaceSize(handle, r->op, &r->weights);
	if (!err) err = f->GetRNNTempSpaceSizes(handle, r->op, s->train, r->x, &r->work, &r->reserve);
	if (err) gcu_dnn_rnn_free(f, r);
	return err;
}

void gcu_dnn_rnn_free(gcu_dnn *f, gcu_dnn_rnn *r) {
	if (r->op) f->DestroyRNNDescriptor(r->op);
	if (r->dropout) f->DestroyDropoutDescriptor(r->dropout);
	if (r->x) f->DestroyRNNDataDescriptor(r->x);
	if (r->y) f->DestroyRNNDataDescriptor(r->y);
	if (r->h) f->DestroyTensorDescriptor(r->h);
	if (r->c) f->DestroyTensorDescriptor(r->c);
	memset(r, 0, sizeof *r);
}

// count returns the number of elements of a descriptor's array, 0 if it has none.
static int count(gcu_dnn *f, void *d) {
	int type, n, dims[8], strides[8], total = 1;
	if (f->GetTensorNdDescriptor(d, 3, &type, &n, dims, strides) || n != 3) return 0;
	for (int i = 0; i < n; i++) total *= dims[i];
	return total;
}

int gcu_dnn_rnn_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r, int layer, int gate,
	gcu_dnn_rnn_part *part) {
	char *base = (char *)(1 << 20), *m = 0, *b = 0; // only differences to base are used
	void *dm = 0, *db = 0;
	memset(part, 0, sizeof *part);
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = f->CreateTensorDescriptor(&dm);
	if (!err) err = f->CreateTensorDescriptor(&db);
	if (!err)
		err = f->GetRNNWeightParams(handle, r->op, layer, r->weights, base, gate, dm, (void **)&m,
			db, (void **)&b);
	if (!err && m) part->matrix_at = m - base, part->matrix = count(f, dm);
	if (!err && b) part->bias_at = b - base, part->bias = count(f, db);
	if (dm) f->DestroyTensorDescriptor(dm);
	if (db) f->DestroyTensorDescriptor(db);
	return err;
}

int gcu_dnn_rnn_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r,
	const gcu_dnn_rnn_call *k) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	return f->RNNForward(handle, r->op, r->train, 0, r->x, k->x, r->y, k->y, r->h, k->hx, k->hy,
		r->c, k->cx, k->cy, r->weights, k->weights, r->work, k->work,
	                     r->reserve, k->reserve);
}

int gcu_dnn_rnn_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r,
	const gcu_dnn_rnn_call *k) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	return f->RNNBackwardData(handle, r->op, 0, r->y, k->y, k->dy, r->x, k->dx, r->h, k->hx, k->dhy,
		k->dhx, r->c, k->cx, k->dcy, k->dcx, r->weights, k->weights,
	                          r->work, k->work, r->reserve, k->reserve);
}

int gcu_dnn_rnn_add(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r,
	const gcu_dnn_rnn_call *k) {
	enum { add = 0 };
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	return f->RNNBackwardWeights(handle, r->op, add, 0, r->x, k->x, r->h, k->hx, r->y, k->y,
		r->weights, k->dweights, r->work, k->work, r->reserve, k->reserve);
}
