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
// The sum of the source runs of each destination run, in order; destination runs without a source
// are not written.
KERNEL(groups_sum, Groups) {
	EACH(t, k.outer * k.count * k.n) {
		Int e = t % k.n, s = t / k.n % k.count, o = t / k.n / k.count, at = k.at[k.order[s]];
		if (at < 0 || (s > 0 && k.at[k.order[s - 1]] == at)) continue;
		double sum = 0;
		for (; s < k.count && k.at[k.order[s]] == at; s++)
			sum += k.in[(o * k.count + k.order[s]) * k.n + e];
		k.out.set((o * k.extent + at) * k.n + e, sum);
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
