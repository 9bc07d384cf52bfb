// Random numbers of many distributions, and densities; element types are known at run time. Each
// element uses its own random words, the same as on the processor.

static __device__ __noinline__ double log_gamma(double x) { return lgamma(x); }

struct Source {
	uint64_t key, counter;
	Int index, used;
	uint32_t block[4];
	// The first word is one of a block that four elements share; the others come from the element's
	// own stream.
	__device__ __noinline__ uint32_t word() {
		Int k = used++;
		if (k == 0) {
			philox(key, counter, 0, (uint64_t)index / 4, block);
			return block[index % 4];
		}
		if (--k % 4 == 0) philox(key, counter, (uint32_t)(k / 4 + 1), (uint64_t)index, block);
		return block[k % 4];
	}
	__device__ double unit_() { return unit(word()); }
	__device__ double positive() { return 1 - unit(word()); }
	__device__ double normal() {
		uint32_t a = word(), b = word();
		return sqrt(-2 * log(((double)a + 1) / 4294967296.0)) *
			cos(6.28318530717958647693 * (double)b / 4294967296.0);
	}
	// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
	__device__ __noinline__ double gamma(double a) {
		if (!(a >= 0)) return NAN;
		if (isinf(a)) return a;
		double small = a;
		if (a < 1) a += 1;
		double d = a - 1.0 / 3, c = 1 / sqrt(9 * d), v;
		for (;;) {
			double x = normal();
			v = 1 + c * x;
			if (v <= 0) continue;
			v = v * v * v;
			if (log(positive()) < 0.5 * x * x + d - d * v + d * log(v)) break;
		}
		return small < 1 ? d * v * pow(positive(), 1 / small) : d * v;
	}
	// Products of uniform numbers for small means, else Hörmann's transformed rejection (1993),
	// algorithm PTRS.
	__device__ __noinline__ double poisson(double m) {
		if (!(m > 0)) return 0;
		if (isinf(m)) return m;
		if (m < 10) {
			double least = exp(-m), p = positive(), k = 0;
			for (; p > least; k++) p *= positive();
			return k;
		}
		double b = 0.931 + 2.53 * sqrt(m), a = -0.059 + 0.02483 * b,
			alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
		for (;;) {
			double u = unit_() - 0.5, v = positive(), us = 0.5 - fabs(u),
				k = floor((2 * a / us + b) * u + m + 0.43);
			if (us >= 0.07 && v <= vr) return k;
			if (k < 0 || (us < 0.013 && v > us)) continue;
			if (log(v) + log(alpha) - log(a / (us * us) + b) <= -m + k * log(m) - log_gamma(k + 1))
				return k;
		}
	}
};

// Numbers from distributions with two parameters: constants, or element i / each of arrays.
struct Draw {
	Any out, a, b;
	// 0 uniform, 1 normal, 2 exponential, 3 Poisson, 4 gamma, 5 negative binomial, 6 the same by
	// mean and dispersion
	Int n, each, kind;
	double a0, b0;
	uint64_t key, counter;
};
KERNEL(draw, Draw) {
	EACH(i, k.n) {
		Source s{k.key, k.counter, i, 0, {0, 0, 0, 0}};
		double a = k.a.p ? k.a[i / k.each] : k.a0, b = k.b.p ? k.b[i / k.each] : k.a.p ? a : k.b0,
			v = 0;
		switch (k.kind) {
		case 0:
			v = a + (b - a) * s.unit_();
			if ((float)v >= (float)b && a < b) v = nextafterf((float)b, (float)a);
			break;
		case 1: v = a + b * s.normal(); break;
		case 2: v = -log(s.positive()) / a; break;
		case 3: v = s.poisson(a); break;
		case 4: v = s.gamma(a) * b; break;
		case 5: v = s.poisson(s.gamma(a) * (1 - b) / b); break;
		case 6: v = b == 0 ? s.poisson(a) : s.poisson(s.gamma(1 / b) * b * a); break;
		}
		k.out.set(i, v);
	}
}

struct Whole {
	Any out;
	Int n, low;
	uint64_t span, key, counter;
};
__device__ inline uint64_t long_word(uint64_t key, uint64_t counter, Int i) {
	Source s{key, counter, i, 0, {0, 0, 0, 0}};
	uint64_t high = s.word();
	return high << 32 | s.word();
}
KERNEL(whole, Whole) {
	EACH(i, k.n) k.out.set_integer(i, k.low + (Int)(long_word(k.key, k.counter, i) % k.span));
}

// Classes drawn by their probabilities; each: draws per distribution.
struct Classes {
	Any out, logs, prob, head;
	Int n, each, classes;
	uint64_t key, counter;
};
const double SMALLEST = 1.401298464324817070923729583289916131280e-45;
KERNEL(classes, Classes) {
	EACH(i, k.n) {
		Source s{k.key, k.counter, i, 0, {0, 0, 0, 0}};
		Int row = i / k.each * k.classes, c = 0;
		double u = s.unit_();
		for (; c < k.classes - 1; c++) {
			u -= k.prob[row + c];
			if (u < 0) break;
		}
		double p = k.prob[row + c];
		if (k.out.p) k.out.set_integer(i, c);
		if (k.logs.p) k.logs.set(i, log(p > SMALLEST ? p : SMALLEST));
	}
}
KERNEL(classes_grad, Classes) { /* out: of the probabilities; logs: the numbers drawn */
	EACH(o, k.n) {
		double sum = 0, p = k.prob[o];
		for (Int i = o / k.classes * k.each; i < (o / k.classes + 1) * k.each; i++)
			if (k.logs.integer(i) == o % k.classes)
				sum += k.head[i] / (p > SMALLEST ? p : SMALLEST);
		k.out.set(o, sum);
	}
}

// A random order by the method of Fisher and Yates, the same as on the processor. Step i moves the
// entry at its partner, a place up to i, to place i, and puts i at the partner. All steps are done
// at once: sorted holds the steps sorted by partner, and first the first step after step p that
// takes the entry at place p away, 0 for none.
struct Shuffle {
	Any out, in;
	Int *order, *partner, *first;
	const Int *sorted;
	Int n, run;
	uint64_t key, counter;
};
KERNEL(shuffle_partners, Shuffle) {
	EACH(i, k.n) {
		k.partner[i] = (Int)(long_word(k.key, k.counter, i) % (uint64_t)(i + 1));
		k.first[i] = 0;
	}
}
// The step after the one of rank r that has the same partner, 0 for none.
__device__ inline Int next_step(const Shuffle &k, Int r) {
	if (r + 1 == k.n || k.partner[k.sorted[r + 1]] != k.partner[k.sorted[r]]) return 0;
	return k.sorted[r + 1];
}
KERNEL(shuffle_first, Shuffle) {
	EACH(r, k.n) {
		Int step = k.sorted[r], p = k.partner[step];
		if (r > 0 && k.partner[k.sorted[r - 1]] == p) continue;
		k.first[p] = step > p ? step : next_step(k, r);
	}
}
KERNEL(shuffle_order, Shuffle) { /* an entry moves about log(n) times at most */
	EACH(r, k.n) {
		Int entry = k.sorted[r], place = k.partner[entry];
		for (Int step = next_step(k, r); step > 0; step = k.first[step]) place = step;
		k.order[place] = entry;
	}
}
KERNEL(shuffle_rows, Shuffle) {
	EACH(t, k.n * k.run) k.out.copy(t, k.in, k.order[t / k.run] * k.run + t % k.run);
}

// Densities of a sample and their derivatives; element i has the parameters i / each.
struct Density {
	Any out, dx, da, db, x, a, b, dy, y;
	// 0 uniform, 1 normal, 2 exponential, 3 gamma, 4 Poisson, 5 negative binomial, 6 the same by
	// mean and dispersion
	Int n, each, kind, is_log;
};
struct Slope {
	double x, a, b;
};
static __device__ __noinline__ double log_binomial(double x, double n, double p) {
	return log_gamma(x + n) - log_gamma(x + 1) - log_gamma(n) + n * log(p) + x * log(1 - p);
}
static __device__ __noinline__ Slope slope_binomial(double x, double n, double p) {
	return Slope{0, gx_psi(x + n) - gx_psi(n) + log(p), n / p - x / (1 - p)};
}
static __device__ __noinline__ double log_density(Int kind, double x, double a, double b) {
	double z = (x - a) / b;
	switch (kind) {
	case 0: return -log(b - a);
	case 1: return -0.5 * z * z - log(b * 2.50662827463100050242);
	case 2: return log(a) - a * x;
	case 3: return a * log(b) + (a - 1) * log(x) - b * x - log_gamma(a);
	case 4: return x * log(a) - log_gamma(x + 1) - a;
	case 5: return log_binomial(x, a, b);
	}
	return log_binomial(x, 1 / b, 1 / (a * b + 1));
}
static __device__ __noinline__ Slope slope(Int kind, double x, double a, double b) {
	double z = (x - a) / b;
	switch (kind) {
	case 0: return Slope{0, 1 / (b - a), -1 / (b - a)};
	case 1: return Slope{-z / b, z / b, (z * z - 1) / b};
	case 2: return Slope{-a, 1 / a - x, 0};
	case 3: return Slope{(a - 1) / x - b, log(b) + log(x) - gx_psi(a), a / b - x};
	case 4: return Slope{0, x / a - 1, 0};
	case 5: return slope_binomial(x, a, b);
	}
	double p = 1 / (a * b + 1);
	Slope s = slope_binomial(x, 1 / b, p);
	return Slope{0, -s.b * b * p * p, -s.a / (b * b) - s.b * a * p * p};
}
KERNEL(density, Density) {
	EACH(i, k.n) {
		double a = k.a[i / k.each], v = log_density(k.kind, k.x[i], a, k.b.p ? k.b[i / k.each] : a);
		k.out.set(i, k.is_log ? v : exp(v));
	}
}
KERNEL(density_grad, Density) { /* one block per element of the parameters */
	for (Int p = blockIdx.x; p < k.n / k.each; p += gridDim.x) {
		double a = k.a[p], b = k.b.p ? k.b[p] : a, da = 0, db = 0;
		for (Int i = p * k.each + threadIdx.x; i < (p + 1) * k.each; i += blockDim.x) {
			double h = k.dy[i] * (k.is_log ? 1 : k.y[i]);
			Slope s = slope(k.kind, k.x[i], a, b);
			if (k.dx.p) k.dx.set(i, h * s.x);
			da += h * s.a, db += h * s.b;
		}
		da = together<Add>(da);
		db = together<Add>(db);
		if (threadIdx.x != 0) continue;
		if (k.da.p) k.da.set(p, da);
		if (k.db.p) k.db.set(p, db);
	}
}

// The Dirichlet distribution: vectors of size numbers, each vectors per vector of parameters.
struct Vectors {
	Any out, dx, da, x, a, dy, y;
	Int count, each, size, is_log;
};
KERNEL(dirichlet, Vectors) {
	EACH(i, k.count) {
		double v = 0, total = 0;
		for (Int j = 0; j < k.size; j++) {
			double a = k.a[i / k.each * k.size + j];
			v += (a - 1) * log(k.x[i * k.size + j]) - log_gamma(a), total += a;
		}
		v += log_gamma(total);
		k.out.set(i, k.is_log ? v : exp(v));
	}
}
KERNEL(dirichlet_grad, Vectors) { /* one thread per element of the parameters */
	EACH(t, k.count / k.each * k.size) {
		Int p = t / k.size, j = t % k.size;
		double a = k.a[t], total = 0, sum = 0;
		for (Int e = 0; e < k.size; e++) total += k.a[p * k.size + e];
		for (Int i = p * k.each; i < (p + 1) * k.each; i++) {
			double h = k.dy[i] * (k.is_log ? 1 : k.y[i]), x = k.x[i * k.size + j];
			if (k.dx.p) k.dx.set(i * k.size + j, h * (a - 1) / x);
			sum += h * (log(x) - gx_psi(a) + gx_psi(total));
		}
		if (k.da.p) k.da.set(t, sum);
	}
}
