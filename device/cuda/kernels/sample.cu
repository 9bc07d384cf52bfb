// Regions of images: averages, maxima and interpolated points. In gradients each element sums over
// the outputs that read it; if it cannot compute them, the reads are first sorted by element. Each
// thread writes its own elements.

// Converts to an integer, with limits so that small numbers can be added without overflow.
__device__ inline Int whole(A v) {
	const A far = (A)1099511627776.0;
	return v >= far ? (Int)1 << 40 : v > -far ? (Int)v : -((Int)1 << 40);
}
__device__ inline Int cut(Int i, Int n) { return i < 0 ? 0 : i < n ? i : n; }

// Averages over windows that cover an image: output i of m along an axis averages elements i·n/m,
// rounded down, to (i+1)·n/m, rounded up, exclusive.
struct Adaptive {
	T *out;
	const T *in;
	Int planes, h, w, oh, ow, centres; // centres is for bilinear samples alone
};
KERNEL(adaptive, Adaptive) {
	EACH(i, k.planes * k.oh * k.ow) {
		Int y = i / k.ow % k.oh, x = i % k.ow, plane = i / (k.oh * k.ow) * k.h * k.w;
		Int top = y * k.h / k.oh, bottom = ((y + 1) * k.h + k.oh - 1) / k.oh, left = x * k.w / k.ow,
			right = ((x + 1) * k.w + k.ow - 1) / k.ow;
		A sum = 0;
		for (Int r = top; r < bottom; r++)
			for (Int c = left; c < right; c++) sum += get(k.in, plane + r * k.w + c);
		put(k.out, i, sum / (A)((bottom - top) * (right - left)));
	}
}
KERNEL(adaptive_grad, Adaptive) { /* in is the gradient of the averages */
	EACH(i, k.planes * k.h * k.w) {
		Int r = i / k.w % k.h, c = i % k.w, plane = i / (k.h * k.w) * k.oh * k.ow;
		A sum = 0;
		for (Int y = r * k.oh / k.h; y < k.oh && y * k.h / k.oh <= r; y++)
			for (Int x = c * k.ow / k.w; x < k.ow && x * k.w / k.ow <= c; x++) {
				Int rows = ((y + 1) * k.h + k.oh - 1) / k.oh - y * k.h / k.oh,
					cols = ((x + 1) * k.w + k.ow - 1) / k.ow - x * k.w / k.ow;
				sum += get(k.in, plane + y * k.ow + x) / (A)(rows * cols);
			}
		put(k.out, i, sum);
	}
}

// The elements on both sides of a point of an axis with n elements, and the point's distance from
// the first, 0 to 1.
struct Side {
	Int lo, hi;
	A f;
};
__device__ inline Side between(A v, Int n) {
	if (!(v > 0)) v = 0;
	Int lo = (Int)v;
	if (lo >= n - 1) return Side{n - 1, n - 1, 0};
	return Side{lo, lo + 1, v - (A)lo};
}
// The weight of element i in a point's value.
__device__ inline A share(const Side &s, Int i) { return (s.lo == i ? (A)1 - s.f : (A)0) +
	(s.hi == i ? s.f : (A)0); }

struct Resize {
	T *out;
	const T *in;
	Int planes, h, w, oh, ow, centres; // centres: align the centres of the outermost elements
};
__device__ inline Side source(Int i, Int n, Int m, Int centres) {
	float v = (float)i;
	if (m != 1 && n != m) {
		if (!centres) v = (float)(n - 1) / (float)(m - 1) * (float)i;
		else v = (float)n / (float)m * ((float)i + 0.5f) - 0.5f;
	}
	return between((A)(v < 0 ? 0 : v), n);
}
// The range of the m outputs that can read element i of n; it may contain outputs that do not.
__device__ inline void readers(Int i, Int n, Int m, Int *from, Int *to) {
	*from = i == 0 || n == 1 ? 0 : cut((i - 2) * m / n - 2, m);
	*to = i >= n - 1 ? m : cut((i + 3) * m / n + 3, m);
}
KERNEL(resize, Resize) {
	EACH(i, k.planes * k.oh * k.ow) {
		Side y = source(i / k.ow % k.oh, k.h, k.oh, k.centres),
			x = source(i % k.ow, k.w, k.ow, k.centres);
		const T *p = k.in + i / (k.oh * k.ow) * k.h * k.w;
		A sum = ((A)1 - y.f) * ((A)1 - x.f) * get(p, y.lo * k.w + x.lo) +
			((A)1 - y.f) * x.f * get(p, y.lo * k.w + x.hi);
		put(k.out, i, sum + y.f * ((A)1 - x.f) * get(p, y.hi * k.w + x.lo) +
			y.f * x.f * get(p, y.hi * k.w + x.hi));
	}
}
KERNEL(resize_grad, Resize) { /* in is the gradient of what was resized */
	EACH(i, k.planes * k.h * k.w) {
		Int r = i / k.w % k.h, c = i % k.w, y0, y1, x0, x1;
		const T *p = k.in + i / (k.h * k.w) * k.oh * k.ow;
		readers(r, k.h, k.oh, &y0, &y1);
		readers(c, k.w, k.ow, &x0, &x1);
		A sum = 0;
		for (Int y = y0; y < y1; y++) {
			A wy = share(source(y, k.h, k.oh, k.centres), r);
			if (wy == 0) continue;
			for (Int x = x0; x < x1; x++) {
				A wx = share(source(x, k.w, k.ow, k.centres), c);
				if (wx != 0) sum += wy * wx * get(p, y * k.ow + x);
			}
		}
		put(k.out, i, sum);
	}
}

// Regions: rows (image, left, top, right, bottom).
struct Regions {
	T *out;
	const T *in, *rois;
	Int *index; // positions of the maxima
	// Channels: of the output; depth: input planes per channel of the output
	Int images, channels, h, w, rois_count, oh, ow, depth;
	Int samples, aligned;
	double scale;
};
struct Region {
	Int image;
	A start[2], part[2]; // along rows, columns
	Int count[2];        // samples per part
};
__device__ inline Region region(const Regions &k, Int n) {
	Region r;
	r.image = whole(get(k.rois, 5 * n));
	if (r.image >= k.images) r.image = -1;
	A offset = k.aligned ? (A)0.5 : (A)0;
	for (int a = 0; a < 2; a++) {
		A lo = get(k.rois, 5 * n + 2 - a) * (A)k.scale - offset,
			size = get(k.rois, 5 * n + 4 - a) * (A)k.scale - offset - lo;
		if (!k.aligned && size < 1) size = 1;
		r.start[a] = lo, r.part[a] = size / (A)(a ? k.ow : k.oh);
		r.count[a] = k.samples > 0 ? k.samples : whole(gx_ceil(r.part[a]));
	}
	return r;
}
// The position of sample i of part p along an axis; returns whether it counts: it lies in the image
// or at most one element outside.
__device__ inline bool sample(const Region &r, int a, Int p, Int i, Int n, Side *s) {
	A v = r.start[a] + (A)p * r.part[a] + ((A)i + (A)0.5) * r.part[a] / (A)r.count[a];
	*s = between(v, n);
	return v >= -1 && v <= (A)n && n > 0;
}
KERNEL(roi_align, Regions) {
	Int parts = k.oh * k.ow;
	EACH(i, k.rois_count * k.channels * parts) {
		Int part = i % parts, c = i / parts % k.channels;
		Region r = region(k, i / parts / k.channels);
		if (r.image < 0) {
			put(k.out, i, (A)0);
			continue;
		}
		Int plane = k.depth > 1 ? c * parts + part : c;
		const T *p = k.in + (r.image * k.channels * k.depth + plane) * k.h * k.w;
		A sum = 0;
		Side y, x;
		for (Int a = 0; a < r.count[0]; a++) {
			if (!sample(r, 0, part / k.ow, a, k.h, &y)) continue;
			for (Int b = 0; b < r.count[1]; b++) {
				if (!sample(r, 1, part % k.ow, b, k.w, &x)) continue;
				sum += ((A)1 - y.f) * ((A)1 - x.f) * get(p, y.lo * k.w + x.lo) +
					((A)1 - y.f) * x.f * get(p, y.lo * k.w + x.hi);
				sum += y.f * ((A)1 - x.f) * get(p, y.hi * k.w + x.lo) +
					y.f * x.f * get(p, y.hi * k.w + x.hi);
			}
		}
		put(k.out, i, sum / (A)(r.count[0] * r.count[1]));
	}
}
// The range of parts of a region along one axis whose samples can read element i; it may contain
// parts that do not.
__device__ inline void parts_at(const Region &r, int a, Int i, Int n, Int parts, Int *from,
	Int *to) {
	*from = 0, *to = parts;
	if (!(r.part[a] > 0)) return;
	if (i > 0) *from = cut(whole(gx_floor(((A)i - 1 - r.start[a]) / r.part[a])) - 1, parts);
	if (i < n - 1) *to = cut(whole(gx_ceil(((A)i + 1 - r.start[a]) / r.part[a])) + 1, parts);
}
KERNEL(roi_align_grad, Regions) { /* in is the gradient of the averages */
	Int planes = k.channels * k.depth, parts = k.oh * k.ow;
	EACH(i, k.images * planes * k.h * k.w) {
		Int row = i / k.w % k.h, col = i % k.w, plane = i / (k.h * k.w) % planes,
			image = i / (k.h * k.w) / planes;
		A sum = 0;
		for (Int n = 0; n < k.rois_count; n++) {
			Region r = region(k, n);
			if (r.image != image) continue;
			Int y0, y1, x0, x1;
			parts_at(r, 0, row, k.h, k.oh, &y0, &y1);
			parts_at(r, 1, col, k.w, k.ow, &x0, &x1);
			for (Int y = y0; y < y1; y++) {
				A wy = 0;
				Side s;
				for (Int a = 0; a < r.count[0]; a++)
					if (sample(r, 0, y, a, k.h, &s)) wy += share(s, row);
				if (wy == 0) continue;
				for (Int x = x0; x < x1; x++) {
					Int part = y * k.ow + x, c = plane;
					if (k.depth > 1) {
						if (plane % parts != part) continue;
						c = plane / parts;
					}
					A wx = 0;
					for (Int b = 0; b < r.count[1]; b++)
						if (sample(r, 1, x, b, k.w, &s)) wx += share(s, col);
					if (wx != 0)
						sum += get(k.in, (n * k.channels + c) * parts + part) * wy * wx /
							(A)(r.count[0] * r.count[1]);
				}
			}
		}
		put(k.out, i, sum);
	}
}

__device__ inline Int nearest(A v) { return whole(gx_round(v)); }
KERNEL(roi_pool, Regions) {
	Int parts = k.oh * k.ow;
	EACH(i, k.rois_count * k.channels * parts) {
		Int part = i % parts, c = i / parts % k.channels, n = i / parts / k.channels,
			image = whole(get(k.rois, 5 * n)), corner[4];
		for (int a = 0; a < 4; a++) corner[a] = nearest(get(k.rois, 5 * n + 1 + a) * (A)k.scale);
		Int width = corner[2] - corner[0] + 1, height = corner[3] - corner[1] + 1, lo[2], hi[2];
		A size[2] = {(A)(height > 1 ? height : 1) / (A)k.oh, (A)(width > 1 ? width : 1) / (A)k.ow};
		for (int a = 0; a < 2; a++) {
			Int p = a ? part % k.ow : part / k.ow, extent = a ? k.w : k.h;
			lo[a] = cut(corner[1 - a] + whole(gx_floor((A)p * size[a])), extent);
			hi[a] = cut(corner[1 - a] + whole(gx_ceil((A)(p + 1) * size[a])), extent);
		}
		Int at = -1, first = (image * k.channels + c) * k.h * k.w;
		bool empty = image < 0 || image >= k.images || lo[0] >= hi[0] || lo[1] >= hi[1];
		A most = (A)-3.40282346638528859812e38;
		for (Int y = lo[0]; y < hi[0] && !empty; y++)
			for (Int x = lo[1]; x < hi[1]; x++) {
				A v = get(k.in, first + y * k.w + x);
				if (v > most) most = v, at = first + y * k.w + x;
			}
		if (k.out) put(k.out, i, empty ? (A)0 : most);
		if (k.index) k.index[i] = at;
	}
}

// Rotated regions: rows (image, x, y, width, height, angle).
KERNEL(rroi_align, Regions) {
	Int parts = k.oh * k.ow;
	EACH(i, k.rois_count * k.channels * parts) {
		Int part = i % parts, c = i / parts % k.channels;
		const T *row = k.rois + i / parts / k.channels * 6;
		A centre[2], angle = (A)((double)get(row, 5) * 3.14159265358979323846 / 180),
			sine = gx_sin(angle), cosine = gx_cos(angle);
		Region r;
		r.image = whole(get(row, 0));
		for (int a = 0; a < 2; a++) {
			A size = get(row, 4 - a) * (A)k.scale;
			if (size < 1) size = 1;
			centre[a] = get(row, 2 - a) * (A)k.scale, r.start[a] = -size / 2;
			r.part[a] = size / (A)(a ? k.ow : k.oh);
			r.count[a] = k.samples > 0 ? k.samples : whole(gx_ceil(r.part[a]));
		}
		if (r.image < 0 || r.image >= k.images) {
			put(k.out, i, (A)0);
			continue;
		}
		const T *p = k.in + (r.image * k.channels + c) * k.h * k.w;
		A sum = 0;
		for (Int n = 0; n < r.count[0] * r.count[1]; n++) {
			A at[2];
			for (int a = 0; a < 2; a++) {
				Int q = a ? part % k.ow : part / k.ow, s = a ? n % r.count[1] : n / r.count[1];
				at[a] = r.start[a] + (A)q * r.part[a] +
					((A)s + (A)0.5) * r.part[a] / (A)r.count[a];
			}
			A v = at[0] * cosine - at[1] * sine + centre[0],
			  u = at[1] * cosine + at[0] * sine + centre[1];
			if (!(v >= -1 && v <= (A)k.h && u >= -1 && u <= (A)k.w) || k.h == 0 || k.w == 0)
				continue;
			Side y = between(v, k.h), x = between(u, k.w);
			sum += ((A)1 - y.f) * ((A)1 - x.f) * get(p, y.lo * k.w + x.lo) +
				((A)1 - y.f) * x.f * get(p, y.lo * k.w + x.hi);
			sum += y.f * ((A)1 - x.f) * get(p, y.hi * k.w + x.lo) +
				y.f * x.f * get(p, y.hi * k.w + x.hi);
		}
		put(k.out, i, sum / (A)(r.count[0] * r.count[1]));
	}
}

// Pooling in which every part of a region reads channels of its own.
struct Parts {
	T *out;
	const T *in, *rois, *data, *trans; // trans may be missing
	Int images, planes, h, w, rows;    // planes of data, regions
	Int channels, pooled, groups;
	Int parts, samples, classes; // of moved parts
	double scale, std;
};
struct Frame {
	Int image;
	A start[2], size[2]; // along rows, columns
};
__device__ inline Frame frame(const Parts &k, Int n, A shift) {
	Frame f;
	f.image = whole(get(k.rois, 5 * n));
	if (f.image >= k.images) f.image = -1;
	for (int a = 0; a < 2; a++) {
		f.start[a] = gx_round(get(k.rois, 5 * n + 2 - a)) * (A)k.scale - shift;
		f.size[a] = (gx_round(get(k.rois, 5 * n + 4 - a)) + 1) * (A)k.scale - shift - f.start[a];
		if (f.size[a] < (A)0.1) f.size[a] = (A)0.1;
	}
	return f;
}
__device__ inline Int plane_of(const Parts &k, Int channel, Int row, Int col) {
	return (channel * k.groups + row * k.groups / k.pooled) * k.groups +
		col * k.groups / k.pooled;
}
// The elements from lo to hi of part i along an axis of n elements.
__device__ inline void span(const Parts &k, const Frame &f, int a, Int i, Int n, Int *lo,
	Int *hi) {
	A part = f.size[a] / (A)k.pooled;
	*lo = cut(whole(gx_floor((A)i * part + f.start[a])), n);
	*hi = cut(whole(gx_ceil((A)(i + 1) * part + f.start[a])), n);
}
KERNEL(psroi, Parts) {
	Int parts = k.pooled * k.pooled;
	EACH(i, k.rows * k.channels * parts) {
		Int row = i / k.pooled % k.pooled, col = i % k.pooled, top, bottom, left, right;
		Frame f = frame(k, i / parts / k.channels, 0);
		span(k, f, 0, row, k.h, &top, &bottom);
		span(k, f, 1, col, k.w, &left, &right);
		if (f.image < 0 || top >= bottom || left >= right) {
			put(k.out, i, (A)0);
			continue;
		}
		const T *p = k.in + (f.image * k.planes + plane_of(k, i / parts % k.channels, row, col)) *
			k.h * k.w;
		A sum = 0;
		for (Int y = top; y < bottom; y++)
			for (Int x = left; x < right; x++) sum += get(p, y * k.w + x);
		put(k.out, i, sum / (A)((bottom - top) * (right - left)));
	}
}
// The parts along an axis that read the channels of group g.
__device__ inline Int first_part(const Parts &k, Int g) {
	return (g * k.pooled + k.groups - 1) / k.groups;
}
KERNEL(psroi_grad, Parts) { /* in is the gradient of the averages */
	EACH(i, k.images * k.planes * k.h * k.w) {
		Int y = i / k.w % k.h, x = i % k.w, plane = i / (k.h * k.w) % k.planes,
			image = i / (k.h * k.w) / k.planes, channel = plane / (k.groups * k.groups),
			gy = plane / k.groups % k.groups, gx = plane % k.groups;
		A sum = 0;
		for (Int n = 0; n < k.rows && channel < k.channels; n++) {
			Frame f = frame(k, n, 0);
			if (f.image != image) continue;
			for (Int row = first_part(k, gy); row < first_part(k, gy + 1); row++) {
				Int top, bottom, left, right;
				span(k, f, 0, row, k.h, &top, &bottom);
				if (y < top || y >= bottom) continue;
				for (Int col = first_part(k, gx); col < first_part(k, gx + 1); col++) {
					span(k, f, 1, col, k.w, &left, &right);
					if (x >= left && x < right)
						sum += get(k.in, ((n * k.channels + channel) * k.pooled + row) * k.pooled +
							col) / (A)((bottom - top) * (right - left));
				}
			}
		}
		put(k.out, i, sum);
	}
}

// Moved parts: at is the index of a part's shift along x, start and step those of its samples.
struct Moved {
	Int at;
	A start[2], step[2];
};
__device__ inline Moved moved(const Parts &k, const Frame &f, Int n, Int channel, Int row,
	Int col) {
	Moved m;
	Int part[2] = {row, col}, place[2];
	for (int a = 0; a < 2; a++)
		place[a] = whole(gx_floor((A)part[a] / (A)k.pooled * (A)k.parts));
	m.at = ((n * k.classes + channel / (k.channels / k.classes)) * 2 * k.parts + place[0]) *
			k.parts + place[1];
	for (int a = 0; a < 2; a++) {
		A size = f.size[a] / (A)k.pooled;
		m.start[a] = (A)part[a] * size + f.start[a], m.step[a] = size / (A)k.samples;
		if (k.trans)
			m.start[a] += get(k.trans, m.at + (1 - a) * k.parts * k.parts) * (A)k.std * f.size[a];
	}
	return m;
}
// The elements on both sides of sample s along an axis; returns whether the sample counts.
__device__ inline bool moved_sample(const Moved &m, int a, Int s, Int n, Side *side) {
	A v = m.start[a] + (A)s * m.step[a];
	if (!(v >= (A)-0.5 && v <= (A)n - (A)0.5) || n == 0) return false;
	v = v < 0 ? (A)0 : v > (A)(n - 1) ? (A)(n - 1) : v;
	A lo = gx_floor(v);
	*side = Side{(Int)lo, (Int)gx_ceil(v), v - lo};
	return true;
}
// The number of samples of a part that count.
__device__ inline Int counted(const Parts &k, const Moved &m) {
	Int rows = 0, cols = 0;
	Side s;
	for (Int i = 0; i < k.samples; i++) {
		rows += moved_sample(m, 0, i, k.h, &s);
		cols += moved_sample(m, 1, i, k.w, &s);
	}
	return rows * cols;
}
KERNEL(moved_psroi, Parts) {
	Int parts = k.pooled * k.pooled;
	EACH(i, k.rows * k.channels * parts) {
		Int row = i / k.pooled % k.pooled, col = i % k.pooled, channel = i / parts % k.channels,
			n = i / parts / k.channels, count = 0;
		Frame f = frame(k, n, (A)0.5);
		Moved m = moved(k, f, n, channel, row, col);
		const T *p = k.in + (f.image * k.planes + plane_of(k, channel, row, col)) * k.h * k.w;
		A sum = 0;
		for (Int a = 0; a < k.samples && f.image >= 0; a++) {
			Side y, x;
			if (!moved_sample(m, 0, a, k.h, &y)) continue;
			for (Int b = 0; b < k.samples; b++) {
				if (!moved_sample(m, 1, b, k.w, &x)) continue;
				count++;
				sum += ((A)1 - y.f) * ((A)1 - x.f) * get(p, y.lo * k.w + x.lo) +
					((A)1 - y.f) * x.f * get(p, y.lo * k.w + x.hi) +
					y.f * ((A)1 - x.f) * get(p, y.hi * k.w + x.lo) +
					y.f * x.f * get(p, y.hi * k.w + x.hi);
			}
		}
		put(k.out, i, count ? sum / (A)count : (A)0);
	}
}
KERNEL(moved_psroi_grad, Parts) { /* in is the gradient of the averages, out that of data */
	EACH(i, k.images * k.planes * k.h * k.w) {
		Int at[2] = {i / k.w % k.h, i % k.w}, plane = i / (k.h * k.w) % k.planes,
			image = i / (k.h * k.w) / k.planes, channel = plane / (k.groups * k.groups),
			gy = plane / k.groups % k.groups, gx = plane % k.groups;
		A sum = 0;
		for (Int n = 0; n < k.rows && channel < k.channels; n++) {
			Frame f = frame(k, n, (A)0.5);
			if (f.image != image) continue;
			for (Int row = first_part(k, gy); row < first_part(k, gy + 1); row++)
				for (Int col = first_part(k, gx); col < first_part(k, gx + 1); col++) {
					Moved m = moved(k, f, n, channel, row, col);
					A weight[2] = {0, 0};
					Side s;
					for (int a = 0; a < 2; a++)
						for (Int j = 0; j < k.samples; j++)
							if (moved_sample(m, a, j, a ? k.w : k.h, &s))
								weight[a] += share(s, at[a]);
					if (weight[0] == 0 || weight[1] == 0) continue;
					sum += get(k.in, ((n * k.channels + channel) * k.pooled + row) * k.pooled +
						col) * weight[0] * weight[1] / (A)counted(k, m);
				}
		}
		put(k.out, i, sum);
	}
}
KERNEL(moved_psroi_trans, Parts) { /* the gradient of trans, shift by shift */
	Int area = k.parts * k.parts, factor = k.channels / k.classes;
	EACH(i, k.rows * k.classes * 2 * area) {
		Int down = i / area % 2, class_of = i / area / 2 % k.classes, n = i / area / 2 / k.classes;
		Frame f = frame(k, n, (A)0.5);
		A total = 0;
		for (Int c = 0; c < factor * k.pooled * k.pooled && f.image >= 0; c++) {
			Int channel = class_of * factor + c / (k.pooled * k.pooled),
				row = c / k.pooled % k.pooled, col = c % k.pooled;
			Moved m = moved(k, f, n, channel, row, col);
			if (m.at + down * area != i) continue;
			const T *p = k.data + (f.image * k.planes + plane_of(k, channel, row, col)) * k.h *
				k.w;
			A sum = 0;
			for (Int a = 0; a < k.samples; a++) {
				Side y, x;
				if (!moved_sample(m, 0, a, k.h, &y)) continue;
				for (Int b = 0; b < k.samples; b++) {
					if (!moved_sample(m, 1, b, k.w, &x)) continue;
					A v00 = get(p, y.lo * k.w + x.lo), v01 = get(p, y.lo * k.w + x.hi),
						v10 = get(p, y.hi * k.w + x.lo), v11 = get(p, y.hi * k.w + x.hi);
					sum += down ? (v10 - v00) * ((A)1 - x.f) + (v11 - v01) * x.f
						: (v01 - v00) * ((A)1 - y.f) + (v11 - v10) * y.f;
				}
			}
			if (sum != 0)
				total += get(k.in, ((n * k.channels + channel) * k.pooled + row) * k.pooled + col) *
					sum / (A)counted(k, m) * (A)k.std * f.size[down ? 0 : 1];
		}
		put(k.out, i, total);
	}
}

// Comparison of patches of two feature maps, with zeros around them. first is the row and column of
// the first patch in coordinates of data.
struct Compare {
	T *out;
	const T *a, *b, *dy;
	Int images, channels, h, w, oh, ow;
	Int side, step, size, first, stride, difference, second;
};
__device__ inline A or_zero(const Compare &k, const T *plane, Int row, Int col) {
	return row < 0 || row >= k.h || col < 0 || col >= k.w ? (A)0 : get(plane, row * k.w + col);
}
KERNEL(correlation, Compare) {
	Int area = k.oh * k.ow, maps = k.side * k.side;
	EACH(i, k.images * maps * area) {
		Int q = i / area % maps, image = i / area / maps, radius = k.side / 2,
			row = i / k.ow % k.oh * k.stride + k.first, col = i % k.ow * k.stride + k.first,
			down = (q / k.side - radius) * k.step, right = (q % k.side - radius) * k.step;
		A sum = 0;
		for (Int c = 0; c < k.channels; c++) {
			const T *a = k.a + (image * k.channels + c) * k.h * k.w,
					*b = k.b + (image * k.channels + c) * k.h * k.w;
			for (Int y = row; y < row + k.size; y++)
				for (Int x = col; x < col + k.size; x++) {
					A u = or_zero(k, a, y, x), v = or_zero(k, b, y + down, x + right);
					sum += k.difference ? gx_abs(u - v) : u * v;
				}
		}
		put(k.out, i, sum / (A)(k.size * k.size * k.channels));
	}
}
KERNEL(correlation_grad, Compare) { /* of data1 or, with second, of data2 */
	Int radius = k.side / 2;
	EACH(i, k.images * k.channels * k.h * k.w) {
		Int y = i / k.w % k.h, x = i % k.w, image = i / (k.h * k.w) / k.channels;
		const T *a = k.a + i / (k.h * k.w) * k.h * k.w, *b = k.b + i / (k.h * k.w) * k.h * k.w;
		A own = get(k.second ? b : a, y * k.w + x), sum = 0;
		for (Int q = 0; q < k.side * k.side; q++) {
			Int down = (q / k.side - radius) * k.step, right = (q % k.side - radius) * k.step,
				row = k.second ? y - down : y, col = k.second ? x - right : x;
			const T *dy = k.dy + (image * k.side * k.side + q) * k.oh * k.ow;
			A g = 0; // outputs whose patches read this pair
			for (Int ky = 0; ky < k.size; ky++) {
				Int r = row - k.first - ky;
				if (r < 0 || r % k.stride || r / k.stride >= k.oh) continue;
				for (Int kx = 0; kx < k.size; kx++) {
					Int c = col - k.first - kx;
					if (c < 0 || c % k.stride || c / k.stride >= k.ow) continue;
					g += get(dy, r / k.stride * k.ow + c / k.stride);
				}
			}
			A other = k.second ? or_zero(k, a, row, col) : or_zero(k, b, y + down, x + right);
			if (!k.difference) sum += g * other;
			else if (k.second) sum += other >= own ? -g : g;
			else sum += own >= other ? g : -g;
		}
		put(k.out, i, sum / (A)(k.size * k.size * k.channels));
	}
}

// Grids of points, [images][2][oh][ow], from matrices of two rows and three columns or
// displacements; element types of grids are known at run time.
struct Grid {
	Any grid;
	T *out;
	const T *in;
	Int images, oh, ow;
};
__device__ inline A coordinate(Int i, Int n) { return (A)(-1 + 2 * (double)i / (double)(n - 1)); }
KERNEL(grid_affine, Grid) {
	Int plane = k.oh * k.ow;
	EACH(i, k.images * 2 * plane) {
		const T *m = k.in + i / plane * 3; // the row of the image's matrix
		A x = coordinate(i % k.ow, k.ow), y = coordinate(i / k.ow % k.oh, k.oh);
		k.grid.set(i, (double)(get(m, 0) * x + get(m, 1) * y + get(m, 2)));
	}
}
KERNEL(grid_warp, Grid) {
	Int plane = k.oh * k.ow;
	EACH(i, k.images * 2 * plane) {
		bool down = i / plane % 2;
		A half = ((A)(down ? k.oh : k.ow) - 1) / 2,
			position = (A)(down ? i / k.ow % k.oh : i % k.ow);
		k.grid.set(i, (double)((get(k.in, i) + position) / half - 1));
	}
}
KERNEL(grid_affine_grad, Grid) { /* one block per row of matrices */
	Int plane = k.oh * k.ow;
	for (Int r = blockIdx.x; r < k.images * 2; r += gridDim.x) {
		A sx = 0, sy = 0, s = 0;
		for (Int i = threadIdx.x; i < plane; i += blockDim.x) {
			A g = get(k.in, r * plane + i);
			sx += g * coordinate(i % k.ow, k.ow), sy += g * coordinate(i / k.ow, k.oh), s += g;
		}
		sx = together<Add>(sx);
		sy = together<Add>(sy);
		s = together<Add>(s);
		if (threadIdx.x == 0)
			put(k.out, 3 * r, sx), put(k.out, 3 * r + 1, sy), put(k.out, 3 * r + 2, s);
	}
}
KERNEL(grid_warp_grad, Grid) {
	EACH(i, k.images * 2 * k.oh * k.ow) put(k.out, i,
		get(k.in, i) / (((A)(i / (k.oh * k.ow) % 2 ? k.oh : k.ow) - 1) / 2));
}

// Images sampled at the points of grids.
struct Sampler {
	T *out; // [images][channels][points]
	const T *in, *dy;
	Any grid, dgrid;
	Int images, channels, h, w, points;
	Int *at; // per point and corner, the element of the image's plane over all images, -1 outside
	const Int *order;
};
struct Point {
	Int row, col;
	A wy, wx;
};
__device__ inline Point point(const Sampler &k, Int image, Int i) {
	A y = ((A)k.grid[(2 * image + 1) * k.points + i] + 1) * (A)(k.h - 1) / 2,
		x = ((A)k.grid[2 * image * k.points + i] + 1) * (A)(k.w - 1) / 2;
	A fy = gx_floor(y), fx = gx_floor(x);
	return Point{whole(fy), whole(fx), (A)1 - (y - fy), (A)1 - (x - fx)};
}
__device__ inline Int corner(const Sampler &k, const Point &p, int c) {
	Int row = p.row + c / 2, col = p.col + c % 2;
	return row < 0 || row >= k.h || col < 0 || col >= k.w ? -1 : row * k.w + col;
}
__device__ inline A weight(const Point &p, int c) { return (c / 2 ? (A)1 - p.wy : p.wy) *
	(c % 2 ? (A)1 - p.wx : p.wx); }

KERNEL(sampler, Sampler) {
	EACH(i, k.images * k.channels * k.points) {
		Int image = i / k.points / k.channels;
		Point p = point(k, image, i % k.points);
		const T *x = k.in + i / k.points * k.h * k.w;
		A sum = 0;
		for (int c = 0; c < 4; c++) {
			Int at = corner(k, p, c);
			sum += (at >= 0 ? get(x, at) : (A)0) * weight(p, c);
		}
		put(k.out, i, sum);
	}
}
KERNEL(sampler_grid, Sampler) { /* the gradient of the grid, and where the corners of all points lie */
	EACH(i, k.images * k.points) {
		Int image = i / k.points;
		Point p = point(k, image, i % k.points);
		A gy = 0, gx = 0;
		for (Int ch = 0; ch < k.channels && k.dgrid.p; ch++) {
			A g = get(k.dy, (image * k.channels + ch) * k.points + i % k.points), v[4];
			for (int c = 0; c < 4; c++) {
				Int at = corner(k, p, c);
				v[c] = at >= 0 ? get(k.in, (image * k.channels + ch) * k.h * k.w + at) : (A)0;
			}
			gy += g * ((v[2] - v[0]) * p.wx + (v[3] - v[1]) * ((A)1 - p.wx));
			gx += g * ((v[1] - v[0]) * p.wy + (v[3] - v[2]) * ((A)1 - p.wy));
		}
		if (k.dgrid.p) {
			k.dgrid.set(2 * image * k.points + i % k.points, (double)(gx * (A)(k.w - 1) / 2));
			k.dgrid.set((2 * image + 1) * k.points + i % k.points, (double)(gy * (A)(k.h - 1) / 2));
		}
		for (int c = 0; c < 4; c++) {
			Int at = corner(k, p, c);
			k.at[4 * i + c] = at >= 0 ? image * k.h * k.w + at : -1;
		}
	}
}
KERNEL(sampler_data, Sampler) { /* the gradient of the data, from corners in order of their places */
	Int count = 4 * k.images * k.points;
	EACH(t, count * k.channels) {
		Int s = t % count, ch = t / count, at = k.at[k.order[s]];
		if (at < 0 || (s > 0 && k.at[k.order[s - 1]] == at)) continue;
		A sum = 0;
		for (; s < count && k.at[k.order[s]] == at; s++) {
			Int i = k.order[s] / 4, image = i / k.points;
			sum += get(k.dy, (image * k.channels + ch) * k.points + i % k.points) *
				weight(point(k, image, i % k.points), (int)(k.order[s] % 4));
		}
		Int plane = k.h * k.w;
		put(k.out, (at / plane * k.channels + ch) * plane + at % plane, sum);
	}
}
