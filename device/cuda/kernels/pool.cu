// Pooling over windows that slide over up to three axes, in any order of axes.

struct Pool {
	T *out;
	const T *x, *y, *dy;
	Int batch, channels;
	Int in_[3], out_[3], kernel[3], stride[3], pad[3];
	Int sx[5], sy[5]; // strides of batch, channel and the three axes of data and output
	// 0 max, 1 sum, 2 average, 3 p-norm, 4 max with zeros around, 5 average of whole windows
	Int kind;
	Int count_pad;
	double power, lowest;
};

struct Cell {
	Int lo[3], hi[3], count;
};
__device__ inline Cell cell(const Pool &k, const Int *at) {
	Cell c;
	c.count = 1;
	for (int a = 0; a < 3; a++) {
		Int lo = at[a] * k.stride[a] - k.pad[a], hi = lo + k.kernel[a], end = k.in_[a] + k.pad[a];
		if (hi > end) hi = end;
		c.lo[a] = lo < 0 ? 0 : lo, c.hi[a] = hi > k.in_[a] ? k.in_[a] : hi;
		if (!k.count_pad) lo = c.lo[a], hi = c.hi[a];
		c.count *= hi > lo ? hi - lo : 0;
	}
	return c;
}
// place finds batch, channel and element of a channel of size elements. Neighbouring threads treat
// neighbours in memory: channels where these lie last.
__device__ inline void place(const Pool &k, Int i, Int size, Int *b, Int *ch, Int *e) {
	bool last = k.sx[1] == 1;
	*b = i / size / k.channels;
	*ch = last ? i % k.channels : i / size % k.channels;
	*e = last ? i / k.channels % size : i % size;
}
// spot returns the window of output i, and sets base to the start of its plane of the data and to
// to the position of the output.
__device__ inline Cell spot(const Pool &k, Int i, Int *base, Int *to) {
	Int b, ch, o;
	place(k, i, k.out_[0] * k.out_[1] * k.out_[2], &b, &ch, &o);
	Int at[3] = {o / (k.out_[2] * k.out_[1]), o / k.out_[2] % k.out_[1], o % k.out_[2]};
	*base = b * k.sx[0] + ch * k.sx[1], *to = b * k.sy[0] + ch * k.sy[1];
	for (int a = 0; a < 3; a++) *to += at[a] * k.sy[2 + a];
	return cell(k, at);
}
#define WINDOW(c) \
	for (Int d = (c).lo[0]; d < (c).hi[0]; d++) \
		for (Int h = (c).lo[1]; h < (c).hi[1]; h++) \
			for (Int w = (c).lo[2]; w < (c).hi[2]; w++)
#define IN(base) ((base) + d * k.sx[2] + h * k.sx[3] + w * k.sx[4])

// inside returns the number of elements of the data in a window.
__device__ inline Int inside(const Cell &c) {
	Int n = 1;
	for (int a = 0; a < 3; a++) n *= c.hi[a] > c.lo[a] ? c.hi[a] - c.lo[a] : 0;
	return n;
}

// largest returns the position of the first largest element of a window, -1 if the window is empty.
__device__ inline Int largest(const Pool &k, const Cell &c, Int base) {
	Int best = -1;
	A top = 0;
	WINDOW(c) {
		A v = get(k.x, IN(base));
		if ((best < 0 && !isnan(v)) || (best >= 0 && v > top)) best = IN(base), top = v;
	}
	return best;
}

KERNEL(pool, Pool) {
	EACH(i, k.batch * k.channels * k.out_[0] * k.out_[1] * k.out_[2]) {
		Int base, to;
		Cell c = spot(k, i, &base, &to);
		if (k.kind == 0) {
			Int best = largest(k, c, base);
			put(k.out, to, best < 0 ? (A)k.lowest : get(k.x, best));
			continue;
		}
		if (k.kind == 4) {
			Int best = largest(k, c, base);
			A v = best < 0 ? (A)-INFINITY : get(k.x, best);
			put(k.out, to, c.count != inside(c) && v < 0 ? (A)0 : v);
			continue;
		}
		A sum = 0;
		WINDOW(c) {
			A v = get(k.x, IN(base));
			sum += k.kind == 3 ? (A)pow((double)v, k.power) : v;
		}
		// Cube roots of negative sums exist
		if (k.kind == 3)
			sum = k.power == 3 ? (A)cbrt((double)sum) : k.power == 2 ? (A)sqrt((double)sum) : sum;
		if (k.kind == 2) sum = c.count ? sum / (A)c.count : (A)0;
		if (k.kind == 5) sum /= (A)(k.kernel[0] * k.kernel[1] * k.kernel[2]);
		put(k.out, to, sum);
	}
}

// Each element of the data sums over the windows that contain it: each thread writes its own
// element.
KERNEL(pool_grad, Pool) {
	Int size = k.in_[0] * k.in_[1] * k.in_[2];
	EACH(i, k.batch * k.channels * size) {
		Int b, ch, e;
		place(k, i, size, &b, &ch, &e);
		Int at[3] = {e / (k.in_[2] * k.in_[1]), e / k.in_[2] % k.in_[1], e % k.in_[2]}, from[3],
			to[3];
		Int base = b * k.sx[0] + ch * k.sx[1], self = base, grad = b * k.sy[0] + ch * k.sy[1];
		for (int a = 0; a < 3; a++) {
			self += at[a] * k.sx[2 + a];
			Int p = at[a] + k.pad[a]; // windows o with o·stride <= p < o·stride + kernel
			from[a] = p < k.kernel[a] ? 0 : (p - k.kernel[a]) / k.stride[a] + 1;
			to[a] = p / k.stride[a] + 1 < k.out_[a] ? p / k.stride[a] + 1 : k.out_[a];
		}
		A sum = 0;
		for (Int z = from[0]; z < to[0]; z++)
			for (Int y = from[1]; y < to[1]; y++)
				for (Int x = from[2]; x < to[2]; x++) {
					Int o[3] = {z, y, x}, g = grad + z * k.sy[2] + y * k.sy[3] + x * k.sy[4];
					A dy = get(k.dy, g);
					Cell c = cell(k, o);
					if (k.kind == 0) {
						if (largest(k, c, base) == self) sum += dy;
					} else if (k.kind == 4) {
						if (get(k.x, self) == get(k.y, g)) sum += dy;
					} else if (k.kind == 5) {
						sum += dy / (A)(k.kernel[0] * k.kernel[1] * k.kernel[2]);
					} else if (k.kind == 3) {
						A v = get(k.y, g);
						if (v != 0 || k.power <= 1)
							sum += dy * (A)pow((double)get(k.x, self) / (double)v, k.power - 1);
					} else {
						sum += k.kind == 1 ? dy : c.count ? dy / (A)c.count : (A)0;
					}
				}
		put(k.out, self, sum);
	}
}

// The second derivative: for maxima reads dy, which has the shape of the data, at each window's
// maximum; otherwise sums dy over each window.
KERNEL(pool_select, Pool) {
	EACH(i, k.batch * k.channels * k.out_[0] * k.out_[1] * k.out_[2]) {
		Int base, to;
		Cell c = spot(k, i, &base, &to);
		A sum = 0;
		if (k.kind == 0) {
			Int best = largest(k, c, base);
			if (best >= 0) sum = get(k.dy, best);
		} else {
			WINDOW(c) if (k.kind != 4 || get(k.x, IN(base)) == get(k.y, to)) sum +=
				get(k.dy, IN(base));
			if (k.kind == 5) sum /= (A)(k.kernel[0] * k.kernel[1] * k.kernel[2]);
		}
		put(k.out, to, sum);
	}
}
