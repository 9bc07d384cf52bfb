// Cells of recurrent networks at one step of a batch.
#ifndef GX_RECURRENT_H
#define GX_RECURRENT_H

#include <stdint.h>

// gx_cells is batch cells of n numbers. Operands are matrices with a row per cell and blocks of n
// columns, one for each gate: i, f, g, o of an LSTM, r, z, n of a GRU.
typedef struct {
	int64_t batch, n;
} gx_cells;

// gx_lstm activates the sums in gates and writes memory and out; prev is the memory before the
// step.
void gx_lstm(float *gates, float *memory, float *out, const float *prev, const gx_cells *c,
	int threads);

// gx_lstm_grad writes the gradient of the sums. It replaces the gradient of the new memory,
// dmemory, by the gradient of prev.
void gx_lstm_grad(float *dgates, float *dmemory, const float *dout, const float *gates,
	const float *memory, const float *prev, const gx_cells *c, int threads);

// gx_gru adds the sums in state to the sums in gates and writes out; prev is the output before the
// step. kept receives the numbers that the reset gate multiplies.
void gx_gru(float *gates, float *kept, float *out, const float *state, const float *prev,
	const gx_cells *c, int threads);

// gx_gru_grad writes the gradients of both sums, and to dprev the part of the gradient of prev that
// does not pass the gates.
void gx_gru_grad(float *dgates, float *dstate, float *dprev, const float *dout, const float *gates,
	const float *kept, const float *prev, const gx_cells *c, int threads);

// gx_steps is a layer of cells over all steps of a batch; the i-th step that it takes is step i, or
// steps - 1 - i when it goes back. Arrays have a block of batch rows per step.
typedef struct {
	int64_t steps, batch, n;
	int64_t dy_row; // floats between rows of dy
	int32_t back;
} gx_steps;

// gx_lstm_steps goes through all steps. gates, 4 * n a row, hold the products of the input and its
// weights, without bias, and become activated; memory and out are written. c0 and h0 are memory and
// output before the first step, packed are the weights of the state, packed for the product. It
// needs gx_gemm_can, as gx_lstm_steps_grad does.
void gx_lstm_steps(float *gates, float *memory, float *out, const float *packed, const float *bias,
	const float *c0, const float *h0, const gx_steps *g, int threads);

// gx_lstm_steps_grad goes back through all steps and writes dgates; dmemory and dout are the
// gradients of the last memory and output, which become the gradients of c0 and h0; dy is the
// gradient of out.
void gx_lstm_steps_grad(float *dgates, float *dmemory, float *dout, const float *dy,
	const float *gates, const float *memory, const float *packed, const float *c0,
						const gx_steps *g, int threads);

#endif
