#include "sheet.h"

#include "gx.h"

#define INLINE static inline __attribute__((always_inline))

// make_lanes settles where the numbers of narrow rows come from: from two rows, or from two vectors
// of one.
static void make_lanes(gx_sheet *s) {
	const gx_axis *w = &s->w;
	s->narrow = w->out <= GX_LANES / 2 && w->in <= GX_LANES ? 2
		: w->out <= GX_LANES && w->in <= 2 * GX_LANES;
	for (int t = 0; t < w->taps; t++)
		for (int64_t l = 0; l < s->narrow * w->out; l++) {
			int64_t column = l % w->out * w->step + w->at[t];
			s->lane[t][l] = (int32_t)(column + (l < w->out ? 0 : GX_LANES));
			s->some[t][l] = column >= 0 && column < w->in ? -1 : 0;
		}
}

// is_by_rows reports whether by_rows copies the planes: every second number of wide rows.
static int is_by_rows(const gx_sheet *s) { return !s->narrow && s->w.step == 2; }

gx_sheet gx_sheet_of(const gx_axis *h, const gx_axis *w, int64_t rows) {
	gx_sheet s = {.h = *h, .w = *w, .rows = rows, .top = h->at[0]};
	int64_t bottom = h->at[0];
	for (int t = 1; t < h->taps; t++)
		s.top = gx_min(s.top, h->at[t]), bottom = gx_max(bottom, h->at[t]);
	s.classes = gx_min(h->step, bottom - s.top + 1);
	s.depth = rows + (bottom - s.top) / h->step;
	make_lanes(&s);
	s.copy = s.depth * w->out + GX_LANES; // the last vector of a copy may end behind it
	s.plane = w->taps * s.classes * s.copy;
	return s;
}

void gx_sheet_offsets(const gx_sheet *s, int64_t channels, int32_t *at) {
	for (int64_t c = 0; c < channels; c++)
		for (int h = 0; h < s->h.taps; h++) {
			int64_t lag = s->h.at[h] - s->top,
				row = lag % s->h.step * s->copy + lag / s->h.step * s->w.out;
			for (int w = 0; w < s->w.taps; w++)
				*at++ = (int32_t)(c * s->plane + w * s->classes * s->copy + row);
		}
}

// span is the range of output columns whose tap lies inside.
typedef struct {
	int64_t begin, end;
} span;

static span inside(const gx_axis *w, int64_t at) {
	span s = {at < 0 ? (-at + w->step - 1) / w->step : 0,
		w->in > at ? (w->in - at + w->step - 1) / w->step : 0};
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
	if (step == 1)
		for (int64_t i = 0; i < n; i += GX_LANES) GX_AT(d + i) = GX_AT(s + i);
	else
		for (int64_t i = 0; i < n; i++) d[i] = s[i * step];
}

// copy_last is copy where vectors could end behind the plane.
INLINE void copy_last(float *d, const float *s, int64_t n, int64_t step) {
	// And one vector that may be cut off
	int64_t whole = gx_max(0, n - GX_LANES) / GX_LANES * GX_LANES;
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

// band says which of the rows that a class copies lie inside the plane, and where they begin.
typedef struct {
	int64_t before, rows, behind; // rows of zeros, rows of the plane, rows of zeros
	int64_t first, next;          // offset of the first row in the plane; floats between rows
} band;

static band band_of(const gx_sheet *s, int64_t row, int64_t count) {
	const gx_axis *h = &s->h;
	span r = inside(&(gx_axis){.in = h->in, .out = count, .step = h->step}, row);
	int64_t next = h->step * s->w.in;
	return (band){r.begin, r.end - r.begin, count - r.end, row * s->w.in + r.begin * next, next};
}

// within returns how many rows of a band may be read for reach floats without leaving the plane.
static int64_t within(const gx_sheet *s, const band *b, int64_t reach) {
	int64_t room = s->h.in * s->w.in - b->first - reach;
	return b->rows > 0 && room >= 0 ? gx_min(b->rows, room / b->next + 1) : 0;
}

// narrow_row copies a row, or two of them, of vectors x and y as taps meet it.
INLINE void narrow_row(const gx_sheet *s, float *d, int taps, gx_v16 x, gx_v16 y,
	const gx_i16 *lane, const gx_i16 *some) {
	int64_t between = s->classes * s->copy;
#pragma GCC unroll 3
	for (int t = 0; t < taps; t++)
		GX_AT(d + t * between) = (gx_v16)((gx_i16)__builtin_shuffle(x, y, lane[t]) & some[t]);
}

// narrow copies the rows of a band as taps from tap on meet them, at most three taps. Vectors of
// the first safe rows end inside the plane.
INLINE void narrow(const gx_sheet *s, float *d, const float *plane, int tap, int taps,
	const band *b, int64_t safe) {
	gx_i16 lane[3], some[3];
#pragma GCC unroll 3
	for (int t = 0; t < taps; t++) {
		lane[t] = *(const gx_i16 *)s->lane[tap + t];
		some[t] = *(const gx_i16 *)s->some[tap + t];
	}
	int64_t step = s->narrow, next = b->next, other = step > 1 ? next : GX_LANES, i = 0;
	const float *row = plane + b->first, *last = plane + s->h.in * s->w.in;
	for (; i + step <= safe; i += step, d += step * s->w.out, row += step * next)
		narrow_row(s, d, taps, GX_AT(row), GX_AT(row + other), lane, some);
	for (; i < b->rows; i += step, d += step * s->w.out, row += step * next)
		narrow_row(s, d, taps, load(row, last), load(row + other, last), lane, some);
}

// wide copies the rows of a band as a tap meets them.
INLINE void wide(const gx_sheet *s, float *d, const float *plane, int tap, const band *b) {
	const gx_axis *w = &s->w;
	const float *row = plane + b->first, *last = plane + s->h.in * w->in;
	int64_t next = b->next, count = b->rows, at = w->at[tap];
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

// by_classes copies planes class by class, a class being the rows with one remainder modulo the
// step.
INLINE void by_classes(const gx_sheet *s, float *d, const float *planes, int64_t channels,
	int64_t row, int64_t depth) {
	int taps = s->w.taps;
	int64_t between = s->classes * s->copy, out = s->w.out;
	for (int64_t k = 0; k < s->classes; k++, d += s->copy) {
		band b = band_of(s, row + k, depth);
		int64_t safe = s->narrow ? within(s, &b, s->narrow > 1 ? GX_LANES : 2 * GX_LANES) : 0;
		for (int64_t c = 0; c < channels; c++) {
			const float *plane = planes + c * s->h.in * s->w.in;
			float *to = d + c * s->plane;
			for (int t = 0; t < taps; t++) zero(to + t * between, b.before * out);
			to += b.before * out;
			if (b.rows > 0) {
				if (!s->narrow)
					for (int t = 0; t < taps; t++) wide(s, to + t * between, plane, t, &b);
				else if (taps == 3)
					narrow(s, to, plane, 0, 3, &b, safe);
				else
					for (int t = 0; t < taps; t++)
						narrow(s, to + t * between, plane, t, 1, &b, safe);
			}
			to += b.rows * out;
			for (int t = 0; t < taps; t++) zero(to + t * between, b.behind * out);
		}
	}
}

// pair is one tap of the width or two whose copies begin with the same input column.
typedef struct {
	int64_t first, vectors;       // input column; vectors of a row
	int taps;                     // 1 or 2
	int64_t to[2];                // floats from the beginning of the plane's copies
	int64_t before[2], behind[2]; // zeros around the numbers of a row
	int64_t end[2];               // floats from the beginning of a row's copy to the zeros behind
} pair;

// make_pairs finds the pairs of a width whose step is two, and returns their number.
static int make_pairs(const gx_sheet *s, pair *p) {
	int n = 0;
	for (int t = 0; t < s->w.taps; t++) {
		span c = inside(&s->w, s->w.at[t]);
		int64_t first = c.begin < c.end ? s->w.at[t] + c.begin * s->w.step : 0;
		int k = 0;
		while (k < n && (p[k].taps == 2 || p[k].first != first)) k++;
		if (k == n) p[n++] = (pair){.first = first};
		pair *to = &p[k];
		int i = to->taps++;
		to->vectors = gx_max(to->vectors, (c.end - c.begin + GX_LANES - 1) / GX_LANES);
		to->to[i] = t * s->classes * s->copy;
		to->before[i] = c.begin;
		to->end[i] = c.end;
		to->behind[i] = s->w.out - c.end;
	}
	return n;
}

// evens returns every second number of x and y.
INLINE gx_v16 evens(gx_v16 x, gx_v16 y) {
	const gx_i16 lanes = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
	return __builtin_shuffle(x, y, lanes);
}

// pair_row copies one row as the taps of a pair meet it. Null last says that vectors end inside the
// plane.
INLINE void pair_row(const pair *p, int taps, float *d, const float *row, const float *last) {
	const float *from = row + p->first;
	float *a = d + p->to[0], *b = d + p->to[1];
	int64_t n = p->vectors * GX_LANES, at = p->before[0], other = p->before[1];
	clear(a, at);
	if (taps == 2) clear(b, other);
	for (int64_t i = 0; i < n; i += GX_LANES, from += 2 * GX_LANES) {
		const float *second = from + GX_LANES;
		gx_v16 x = last ? load(from, last) : GX_AT(from);
		gx_v16 y = last ? load(second, last) : GX_AT(second);
		GX_AT(a + at + i) = evens(x, y);
		if (taps == 2) GX_AT(b + other + i) = evens(x, y);
	}
	clear(a + p->end[0], p->behind[0]);
	if (taps == 2) clear(b + p->end[1], p->behind[1]);
}

INLINE void pairs_row(const pair *p, int n, float *d, const float *row, const float *last) {
	for (int i = 0; i < n; i++)
		if (p[i].taps == 2)
			pair_row(&p[i], 2, d, row, last);
		else
			pair_row(&p[i], 1, d, row, last);
}

// by_rows copies planes row by row, in the order of memory, where the step of the width is two.
INLINE void by_rows(const gx_sheet *s, float *d, const float *planes, int64_t channels,
	int64_t first, int64_t depth) {
	pair p[GX_TAPS];
	int n = make_pairs(s, p);
	const gx_axis *h = &s->h, *w = &s->w;
	int64_t in = h->in * w->in, reach = 0;
	for (int i = 0; i < n; i++)
		reach = gx_max(reach, p[i].first + p[i].vectors * 2 * GX_LANES);
	for (int64_t c = 0; c < channels; c++, planes += in, d += s->plane)
		for (int64_t r = 0; r < depth; r++)
			for (int64_t k = 0; k < s->classes; k++) {
				int64_t y = first + r * h->step + k;
				float *to = d + k * s->copy + r * w->out;
				if (y < 0 || y >= h->in)
					for (int t = 0; t < w->taps; t++) zero(to + t * s->classes * s->copy, w->out);
				else if (y * w->in + reach <= in)
					pairs_row(p, n, to, planes + y * w->in, 0);
				else
					pairs_row(p, n, to, planes + y * w->in, planes + in);
			}
}

GX_CLONES void gx_sheet_fill(const gx_sheet *s, float *d, const float *planes, int64_t channels,
	int64_t row, int64_t count) {
	int64_t depth = count + s->depth - s->rows, first = row * s->h.step + s->top;
	if (is_by_rows(s))
		by_rows(s, d, planes, channels, first, depth);
	else
		by_classes(s, d, planes, channels, first, depth);
}
