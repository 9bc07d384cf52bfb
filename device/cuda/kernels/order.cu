// Stable sorting by merging, and sums by groups of equal indices; element types are known at run
// time.

// Lanes of n elements, step elements apart: lane l begins at l / step · step · n + l % step. from
// and to hold positions within lanes, [lanes][n].
struct Order {
	Any x;
	Int *from, *to;
	Int lanes, n, step, width, ascend;
};
const Int RUN = 8; // number of elements that one thread sorts

__device__ inline bool before(const Order &k, double a, double b) {
	if (!k.ascend) {
		double c = a;
		a = b, b = c;
	}
	return isnan(a) ? false : isnan(b) || a < b;
}
__device__ inline double key(const Order &k, Int lane,
	Int i) { return k.x[lane / k.step * k.step * k.n + lane % k.step + i * k.step]; }

KERNEL(order_runs, Order) { /* sorts runs of RUN places into to */
	Int runs = (k.n + RUN - 1) / RUN;
	EACH(r, k.lanes * runs) {
		Int lane = r / runs, begin = r % runs * RUN, end = begin + RUN < k.n ? begin + RUN : k.n;
		Int *to = k.to + lane * k.n;
		for (Int i = begin; i < end; i++) {
			double v = key(k, lane, i);
			Int at = i;
			for (; at > begin && before(k, v, key(k, lane, to[at - 1])); at--) to[at] = to[at - 1];
			to[at] = i;
		}
	}
}
// Merges pairs of runs of width elements: an element's new position is its position in its run plus
// the number of elements of the other run before it.
KERNEL(order_merge, Order) {
	EACH(t, k.lanes * k.n) {
		Int lane = t / k.n, i = t % k.n, begin = i / (2 * k.width) * 2 * k.width;
		Int middle = begin + k.width < k.n ? begin + k.width : k.n,
			end = begin + 2 * k.width < k.n ? begin + 2 * k.width : k.n;
		const Int *from = k.from + lane * k.n;
		bool first = i < middle;
		double v = key(k, lane, from[i]);
		Int lo = first ? middle : begin, hi = first ? end : middle, base = lo;
		while (lo < hi) {
			Int m = (lo + hi) / 2;
			double w = key(k, lane, from[m]);
			if (first ? before(k, w, v) : !before(k, v, w)) lo = m + 1;
			else hi = m;
		}
		k.to[lane * k.n + (first ? i : begin + i - middle) + lo - base] = from[i];
	}
}

// The first count positions of each lane's order: their elements go to values, the positions to
// indices, ones to mask; missing operands are skipped.
struct Top {
	Any values, indices, mask, x;
	const Int *order;
	Int lanes, n, step, count;
};
KERNEL(order_top, Top) {
	EACH(t, k.lanes * k.count) {
		Int lane = t % k.lanes, i = t / k.lanes, at = k.order[lane * k.n + i];
		Int src = lane / k.step * k.step * k.n + lane % k.step + at * k.step,
			dst = lane / k.step * k.step * k.count + lane % k.step + i * k.step;
		if (k.values.p) k.values.copy(dst, k.x, src);
		if (k.indices.p) k.indices.set_integer(dst, at);
		if (k.mask.p) k.mask.set(src, 1);
	}
}
// Copies between lanes and chosen elements at known positions: from x to values, or with back from
// values to x.
struct Chosen {
	Any values, indices, x;
	Int lanes, n, step, count, back;
};
KERNEL(order_chosen, Chosen) {
	EACH(t, k.lanes * k.count) {
		Int lane = t % k.lanes, dst = lane / k.step * k.step * k.count + lane % k.step +
			t / k.lanes * k.step, at = k.indices.integer(dst);
		if (at < 0 || at >= k.n) continue;
		Int src = lane / k.step * k.step * k.n + lane % k.step + at * k.step;
		if (k.back) k.x.copy(src, k.values, dst);
		else k.values.copy(dst, k.x, src);
	}
}

// The run of an array that each tuple of indices selects: index a of tuple j is element a·count +
// j. at becomes -1 for a tuple out of range if mode leaves such tuples out.
struct Tuples {
	Any index;
	Int *at;
	// Indices out of range: 0: the nearest index, 1: modulo the extent, 2: left out. 3 and 4 are
	// like 0 and 2, but round fractions down and count negative indices from the end.
	Int axes, count, mode;
	Int dim[AXES], stride[AXES];
};
KERNEL(tuples, Tuples) {
	EACH(j, k.count) {
		Int at = 0;
		bool out = false;
		for (Int a = 0; a < k.axes; a++) {
			Int n = k.dim[a], at_j = a * k.count + j;
			Int i = k.mode >= 3 ? k.index.floored(at_j) : k.index.integer(at_j);
			if (k.mode >= 3 && i < 0) i += n;
			if (k.mode == 1) i %= n, i += i < 0 ? n : 0;
			out = out || i < 0 || i >= n;
			i = i < 0 ? 0 : i < n ? i : n - 1;
			at += i * k.stride[a];
		}
		k.at[j] = out && (k.mode == 2 || k.mode == 4) ? -1 : at;
	}
}

// Runs of n elements: count source runs and extent destination runs for each of outer. Source run j
// belongs to destination run at[j]; order sorts source runs by destination.
struct Groups {
	Any out, in;
	const Int *at, *order;
	Int outer, extent, count, n;
};
KERNEL(groups_gather, Groups) { /* out: [outer][count][n], in: [outer][extent][n] */
	EACH(t, k.outer * k.count * k.n) {
		Int j = t / k.n % k.count, o = t / k.n / k.count;
		if (k.at[j] >= 0) k.out.copy(t, k.in, (o * k.extent + k.at[j]) * k.n + t % k.n);
	}
}
// Sums of the source runs of each destination run; destination runs without a source are not
// written. A block sums a tile of lanes · SOURCES sources, in their order, for columns adjacent
// elements. The sums of the two groups that may cross the ends of a tile become the sources of the
// next launch: number 2·tile of the group at its begin, 2·tile + 1 of the group at its end.
struct Sums {
	Any out, in;
	const Int *at, *order; // order 0: sources are in order
	Int *part_at;          // destinations of the parts, [2·tiles], -1 for none
	double *part;          // [outer][2·tiles][n]
	Int outer, extent, count, n, columns;
};
const Int SOURCES = 16; // sources that one thread sums

// Ends holds the groups that cross the ends of a sequence, -1 for none, and their sums within it.
struct Ends {
	Int first_at, last_at;
	double first, last;
};
// Adds up the numbers [from, to) of a sequence sorted by destination. A group that lies between its
// ends is written. src.at(from - 1) and src.at(to) are the destinations beside them.
template <class Source>
__device__ inline Ends sum_groups(const Sums &k, const Source &src, Int from, Int to, Int out) {
	Ends ends = {-1, -1, 0, 0};
	if (from >= to) return ends;
	Int at = src.at(from);
	bool open = at == src.at(from - 1); /* the group has begun before */
	double sum = 0;
	for (Int i = from; i < to; i++) {
		if (at >= 0) sum += src.value(i);
		Int next = src.at(i + 1);
		if (next == at && i + 1 < to) continue;
		if (at < 0) {
		} else if (open) {
			ends.first_at = at, ends.first = sum;
			if (next == at) ends.last_at = at; /* the sum of the rest is zero */
		} else if (next == at) ends.last_at = at, ends.last = sum;
		else k.out.set(out + at * k.n, sum);
		open = false, sum = 0, at = next;
	}
	return ends;
}
struct Sources { // the sources of a launch
	const Sums &k;
	Int in;
	__device__ Int run(Int i) const { return k.order ? k.order[i] : i; }
	__device__ Int at(Int i) const { return i < 0 || i >= k.count ? -1 : k.at[run(i)]; }
	__device__ double value(Int i) const { return k.in[in + run(i) * k.n]; }
};
struct Parts { // the ends of the lanes of a tile, for one column
	const Int *destination;
	const double *sum;
	Int lanes, columns, before, after;
	__device__ Int at(Int i) const {
		return i < 0 ? before : i >= 2 * lanes ? after : destination[i * columns];
	}
	__device__ double value(Int i) const { return sum[i * columns]; }
};
KERNEL(groups_sum, Sums) {
	__shared__ double sums[2 * BLOCK];
	__shared__ Int ats[2 * BLOCK];
	Int lanes = blockDim.x / k.columns, x = threadIdx.x % k.columns, y = threadIdx.x / k.columns;
	Int tile = lanes * SOURCES, tiles = (k.count + tile - 1) / tile,
		wide = (k.n + k.columns - 1) / k.columns;
	for (Int b = blockIdx.x; b < k.outer * tiles * wide; b += gridDim.x) {
		Int o = b / wide / tiles, c = b / wide % tiles, e = b % wide * k.columns + x;
		Int out = o * k.extent * k.n + e, from = c * tile,
			to = from + tile < k.count ? from + tile : k.count;
		Sources src = {k, o * k.count * k.n + e};
		Int begin = from + y * SOURCES, end = begin + SOURCES < to ? begin + SOURCES : to;
		Ends ends = {-1, -1, 0, 0};
		if (e < k.n) ends = sum_groups(k, src, begin, end, out);
		__syncthreads();
		Int mine = 2 * y * k.columns + x;
		sums[mine] = ends.first, sums[mine + k.columns] = ends.last;
		ats[mine] = ends.first_at, ats[mine + k.columns] = ends.last_at;
		__syncthreads();
		if (y != 0 || e >= k.n) continue;
		Parts parts = {ats + x, sums + x, lanes, k.columns, src.at(from - 1), src.at(to)};
		ends = sum_groups(k, parts, 0, 2 * lanes, out);
		if (!k.part) continue;
		Int p = 2 * c, at = (o * 2 * tiles + p) * k.n + e;
		if (o == 0 && e == 0) k.part_at[p] = ends.first_at, k.part_at[p + 1] = ends.last_at;
		if (ends.first_at >= 0) k.part[at] = ends.first;
		if (ends.last_at >= 0) k.part[at + k.n] = ends.last;
	}
}
// The last source run of each destination run.
KERNEL(groups_last, Groups) {
	EACH(t, k.outer * k.count * k.n) {
		Int e = t % k.n, s = t / k.n % k.count, o = t / k.n / k.count, at = k.at[k.order[s]];
		if (at < 0 || (s + 1 < k.count && k.at[k.order[s + 1]] == at)) continue;
		k.out.copy((o * k.extent + at) * k.n + e, k.in, (o * k.count + k.order[s]) * k.n + e);
	}
}
KERNEL(groups_zero, Groups) { /* what some run leads to */
	EACH(t, k.outer * k.count * k.n) {
		Int at = k.at[t / k.n % k.count];
		if (at >= 0) k.out.set((t / k.n / k.count * k.extent + at) * k.n + t % k.n, 0);
	}
}

// Conversion between positions in an array and tuples of indices; which lists the axes of a list of
// indices.
struct Places {
	Any out, in;
	Int n, axes;
	Int dim[AXES], which[AXES];
};
KERNEL(ravel, Places) {
	EACH(j, k.n) {
		Int at = 0;
		bool cut = is_float(k.in.type); /* fractions are cut off the sums */
		for (Int a = 0; a < k.axes; a++) {
			Int i = a * k.n + j, base = at * k.dim[a];
			at = cut ? (Int)((double)base + k.in[i]) : base + k.in.integer(i);
		}
		k.out.set_integer(j, at);
	}
}
KERNEL(unravel, Places) {
	EACH(j, k.n) {
		Int at = k.in.integer(j);
		for (Int a = k.axes - 1; a >= 0; a--) {
			Int i = at, d = k.dim[a];
			if (a > 0 && d > 0) i = at % d, at = at / d;
			k.out.set_integer(a * k.n + j, i);
		}
	}
}
KERNEL(index_array, Places) { /* dim holds extents, in strides below them, of the axes to list */
	EACH(t, k.n * k.axes) k.out.set_integer(t,
		t / k.axes / k.which[t % k.axes] % k.dim[t % k.axes]);
}
