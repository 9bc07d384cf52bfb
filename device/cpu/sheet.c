#include "sheet.h"

#include "gx.h"

#define INLINE static inline __attribute__((always_inline))

// make_lanes settles where the numbers of narrow rows come from: from two rows, or from two vectors of one.
static void make_lanes(gx_sheet *s) {
	const gx_axis *w = &s->w;
	s->narrow = w->out <= GX_LANES / 2 && w->in <= GX_LANES ? 2 : w->out <= GX_LANES && w->in <= 2 * GX_LANES;
	for (int t = 0; t < w->taps; t++)
		for (int64_t l = 0; l < s->narrow * w->out; l++) {
			int64_t column = l % w->out * w->step + w->at[t];
			s->lane[t][l] = (int32_t)(column + (l < w->out ? 0 : GX_LANES));
			s->some[t][l] = column >= 0 && column < w->in ? -1 : 0;
		}
}

gx_sheet gx_sheet_of(const gx_axis *h, const gx_axis *w, int64_t rows) {
	gx_sheet s = {.h = *h, .w = *w, .rows = rows, .top = h->at[0]};
	int64_t bottom = h->at[0];
	for (int t = 1; t < h->taps; t++) s.top = gx_min(s.top, h->at[t]), bottom = gx_max(bottom, h->at[t]);
	s.classes = gx_min(h->step, bottom - s.top + 1);
	s.depth = rows + (bottom - s.top) / h->step;
	s.plane = w->taps * s.classes * s.depth * w->out;
	make_lanes(&s);
	return s;
}

void gx_sheet_offsets(const gx_sheet *s, int64_t channels, int32_t *at) {
	int64_t copy = s->depth * s->w.out;
	for (int64_t c = 0; c < channels; c++)
		for (int h = 0; h < s->h.taps; h++) {
			int64_t lag = s->h.at[h] - s->top, row = lag % s->h.step * copy + lag / s->h.step * s->w.out;
			for (int w = 0; w < s->w.taps; w++) *at++ = (int32_t)(c * s->plane + w * s->classes * copy + row);
		}
}

// span is the range of output columns whose tap lies inside.
typedef struct {
	int64_t begin, end;
} span;

static span inside(const gx_axis *w, int64_t at) {
	span s = {at < 0 ? (-at + w->step - 1) / w->step : 0, w->in > at ? (w->in - at + w->step - 1) / w->step : 0};
	s.end = gx_min(s.end, w->out);
	s.begin = gx_min(s.begin, s.end);
	return s;
}

// zero clears n numbers, and more up to the end of a vector.
INLINE void zero(float *d, int64_t n) {
	for (int64_t i = 0; i < n; i += GX_LANES) GX_AT(d + i) = (gx_v16){};
}

// clear clears n numbers alone, few of them.
INLINE void clear(float *d, int64_t n) {
	if (n > 0) d[0] = 0.0f;
	for (int64_t i = 1; i < n; i++) d[i] = 0.0f;
}

// copy copies n numbers step apart, whole vectors of them; it reads as far.
INLINE void copy(float *d, const float *s, int64_t n, int64_t step) {
	const gx_i16 even = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
	if (step == 1)
		for (int64_t i = 0; i < n; i += GX_LANES) GX_AT(d + i) = GX_AT(s + i);
	else if (step == 2)
		for (int64_t i = 0; i < n; i += GX_LANES) GX_AT(d + i) = __builtin_shuffle(GX_AT(s + 2 * i), GX_AT(s + 2 * i + GX_LANES), even);
	else
		for (int64_t i = 0; i < n; i++) d[i] = s[i * step];
}

// copy_last is copy where vectors could end behind the plane.
INLINE void copy_last(float *d, const float *s, int64_t n, int64_t step) {
	int64_t whole = gx_max(0, n - GX_LANES) / GX_LANES * GX_LANES; // and one vector that may be cut off
	copy(d, s, whole, step);
	for (int64_t i = whole; i < n; i++) d[i] = s[i * step];
}

// load reads the n numbers of a vector that lie before last.
INLINE gx_v16 load(const float *s, const float *last) {
	if (s + GX_LANES <= last) return GX_AT(s);
	gx_v16 v = {};
	if (s < last) memcpy(&v, s, (size_t)(last - s) * sizeof *s);
	return v;
}

// narrow copies count rows that are next apart.
INLINE void narrow(float *d, const float *row, int64_t next, int64_t count, const gx_sheet *s, int tap, const float *last) {
	gx_i16 from = *(const gx_i16 *)s->lane[tap], some = *(const gx_i16 *)s->some[tap];
	int64_t step = s->narrow, other = step > 1 ? next : GX_LANES, behind = last - row - 2 * GX_LANES, i = 0;
	int64_t safe = behind < 0 ? 0 : gx_min(count, behind / next + 2 - step);
	for (; i < safe; i += step, d += step * s->w.out, row += step * next)
		GX_AT(d) = (gx_v16)((gx_i16)__builtin_shuffle(GX_AT(row), GX_AT(row + other), from) & some);
	for (; i < count; i += step, d += step * s->w.out, row += step * next) {
		gx_v16 a = load(row, last), b = load(row + other, last);
		GX_AT(d) = (gx_v16)((gx_i16)__builtin_shuffle(a, b, from) & some);
	}
}

// wide copies count rows that are next apart.
INLINE void wide(float *d, const float *row, int64_t next, int64_t count, const gx_axis *w, int64_t at, const float *last) {
	span c = inside(w, at);
	const float *from = row + at + c.begin * w->step;
	int64_t n = c.end - c.begin, before = c.begin, behind = w->out - c.end, step = w->step;
	if (next == w->in && step == 1 && w->in == w->out && n > 0) { // all rows at once
		copy_last(d + before, from, count * w->out - before - behind, 1);
		for (int64_t i = 0; i < count && n < w->out; i++, d += w->out) {
			clear(d, before);
			clear(d + c.end, behind);
		}
		return;
	}
	int64_t reach = (n + GX_LANES - 1) / GX_LANES * GX_LANES * step, i = 0;
	int64_t safe = gx_min(count, last - from < reach ? 0 : (last - from - reach) / next + 1);
	for (; i < safe; i++, d += w->out, from += next) {
		if (before > 0) zero(d, before);
		copy(d + before, from, n, step);
		if (behind > 0) zero(d + c.end, behind);
	}
	for (; i < count; i++, d += w->out, from += next) {
		zero(d, before);
		copy_last(d + before, from, n, step);
		zero(d + c.end, behind);
	}
}

// rows copies count rows of a plane, from row on and step apart, as a tap meets them.
INLINE void rows(const gx_sheet *s, float *d, const float *plane, int tap, int64_t row, int64_t count) {
	const gx_axis *h = &s->h, *w = &s->w;
	span r = inside(&(gx_axis){.in = h->in, .out = count, .step = h->step}, row);
	int64_t n = r.end - r.begin, next = h->step * w->in;
	const float *last = plane + h->in * w->in, *first = plane + (row + r.begin * h->step) * w->in;
	zero(d, r.begin * w->out);
	if (n > 0) {
		if (s->narrow)
			narrow(d + r.begin * w->out, first, next, n, s, tap, last);
		else
			wide(d + r.begin * w->out, first, next, n, w, w->at[tap], last);
	}
	zero(d + r.end * w->out, (count - r.end) * w->out);
}

GX_CLONES void gx_sheet_fill(const gx_sheet *s, float *d, const float *planes, int64_t channels, int64_t row, int64_t count) {
	int64_t depth = count + s->depth - s->rows;
	for (int64_t c = 0; c < channels; c++, planes += s->h.in * s->w.in)
		for (int w = 0; w < s->w.taps; w++)
			for (int64_t k = 0; k < s->classes; k++, d += s->depth * s->w.out)
				rows(s, d, planes, w, row * s->h.step + s->top + k, depth);
}
