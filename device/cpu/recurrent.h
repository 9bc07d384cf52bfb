// Cells of recurrent networks at one step of a batch.
#ifndef GX_RECURRENT_H
#define GX_RECURRENT_H

#include <stdint.h>

// gx_cells is batch cells of n numbers. Operands are matrices with a row per cell and blocks of n columns, one for each
// gate: i, f, g, o of an LSTM, r, z, n of a GRU.
typedef struct {
	int64_t batch, n;
} gx_cells;

// gx_lstm activates the sums in gates and writes memory and out; prev is the memory before the step.
void gx_lstm(float *gates, float *memory, float *out, const float *prev, const gx_cells *c, int threads);

// gx_lstm_grad writes the gradient of the sums; that of the new memory, dmemory, becomes that of prev.
void gx_lstm_grad(float *dgates, float *dmemory, const float *dout, const float *gates, const float *memory, const float *prev, const gx_cells *c, int threads);

// gx_gru adds to the sums in gates those in state, as it goes, and writes out; prev is the output before the step. What the
// reset gate multiplies goes to kept.
void gx_gru(float *gates, float *kept, float *out, const float *state, const float *prev, const gx_cells *c, int threads);

// gx_gru_grad writes the gradients of both sums, and to dprev what reaches prev past the gates.
void gx_gru_grad(float *dgates, float *dstate, float *dprev, const float *dout, const float *gates, const float *kept, const float *prev, const gx_cells *c, int threads);

#endif
