#include "int8.h"

#include "gx.h"

#include <math.h>
#include <stdlib.h>

// Products and sums of epilogues are rounded one by one, as int8.h says.
#pragma GCC optimize("fp-contract=off")

enum { CHUNK = 256 }; // outputs whose sums are kept at a time

typedef struct {
	const gx_int8 *c;
	void *y;
	const void *x, *sum;
	const int8_t *w;
	const float *scale, *offset;
} job;

static int32_t number(const void *x, int type, int64_t i) {
	return type == GX_INT8 ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
}

static float limited(float v, int type) {
	float low = type == GX_INT8 ? -128.0f : 0.0f, high = type == GX_INT8 ? 127.0f : 255.0f;
	v = v > low ? v : low;
	return rintf(v < high ? v : high);
}

static void put(void *y, int type, int64_t i, float v) {
	if (type == GX_INT8)
		((int8_t *)y)[i] = (int8_t)limited(v, type);
	else
		((uint8_t *)y)[i] = (uint8_t)limited(v, type);
}

// finish makes n outputs of channel oc, the first of which is output at, of their sums.
static void finish(const job *j, const int32_t *sums, int64_t oc, int64_t at, int64_t n) {
	const gx_int8 *c = j->c;
	for (int64_t i = 0; i < n; i++) {
		float v = (float)sums[i] * j->scale[oc];
		v = v + j->offset[oc];
		if (c->sum_type != GX_NONE)
			v = fmaf((float)number(j->sum, c->sum_type, at + i), c->sum_step, v);
		if (c->relu) v = v > 0 ? v : 0;
		if (c->y_type == GX_FLOAT)
			((float *)j->y)[at + i] = v;
		else
			put(j->y, c->y_type, at + i, v * c->y_scale);
	}
}

// One row of sums, for neighbouring outputs along the last axis.
GX_CLONES static void add_u8(int32_t *s, const uint8_t *x, int32_t w, int64_t n, int64_t step) {
	for (int64_t i = 0; i < n; i++) s[i] += w * x[i * step];
}

GX_CLONES static void add_s8(int32_t *s, const int8_t *x, int32_t w, int64_t n, int64_t step) {
	for (int64_t i = 0; i < n; i++) s[i] += w * x[i * step];
}

GX_CLONES static int32_t dot_u8(const uint8_t *x, const int8_t *w, int64_t n) {
	int32_t s = 0;
	for (int64_t i = 0; i < n; i++) s += (int32_t)x[i] * w[i];
	return s;
}

GX_CLONES static int32_t dot_s8(const int8_t *x, const int8_t *w, int64_t n) {
	int32_t s = 0;
	for (int64_t i = 0; i < n; i++) s += (int32_t)x[i] * w[i];
	return s;
}

// tap adds one element of the window to the sums of outputs [from, to) of a row of the input.
static void tap(const gx_int8 *c, int32_t *s, const void *x, int64_t row, int32_t w, int64_t k,
	int64_t from, int64_t to) {
	int64_t last = c->axes - 1, step = c->stride[last], off = k * c->dilate[last] - c->pad[last];
	int64_t b = off >= 0 ? 0 : (-off + step - 1) / step;
	int64_t e = c->in[last] - off <= 0 ? 0 : (c->in[last] - off - 1) / step + 1;
	b = gx_max(b, from), e = gx_min(e, to);
	if (e <= b) return;
	int64_t at = row + b * step + off;
	if (c->x_type == GX_INT8)
		add_s8(s + (b - from), (const int8_t *)x + at, w, e - b, step);
	else
		add_u8(s + (b - from), (const uint8_t *)x + at, w, e - b, step);
}

// row computes outputs [from, to) of a row, whose other coordinates are o, of image n.
static void row(const job *j, int64_t n, int64_t oc, const int64_t *o, int64_t from, int64_t to,
	int32_t *sums) {
	const gx_int8 *c = j->c;
	int64_t axes = c->axes, last = axes - 1, taps = 1, each = c->ic / c->groups;
	int64_t first = n * c->ic + oc / (c->oc / c->groups) * each; // channel of the input
	for (int64_t a = 0; a < axes; a++) taps *= c->kernel[a];
	memset(sums, 0, (size_t)(to - from) * sizeof *sums);
	for (int64_t ic = 0; ic < each; ic++)
		for (int64_t t = 0; t < taps; t++) {
			int64_t k[3], rest = t, at = first + ic, inside = 1;
			for (int64_t a = last; a >= 0; a--) k[a] = rest % c->kernel[a], rest /= c->kernel[a];
			for (int64_t a = 0; a < last; a++) {
				int64_t i = o[a] * c->stride[a] + k[a] * c->dilate[a] - c->pad[a];
				inside = inside && i >= 0 && i < c->in[a];
				at = at * c->in[a] + i;
			}
			if (inside)
				tap(c, sums, j->x, at * c->in[last], j->w[(oc * each + ic) * taps + t], k[last],
					from, to);
		}
}

// plane computes channel i % oc of image i / oc.
static void planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_int8 *c = j->c;
	int64_t last = c->axes - 1, rows = 1, width = c->out[last];
	int32_t sums[CHUNK];
	for (int64_t a = 0; a < last; a++) rows *= c->out[a];
	for (int64_t i = begin; i < end; i++)
		for (int64_t r = 0; r < rows; r++) {
			int64_t o[3], rest = r;
			for (int64_t a = last - 1; a >= 0; a--) o[a] = rest % c->out[a], rest /= c->out[a];
			for (int64_t b = 0; b < width; b += CHUNK) {
				int64_t e = gx_min(b + CHUNK, width);
				row(j, i / c->oc, i % c->oc, o, b, e, sums);
				finish(j, sums, i % c->oc, (i * rows + r) * width + b, e - b);
			}
		}
}

// outputs computes single outputs of layers without windows: of images of one pixel.
static void outputs(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_int8 *c = j->c;
	for (int64_t i = begin; i < end; i++) {
		int64_t n = i / c->oc, oc = i % c->oc;
		const int8_t *w = j->w + oc * c->ic;
		int32_t s = c->x_type == GX_INT8 ? dot_s8((const int8_t *)j->x + n * c->ic, w, c->ic)
			: dot_u8((const uint8_t *)j->x + n * c->ic, w, c->ic);
		finish(j, &s, oc, i, 1);
	}
}

void gx_int8_run(const gx_int8 *c, void *y, const void *x, const int8_t *w, const float *scale,
	const float *offset, const void *sum, int threads) {
	job j = {c, y, x, sum, w, scale, offset};
	int64_t single = c->groups;
	for (int64_t a = 0; a < c->axes; a++) single *= c->in[a] * c->kernel[a] * c->out[a];
	
	gx_parallel(threads, c->batch * c->oc, 1, single == 1 ? outputs : planes, &j);
}

// QUANTIZE turns n numbers into integers.
#define QUANTIZE(name, T, low, high) \
	GX_CLONES static void quantize_##name(T *restrict y, const float *restrict x, float shift, \
		float scale, int64_t n) { \
		for (int64_t i = 0; i < n; i++) { \
			float v = (x[i] + shift) * scale; \
			v = v > low ? v : low; \
			y[i] = (T)rintf(v < high ? v : high); \
		} \
	}
QUANTIZE(u8, uint8_t, 0.0f, 255.0f)
QUANTIZE(s8, int8_t, -128.0f, 127.0f)

static void quantize(const gx_quantizer *q, uint8_t *y, const float *x, int64_t n) {
	if (q->type == GX_INT8)
		quantize_s8((int8_t *)y, x, q->shift, q->scale, n);
	else
		quantize_u8(y, x, q->shift, q->scale, n);
}

// TURNED is the number of channels that are quantized before their bytes are put side by side.
enum { TURNED = 16 };

// turned writes n pixels of some channels, which lie CHUNK apart, side by side.
GX_CLONES static void turned(uint8_t *restrict y, const uint8_t *restrict x, int64_t n,
	int64_t some, int64_t channels) {
	if (some == 3) {
		for (int64_t i = 0; i < n; i++, y += channels)
			y[0] = x[i], y[1] = x[CHUNK + i], y[2] = x[2 * CHUNK + i];
		return;
	}
	for (int64_t i = 0; i < n; i++, y += channels)
		for (int64_t k = 0; k < some; k++) y[k] = x[k * CHUNK + i];
}

typedef struct {
	const gx_quantizer *q;
	uint8_t *y;
	const float *x;
} quantizing;

// row_last writes a row of pixels with their channels side by side.
static void row_last(const quantizing *j, uint8_t *y, const float *x, int64_t plane, uint8_t zero) {
	const gx_quantizer *q = j->q;
	int64_t c = q->channels, n = q->in[2];
	memset(y, zero, (size_t)(q->before[2] * c));
	memset(y + (q->before[2] + n) * c, zero, (size_t)((q->out[2] - q->before[2] - n) * c));
	y += q->before[2] * c;
	uint8_t block[TURNED * CHUNK];
	for (int64_t b = 0; b < n; b += CHUNK) {
		int64_t size = gx_min(CHUNK, n - b);
		for (int64_t k = 0; k < c; k += TURNED) {
			int64_t some = gx_min(TURNED, c - k);
			for (int64_t i = 0; i < some; i++)
				quantize(q, block + i * CHUNK, x + (k + i) * plane + b, size);
			turned(y + b * c + k, block, size, some, c);
		}
	}
}

// rows writes rows of the output: of all channels if they are last, else of one channel.
static void rows(const void *arg, int64_t begin, int64_t end) {
	const quantizing *j = arg;
	const gx_quantizer *q = j->q;
	int64_t plane = q->in[0] * q->in[1] * q->in[2], size = q->out[2] * (q->last ? q->channels : 1);
	uint8_t zero;
	const float none = 0;
	quantize(q, &zero, &none, 1);
	for (int64_t i = begin; i < end; i++) {
		int64_t h = i % q->out[1] - q->before[1], rest = i / q->out[1];
		int64_t d = rest % q->out[0] - q->before[0], image = rest / q->out[0];
		uint8_t *y = j->y + i * size;
		if (h < 0 || h >= q->in[1] || d < 0 || d >= q->in[0]) {
			memset(y, zero, (size_t)size);
			continue;
		}
		const float *x = j->x + (d * q->in[1] + h) * q->in[2];
		x += image * plane * (q->last ? q->channels : 1);
		if (q->last) {
			row_last(j, y, x, plane, zero);
			continue;
		}
		memset(y, zero, (size_t)q->before[2]);
		quantize(q, y + q->before[2], x, q->in[2]);
		int64_t filled = q->before[2] + q->in[2];
		memset(y + filled, zero, (size_t)(q->out[2] - filled));
	}
}

void gx_quantize(const gx_quantizer *q, void *y, const float *x, int threads) {
	quantizing j = {q, y, x};
	
	gx_parallel(threads, q->batch * (q->last ? 1 : q->channels) * q->out[0] * q->out[1], 1, rows, &j);
}

typedef struct {
	void *y;
	const void *x;
	float scale;
	int type;
} change;

GX_CLONES static void dequantize_u8(float *y, const uint8_t *x, float step, int64_t n) {
	for (int64_t i = 0; i < n; i++) y[i] = (float)x[i] * step;
}

GX_CLONES static void dequantize_s8(float *y, const int8_t *x, float step, int64_t n) {
	for (int64_t i = 0; i < n; i++) y[i] = (float)x[i] * step;
}

static void dequantize(const void *arg, int64_t begin, int64_t end) {
	const change *c = arg;
	float *y = (float *)c->y + begin;
	if (c->type == GX_INT8)
		dequantize_s8(y, (const int8_t *)c->x + begin, c->scale, end - begin);
	else
		dequantize_u8(y, (const uint8_t *)c->x + begin, c->scale, end - begin);
}

void gx_dequantize(float *y, const void *x, float step, int type, int64_t n, int threads) {
	change c = {.y = y, .x = x, .scale = step, .type = type};
	
	gx_parallel(threads, n, CHUNK, dequantize, &c);
}

typedef struct {
	const gx_bytepool *p;
	uint8_t *y;
	const uint8_t *x;
} pooling;

// GREATEST keeps the greater bytes of n neighbours; flip makes signed bytes compare as unsigned.
GX_CLONES static void greatest(uint8_t *restrict y, const uint8_t *restrict x, int64_t n,
	uint8_t flip, int64_t dy, int64_t dx) {
	if (dy == 1 && dx == 1) {
		for (int64_t i = 0; i < n; i++)
			y[i] = (uint8_t)(x[i] ^ flip) > (uint8_t)(y[i] ^ flip) ? x[i] : y[i];
		return;
	}
	for (int64_t i = 0; i < n; i++)
		y[i * dy] = (uint8_t)(x[i * dx] ^ flip) > (uint8_t)(y[i * dy] ^ flip) ? x[i * dx] : y[i * dy];
}

// pool_pixels computes all channels of output pixels.
static void pool_pixels(const void *arg, int64_t begin, int64_t end) {
	const pooling *j = arg;
	const gx_bytepool *p = j->p;
	int64_t ins = p->in[0] * p->in[1] * p->in[2], outs = p->out[0] * p->out[1] * p->out[2];
	int64_t dx = p->x_last ? 1 : ins, dy = p->y_last ? 1 : outs, c = p->channels;
	for (int64_t i = begin; i < end; i++) {
		int64_t n = i / outs, at = i % outs, b[3], e[3], rest = at;
		for (int a = 2; a >= 0; a--) {
			int64_t first = rest % p->out[a] * p->stride[a] - p->pad[a];
			rest /= p->out[a];
			b[a] = gx_max(first, 0), e[a] = gx_min(first + p->kernel[a], p->in[a]);
		}
		uint8_t *y = j->y + n * c * outs + at * (p->y_last ? c : 1);
		for (int64_t k = 0; k < c; k++) y[k * dy] = p->is_signed ? 0x80 : 0;
		for (int64_t z = b[0]; z < e[0]; z++)
			for (int64_t r = b[1]; r < e[1]; r++)
				for (int64_t q = b[2]; q < e[2]; q++)
					greatest(y, j->x + n * c * ins + ((z * p->in[1] + r) * p->in[2] + q) *
						(p->x_last ? c : 1), c, p->is_signed ? 0x80 : 0, dy, dx);
	}
}

void gx_bytepool_run(const gx_bytepool *p, void *y, const void *x, int threads) {
	pooling j = {p, y, x};
	
	gx_parallel(threads, p->batch * p->out[0] * p->out[1] * p->out[2], 1, pool_pixels, &j);
}
