// Boxes: overlaps, suppression, anchors, matches and targets. Algorithms that visit boxes in order
// use one block per image.

struct Box {
	A left, top, right, bottom, area;
};
__device__ inline A least(A a, A b) { return a < b ? a : b; }
__device__ inline A most(A a, A b) { return a > b ? a : b; }
template <class P> __device__ inline Box box(const P *v, Int center) {
	A a = get(v, 0), b = get(v, 1), c = get(v, 2), d = get(v, 3), w = c - a, h = d - b;
	Box x{a, b, c, d, 0};
	if (center) w = c, h = d, x = Box{a - w / 2, b - h / 2, a + w / 2, b + h / 2, 0};
	if (w >= 0 && h >= 0) x.area = w * h;
	return x;
}
__device__ inline A shared_area(const Box &a, const Box &b) {
	A w = least(a.right, b.right) - most(a.left, b.left),
		h = least(a.bottom, b.bottom) - most(a.top, b.top);
	return most(w, 0) * most(h, 0);
}
__device__ inline A signed_area(const Box &b) { return (b.right - b.left) * (b.bottom - b.top); }
__device__ inline A overlap(const Box &a, const Box &b) { /* over the union, which may be empty */
	A inter = shared_area(a, b), sum = signed_area(a) + signed_area(b) - inter;
	return sum <= 0 ? (A)0 : inter / sum;
}

struct Pairs {
	T *out;
	const T *lhs, *rhs;
	Int n, m, center;
};
KERNEL(box_iou, Pairs) {
	EACH(i, k.n * k.m) {
		Box a = box(k.lhs + i / k.m * 4, k.center), b = box(k.rhs + i % k.m * 4, k.center);
		A inter = shared_area(a, b);
		put(k.out, i, inter > 0 ? inter / (a.area + b.area - inter) : (A)0);
	}
}

// Boxes relative to anchors: centres and logarithms of sizes.
struct Centred {
	A at[2], size[2];
};
template <class P> __device__ inline Centred centred(const P *v) {
	A w = get(v, 2) - get(v, 0), h = get(v, 3) - get(v, 1);
	return Centred{{get(v, 0) + w * (A)0.5, get(v, 1) + h * (A)0.5}, {w, h}};
}
struct Encode {
	T *out, *mask; // either may be missing
	const T *samples, *matches, *anchors, *refs, *means, *stds;
	Int count, n, m;
};
KERNEL(box_encode, Encode) {
	EACH(i, k.count) {
		A match = get(k.matches, i);
		bool valid = get(k.samples, i) > (A)0.5 && match > -1 && match < (A)k.m;
		Centred a = centred(k.anchors + 4 * i), r = a;
		if (valid) r = centred(k.refs + (i / k.n * k.m + (Int)match) * 4);
		for (int c = 0; c < 4; c++) {
			A v = c < 2 ? (r.at[c] - a.at[c]) / a.size[c] : gx_log(r.size[c - 2] / a.size[c - 2]);
			if (k.out)
				put(k.out, 4 * i + c, valid ? (v - get(k.means, c)) / get(k.stds, c) : (A)0);
			if (k.mask) put(k.mask, 4 * i + c, valid ? (A)1 : (A)0);
		}
	}
}
struct Decode {
	T *out;
	const T *data, *anchors;
	Int count, n, corner;
	double std[4], clip;
};
KERNEL(box_decode, Decode) {
	EACH(i, k.count) {
		const T *v = k.anchors + i % k.n * 4;
		Centred a{{get(v, 0), get(v, 1)}, {get(v, 2), get(v, 3)}};
		if (k.corner) a = centred(v);
		for (int c = 0; c < 2; c++) {
			A size = get(k.data, 4 * i + 2 + c) * (A)k.std[2 + c];
			if (k.clip > 0 && !(size < (A)k.clip)) size = (A)k.clip;
			A half = gx_exp(size) * a.size[c] * (A)0.5,
			  centre = get(k.data, 4 * i + c) * (A)k.std[c] * a.size[c] + a.at[c];
			put(k.out, 4 * i + c, centre - half);
			put(k.out, 4 * i + 2 + c, centre + half);
		}
	}
}

// greedy visits places 0 to n-1 and keeps a place unless hits(a, b) is true for an earlier kept
// place a. It stops after limit places; kept[i] is the i-th kept place. It returns their number.
// All threads of a block call it.
template <class F> __device__ inline Int greedy(Int n, Int limit, uint8_t *gone, Int *kept,
	F hits) {
	for (Int i = threadIdx.x; i < n; i += blockDim.x) gone[i] = 0;
	Int count = 0;
	for (Int a = 0; a < n && count < limit; a++) {
		__syncthreads();
		if (gone[a]) continue;
		if (threadIdx.x == 0) kept[count] = a;
		count++;
		for (Int b = a + 1 + threadIdx.x; b < n; b += blockDim.x)
			if (!gone[b] && hits(a, b)) gone[b] = 1;
	}
	__syncthreads();
	return count;
}

// Suppression: rows of width numbers. score holds the sort keys of rows, -infinity for rows that do
// not take part.
struct Suppress {
	T *out;
	const T *x;
	Int *record;
	double *score;
	const Int *order;
	uint8_t *gone;
	Int *kept;
	// To_center: 1: write centers and sizes, 0: corners, -1: the input's format
	Int batch, n, width, limit, start, score_at, id_at, by_class, center, to_center;
	double valid, background, threshold;
};
KERNEL(nms_scores, Suppress) {
	EACH(i, k.batch * k.n) {
		const T *row = k.x + i * k.width;
		A score = get(row, k.score_at);
		bool part = score > (A)k.valid && (k.id_at < 0 || get(row, k.id_at) != (A)k.background);
		k.score[i] = part ? (double)score : -INFINITY;
	}
}
struct Hits {
	const Suppress *k;
	const T *x;
	const Int *order;
	__device__ bool operator()(Int i, Int j) const {
		const T *a = x + order[i] * k->width, *b = x + order[j] * k->width;
		if (k->by_class && (Int)get(a, k->id_at) != (Int)get(b, k->id_at)) return false;
		Box p = box(a + k->start, k->center), q = box(b + k->start, k->center);
		A inter = shared_area(p, q);
		return inter / (p.area + q.area - inter) > (A)k->threshold;
	}
};
KERNEL(nms, Suppress) {
	for (Int b = blockIdx.x; b < k.batch; b += gridDim.x) {
		const Int *order = k.order + b * k.n;
		Int taking = 0;
		for (Int i = threadIdx.x; i < k.n; i += blockDim.x)
			taking += k.score[b * k.n + i] > -INFINITY;
		taking = together<Add>(taking);
		if (taking > k.limit) taking = k.limit;
		Int *kept = k.kept + b * k.n;
		Int count = greedy(taking, taking, k.gone + b * k.n, kept,
			Hits{&k, k.x + b * k.n * k.width, order});
		for (Int i = threadIdx.x; i < k.n; i += blockDim.x) {
			T *row = k.out + (b * k.n + i) * k.width;
			Int from = i < count ? order[kept[i]] : -1;
			if (k.record) k.record[b * k.n + i] = from < 0 ? -1 : b * k.n + from;
			const T *src = k.x + (b * k.n + from) * k.width;
			A v[4];
			for (Int j = 0; j < k.width; j++) {
				A x = from < 0 ? (A)-1 : get(src, j);
				if (j >= k.start && j < k.start + 4) v[j - k.start] = x;
				put(row, j, x);
			}
			if (k.to_center < 0 || v[0] < 0) continue;
			T *to = row + k.start;
			if (k.to_center) {
				put(to, 0, (v[0] + v[2]) / 2), put(to, 1, (v[1] + v[3]) / 2),
					put(to, 2, v[2] - v[0]), put(to, 3, v[3] - v[1]);
			} else {
				A w = v[2] / 2, h = v[3] / 2;
				put(to, 0, v[0] - w), put(to, 1, v[1] - h), put(to, 2, v[0] + w),
					put(to, 3, v[1] + h);
			}
		}
		__syncthreads();
	}
}

// Anchors around the positions of a feature map.
const Int LISTED = 32;
struct Prior {
	T *out;
	Int h, w, sizes, ratios, clip;
	double step_y, step_x, offset_y, offset_x, size[LISTED], ratio[LISTED];
};
KERNEL(prior, Prior) {
	Int anchors = k.sizes + k.ratios - 1;
	EACH(i, k.h * k.w * anchors) {
		Int at = i / anchors, a = i % anchors;
		double y = ((double)(at / k.w) + k.offset_y) * k.step_y,
			x = ((double)(at % k.w) + k.offset_x) * k.step_x;
		double size = a < k.sizes ? k.size[a] : k.size[0],
			root = sqrt(a < k.sizes ? k.ratio[0] : k.ratio[a - k.sizes + 1]);
		double dx = size * (double)k.h / (double)k.w * root / 2, dy = size / root / 2,
			v[4] = {x - dx, y - dy, x + dx, y + dy};
		for (int j = 0; j < 4; j++)
			put(k.out, 4 * i + j, (A)(k.clip ? (v[j] < 0 ? 0 : v[j] > 1 ? 1 : v[j]) : v[j]));
	}
}

// Detections: predictions for anchors as rows of (class, probability, box).
struct Detect {
	T *out;
	const T *probs, *locs, *anchors;
	A *rows;       // [images][anchors][6], for all anchors
	double *score; // -infinity for anchors without a detection
	const Int *order;
	A *list; // detections in the order of anchors or by falling probability
	Int images, classes, n, sort, force, clip, top;
	double least, threshold, variance[4];
};
KERNEL(detect_rows, Detect) {
	EACH(t, k.images * k.n) {
		Int b = t / k.n, i = t % k.n, best = 0;
		A prob = -1, *row = k.rows + 6 * t;
		for (Int c = 1; c < k.classes; c++) {
			A v = get(k.probs, (b * k.classes + c) * k.n + i);
			if (v > prob) best = c, prob = v;
		}
		bool part = best != 0 && prob >= (A)k.least;
		k.score[t] = part ? (double)prob : -INFINITY;
		row[0] = (A)(best - 1), row[1] = prob;
		for (int a = 0; a < 2; a++) {
			A lo = get(k.anchors, 4 * i + a), hi = get(k.anchors, 4 * i + 2 + a), size = hi - lo,
				middle = (lo + hi) / 2;
			middle += get(k.locs, 4 * t + a) * (A)k.variance[a] * size;
			A half = (A)exp((double)(get(k.locs, 4 * t + 2 + a) * (A)k.variance[2 + a])) * size / 2;
			row[2 + a] = middle - half, row[4 + a] = middle + half;
		}
		for (int j = 2; j < 6 && k.clip; j++) row[j] = least(most(row[j], 0), 1);
	}
}
// listed writes the indices of all detections, in the order of anchors, to to, and returns their
// number.
__device__ inline Int listed(const double *score, Int n, Int *to) {
	__shared__ Int counts[BLOCK];
	Int piece = (n + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * piece,
		end = begin + piece < n ? begin + piece : n, mine = 0, before = 0, all = 0;
	for (Int i = begin; i < end; i++) mine += score[i] > -INFINITY;
	__syncthreads();
	counts[threadIdx.x] = mine;
	__syncthreads();
	for (unsigned t = 0; t < blockDim.x; t++) {
		if (t < threadIdx.x) before += counts[t];
		all += counts[t];
	}
	for (Int i = begin; i < end; i++)
		if (score[i] > -INFINITY) to[before++] = i;
	__syncthreads();
	return all;
}
struct DetectLists {
	Detect d;
	Int *numbers;
};
KERNEL(detect, DetectLists) {
	const Detect &d = k.d;
	for (Int b = blockIdx.x; b < d.images; b += gridDim.x) {
		Int *numbers = k.numbers + b * d.n;
		Int count = listed(d.score + b * d.n, d.n, numbers),
			taking = d.top > 0 && d.top < count ? d.top : count;
		A *list = d.list + 6 * b * d.n;
		const A *rows = d.rows + 6 * b * d.n;
		for (Int i = threadIdx.x; i < count; i += blockDim.x) {
			Int from = d.sort && i < taking ? d.order[b * d.n + i] : numbers[i];
			for (int j = 0; j < 6; j++) list[6 * i + j] = rows[6 * from + j];
			if (d.sort && i >= taking) list[6 * i] = -1;
		}
		for (Int i = 0; i < count && d.sort; i++) {
			__syncthreads();
			const A *a = list + 6 * i;
			if (a[0] < 0) continue;
			Box p = box(a + 2, 0);
			for (Int j = i + 1 + threadIdx.x; j < count; j += blockDim.x) {
				A *o = list + 6 * j;
				if (o[0] >= 0 && (d.force || o[0] == a[0]) &&
					overlap(p, box(o + 2, 0)) >= (A)d.threshold)
					o[0] = -1;
			}
		}
		__syncthreads();
		for (Int i = threadIdx.x; i < 6 * d.n; i += blockDim.x)
			put(d.out, 6 * b * d.n + i, i < 6 * count ? list[i] : (A)-1);
		__syncthreads();
	}
}

// Targets of anchors.
struct Target {
	T *loc, *mask, *cls;
	const T *anchors, *labels, *preds;
	A *iou; // [images][anchors][labels]
	double *score;
	const Int *order;
	Int *state, *match; // per anchor: 2 positive, 1 candidate for background, 0 ignored; its label
	Int *most;          // per image: number of candidates that become background, -1: all
	uint8_t *taken;     // per label: it has an anchor
	Int images, n, rows, width, classes, mining;
	double threshold, ignore, ratio, mining_threshold, variance[4];
};
__device__ inline Int label_count(const Target &k, Int b) {
	Int n = 0;
	while (n < k.rows && get(k.labels, (b * k.rows + n) * k.width) != -1) n++;
	return n;
}
__device__ inline A background(const Target &k, Int b, Int i) {
	const T *p = k.preds + b * k.classes * k.n + i;
	A top = get(p, 0), sum = 0;
	for (Int c = 0; c < k.classes; c++) top = most(top, get(p, c * k.n));
	for (Int c = 0; c < k.classes; c++) sum += (A)exp((double)(get(p, c * k.n) - top));
	return (A)exp((double)(get(p, 0) - top)) / sum;
}
// Each label takes the best free anchor. Pairs are taken in the order of overlap, the first of
// equal ones first.
__device__ inline void match_best(const Target &k, Int b, Int labels) {
	__shared__ A best[BLOCK];
	__shared__ Int where[BLOCK];
	const A *iou = k.iou + b * k.n * k.rows;
	for (Int round = 0; round < labels; round++) {
		A top = (A)1e-6;
		Int at = -1;
		for (Int i = threadIdx.x; i < k.n; i += blockDim.x) {
			if (k.state[b * k.n + i] == 2) continue;
			for (Int l = 0; l < labels; l++)
				if (!k.taken[b * k.rows + l] && iou[i * k.rows + l] > top)
					top = iou[i * k.rows + l], at = i * k.rows + l;
		}
		__syncthreads();
		best[threadIdx.x] = top, where[threadIdx.x] = at;
		__syncthreads();
		for (unsigned t = 0; t < blockDim.x; t++)
			if (where[t] >= 0 && (at < 0 || best[t] > top || (best[t] == top && where[t] < at)))
				top = best[t], at = where[t];
		if (at < 0) return;
		if (threadIdx.x == 0)
			k.taken[b * k.rows + at % k.rows] = 1, k.state[b * k.n + at / k.rows] = 2,
				k.match[b * k.n + at / k.rows] = at % k.rows;
		__syncthreads();
	}
}
KERNEL(target_match, Target) {
	for (Int b = blockIdx.x; b < k.images; b += gridDim.x) {
		Int labels = label_count(k, b), positive = 0;
		for (Int l = threadIdx.x; l < k.rows; l += blockDim.x) k.taken[b * k.rows + l] = 0;
		for (Int i = threadIdx.x; i < k.n; i += blockDim.x) {
			k.state[b * k.n + i] = 0, k.match[b * k.n + i] = -1;
			Box x = box(k.anchors + 4 * i, 0);
			for (Int l = 0; l < labels; l++) {
				Box y = box(k.labels + (b * k.rows + l) * k.width + 1, 0);
				A inter = shared_area(x, y), sum = signed_area(x) + signed_area(y) - inter;
				k.iou[(b * k.n + i) * k.rows + l] = sum != 0 ? inter / sum : (A)0;
			}
		}
		__syncthreads();
		match_best(k, b, labels);
		__syncthreads();
		for (Int i = threadIdx.x; i < k.n; i += blockDim.x) {
			Int t = b * k.n + i;
			k.score[t] = INFINITY;
			if (labels == 0) continue;
			A best = -1;
			if (k.state[t] != 2) {
				for (Int l = 0; l < labels; l++)
					if (k.iou[t * k.rows + l] > best) best = k.iou[t * k.rows + l], k.match[t] = l;
				if (k.threshold > 0 && best > (A)k.threshold) k.state[t] = 2;
			}
			if (k.state[t] == 2) positive++;
			else if (!k.mining || best < (A)k.mining_threshold) {
				k.state[t] = 1;
				if (k.mining) k.score[t] = (double)background(k, b, i);
			}
		}
		positive = together<Add>(positive);
		if (threadIdx.x == 0) k.most[b] = k.mining ? (Int)((float)positive * (float)k.ratio) : k.n;
	}
}
KERNEL(target_write, Target) {
	EACH(t, k.images * k.n) { /* t: with mining, a place in the order of probabilities */
		Int b = t / k.n, place = t % k.n, i = k.mining ? k.order[t] : place, at = b * k.n + i,
			state = k.state[at];
		const T *a = k.anchors + 4 * i, *l = k.labels + (b * k.rows + k.match[at]) * k.width;
		put(k.cls, at, state == 2 ? get(l, 0) + 1 : state == 1 && place < k.most[b] ? (A)0
			: (A)k.ignore);
		for (int axis = 0; axis < 2; axis++) {
			A to[2] = {0, 0};
			if (state == 2) {
				A size = get(a, 2 + axis) - get(a, axis),
					want = get(l, 3 + axis) - get(l, 1 + axis);
				A middle = (get(a, axis) + get(a, 2 + axis)) / 2,
					goal = (get(l, 1 + axis) + get(l, 3 + axis)) / 2;
				to[0] = (goal - middle) / size / (A)k.variance[axis],
					to[1] = (A)log((double)(want / size)) / (A)k.variance[2 + axis];
			}
			for (int j = 0; j < 2; j++)
				put(k.loc, 4 * at + 2 * j + axis, to[j]),
					put(k.mask, 4 * at + 2 * j + axis, (A)(state == 2));
		}
	}
}

// Matches of rows and columns of score matrices, from all elements in sorted order; one thread per
// matrix.
struct Match {
	T *of_row, *of_col;
	const T *x;
	const Int *order;
	Int count, rows, cols, ascend, top;
	double threshold;
};
KERNEL(match, Match) {
	EACH(b, k.count) {
		Int size = k.rows * k.cols, found = 0;
		T *row = k.of_row + b * k.rows, *col = k.of_col + b * k.cols;
		for (Int i = 0; i < k.rows; i++) put(row, i, (A)-1);
		for (Int i = 0; i < k.cols; i++) put(col, i, (A)-1);
		for (Int i = 0; i < size; i++) {
			Int at = k.order[b * size + i];
			if (get(row, at / k.cols) != -1 || get(col, at % k.cols) != -1) continue;
			A v = get(k.x, b * size + at);
			if (!(k.ascend ? v < (A)k.threshold : v > (A)k.threshold)) break;
			put(row, at / k.cols, (A)(at % k.cols)), put(col, at % k.cols, (A)(at / k.cols));
			if (++found > k.top && k.top > 0) break;
		}
	}
}

// Regions proposed for images: shifted anchors, the best ones without large overlaps.
struct Propose {
	T *out, *scores;
	const T *probs, *deltas, *info;
	A *corner; // [images][positions · anchors][4]
	double *score;
	const Int *order;
	uint8_t *gone;
	Int *kept;
	Int images, anchors, h, w, stride, before, after, least, iou_loss;
	double threshold, anchor[4 * LISTED];
};
KERNEL(propose_boxes, Propose) {
	Int plane = k.h * k.w, n = plane * k.anchors;
	EACH(t, k.images * n) {
		Int b = t / n, at = t % n / k.anchors, a = t % k.anchors, row = at / k.w, col = at % k.w;
		const T *info = k.info + 3 * b, *delta = k.deltas + (b * 4 * k.anchors + 4 * a) * plane +
			at;
		A size = (A)k.least * get(info, 2), c[4],
			score = get(k.probs, ((2 * b + 1) * k.anchors + a) * plane + at);
		for (int x = 0; x < 2; x++) {
			A shift = (A)((x ? row : col) * k.stride), lo = (A)k.anchor[4 * a + x] + shift,
				hi = (A)k.anchor[4 * a + 2 + x] + shift;
			A d = get(delta, x * plane), e = get(delta, (2 + x) * plane),
				border = get(info, 1 - x) - 1;
			if (k.iou_loss) {
				lo += d, hi += e;
			} else {
				A extent = hi - lo + 1, middle = d * extent + lo + (extent - 1) / 2,
					half = ((A)exp((double)e) * extent - 1) / 2;
				lo = middle - half, hi = middle + half;
			}
			c[x] = most(least(lo, border), 0), c[2 + x] = most(least(hi, border), 0);
		}
		if (row >= (Int)(get(info, 0) / (A)k.stride) || col >= (Int)(get(info, 1) / (A)k.stride))
			score = -1;
		if (c[2] - c[0] + 1 < size || c[3] - c[1] + 1 < size) {
			c[0] -= size / 2, c[1] -= size / 2, c[2] += size / 2, c[3] += size / 2;
			score = -1;
		}
		for (int x = 0; x < 4; x++) k.corner[4 * t + x] = c[x];
		k.score[t] = (double)score;
	}
}
struct Crowds {
	const A *corner;
	const Int *order;
	A threshold;
	__device__ bool operator()(Int i, Int j) const {
		const A *a = corner + 4 * order[i], *b = corner + 4 * order[j];
		A inter = most(least(a[2], b[2]) - most(a[0], b[0]) + 1, 0) *
			most(least(a[3], b[3]) - most(a[1], b[1]) + 1, 0);
		return inter / ((a[2] - a[0] + 1) * (a[3] - a[1] + 1) +
			(b[2] - b[0] + 1) * (b[3] - b[1] + 1) - inter) > threshold;
	}
};
KERNEL(propose, Propose) {
	Int n = k.h * k.w * k.anchors;
	for (Int b = blockIdx.x; b < k.images; b += gridDim.x) {
		const Int *order = k.order + b * n;
		const A *corner = k.corner + 4 * b * n;
		Int *kept = k.kept + b * n, taking = k.before > 0 && k.before < n ? k.before : n;
		Int count = greedy(taking, k.after, k.gone + b * n, kept,
			Crowds{corner, order, (A)k.threshold});
		for (Int i = threadIdx.x; i < k.after; i += blockDim.x) {
			Int row = b * k.after + i, from = count > 0 ? order[kept[i % count]] : -1;
			for (int x = 0; x < 5 && k.out; x++)
				put(k.out, 5 * row + x, from < 0 ? (A)0 : x == 0 ? (A)b : corner[4 * from + x - 1]);
			if (k.scores) put(k.scores, row, from < 0 ? (A)0 : (A)k.score[b * n + from]);
		}
		__syncthreads();
	}
}
