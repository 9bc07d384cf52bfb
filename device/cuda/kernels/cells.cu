// Cells of recurrent layers: the part of a step after the matrix products. Sums of gates, states
// and data for the gradient have the element type of the file. After the end of a sequence its
// state stays unchanged and its outputs are zero.

struct Cell {
	Int mode; // 0 relu, 1 tanh, 2 lstm, 3 gru
	Int batch, hidden, step;
	Ptr length; // steps per sequence; zero: all sequences have all steps
	Int type;
	const T *x, *h;   // products of input and of state, [batch][gates]
	const T *bx, *bh; // biases
	T *gates, *extra; // kept for the gradient
	T *state, *mem;   // states before the step, overwritten by the states after it
	T *full;          // outputs before the projection, [batch][hidden]; zero: no projection
	T *out, *y;       // outputs of this direction, [batch][size]; of all, from this one on
	Int size, row;    // elements of an output; elements from one sequence to the next in y
};
__device__ inline bool takes_part(Ptr length, Int type, Int b,
	Int step) { return !length || step < read_int(length, type, b); }
__device__ inline A sigmoid(A x) { return (A)1 / ((A)1 + gx_exp(-x)); }

__device__ inline void cell_store(const Cell &k, Int b, Int j, A v, bool part) {
	put(k.out, b * k.size + j, part ? v : (A)0);
	put(k.y, b * k.row + j, part ? v : (A)0);
	if (part) put(k.state, b * k.size + j, v);
}

KERNEL(cell, Cell) {
	EACH(i, k.batch * k.hidden) {
		Int b = i / k.hidden, j = i % k.hidden, n = k.hidden,
			gates = k.mode == 2 ? 4 : k.mode == 3 ? 3 : 1;
		bool part = takes_part(k.length, k.type, b, k.step);
		A x[4] = {0, 0, 0, 0}, h[4] = {0, 0, 0, 0}, out = 0;
		for (Int g = 0; g < gates && part; g++) {
			x[g] = get(k.x, (b * gates + g) * n + j) + get(k.bx, g * n + j);
			h[g] = get(k.h, (b * gates + g) * n + j) + get(k.bh, g * n + j);
		}
		if (k.mode == 0) {
			out = x[0] + h[0] > 0 ? x[0] + h[0] : (A)0;
		} else if (k.mode == 1) {
			out = gx_tanh(x[0] + h[0]);
		} else if (k.mode == 2) {
			A in = sigmoid(x[0] + h[0]), forget = sigmoid(x[1] + h[1]), cand = gx_tanh(x[2] + h[2]),
				o = sigmoid(x[3] + h[3]);
			A c = part ? forget * get(k.mem, i) + in * cand : (A)0;
			if (part) put(k.mem, i, c);
			A keep[4] = {in, forget, cand, o};
			for (Int g = 0; g < 4; g++) put(k.gates, (b * 4 + g) * n + j, part ? keep[g] : (A)0);
			put(k.extra, i, c);
			out = o * gx_tanh(c);
		} else {
			A r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), m = gx_tanh(x[2] + r * h[2]);
			A keep[3] = {r, z, m};
			for (Int g = 0; g < 3; g++) put(k.gates, (b * 3 + g) * n + j, part ? keep[g] : (A)0);
			put(k.extra, i, part ? h[2] : (A)0);
			out = part ? ((A)1 - z) * m + z * get(k.state, i) : (A)0;
		}
		if (k.full) put(k.full, i, out);
		else cell_store(k, b, j, out, part);
	}
}

// Stores projected outputs, x of [batch][size].
KERNEL(cell_store, Cell) {
	EACH(i, k.batch * k.size) cell_store(k, i / k.size, i % k.size, get(k.x, i),
		takes_part(k.length, k.type, i / k.size, k.step));
}

struct CellGrad {
	Int mode, batch, hidden, step;
	Ptr length;
	Int type;
	const T *gates, *extra, *out; // of this step, kept by the forward pass
	const T *prev, *mem;          // states before the step
	const T *dout;                // gradient of the outputs before projection
	// Gradients of the products of input and state; dstate zero: equal
	T *dgates, *dstate;
	T *dh, *dmem;                 // gradients of the states that do not pass the weights
	const T *dy;                  // gradient of the outputs of all directions, from this one on
	T *douts;                     // gradient of the outputs
	Int size, row;
};

// Adds the gradient of a step's outputs to the gradient from the next step.
KERNEL(cell_receive, CellGrad) {
	EACH(i, k.batch * k.size) {
		bool part = takes_part(k.length, k.type, i / k.size, k.step);
		put(k.douts, i, part ? get(k.dh, i) + get(k.dy, i / k.size * k.row + i % k.size) : (A)0);
		if (part) put(k.dh, i, (A)0);
	}
}

// The outputs of an LSTM before the projection, of all steps and sequences: batch is steps ·
// sequences.
KERNEL(cell_full, CellGrad) {
	EACH(i, k.batch * k.hidden) put(k.dstate, i,
		get(k.gates, (i / k.hidden * 4 + 3) * k.hidden + i % k.hidden) * gx_tanh(get(k.extra, i)));
}

KERNEL(cell_grad, CellGrad) {
	EACH(i, k.batch * k.hidden) {
		Int b = i / k.hidden, j = i % k.hidden, n = k.hidden,
			gates = k.mode == 2 ? 4 : k.mode == 3 ? 3 : 1;
		bool part = takes_part(k.length, k.type, b, k.step);
		if (!part) {
			for (Int g = 0; g < gates; g++) {
				put(k.dgates, (b * gates + g) * n + j, (A)0);
				if (k.dstate) put(k.dstate, (b * gates + g) * n + j, (A)0);
			}
			continue;
		}
		A d = get(k.dout, i);
		if (k.mode < 2) {
			A y = get(k.out, i);
			put(k.dgates, i, k.mode == 0 ? (y > 0 ? d : (A)0) : d * ((A)1 - y * y));
		} else if (k.mode == 2) {
			const T *g = k.gates + b * 4 * n + j;
			T *to = k.dgates + b * 4 * n + j;
			A in = get(g, 0), forget = get(g, n), cand = get(g, 2 * n), o = get(g, 3 * n),
				t = gx_tanh(get(k.extra, i));
			A dc = get(k.dmem, i) + d * o * ((A)1 - t * t);
			put(to, 0, dc * cand * in * ((A)1 - in));
			put(to, n, dc * get(k.mem, i) * forget * ((A)1 - forget));
			put(to, 2 * n, dc * in * ((A)1 - cand * cand));
			put(to, 3 * n, d * t * o * ((A)1 - o));
			put(k.dmem, i, dc * forget);
		} else {
			const T *g = k.gates + b * 3 * n + j;
			T *to = k.dgates + b * 3 * n + j, *from = k.dstate + b * 3 * n + j;
			A r = get(g, 0), z = get(g, n), m = get(g, 2 * n), v = get(k.extra, i),
				dm = d * ((A)1 - z) * ((A)1 - m * m);
			A dr = dm * v * r * ((A)1 - r), dz = d * (get(k.prev, i) - m) * z * ((A)1 - z);
			put(to, 0, dr), put(to, n, dz), put(to, 2 * n, dm);
			put(from, 0, dr), put(from, n, dz), put(from, 2 * n, dm * r);
			put(k.dh, i, d * z);
		}
	}
}

// Rows of n numbers of one direction, [rows][n], and of all directions, [rows][dirs·n], and the
// dropout mask of the outputs for the next layer.
struct Lanes {
	T *to;
	const T *from, *mask; // mask: [rows][n], may be zero
	Int rows, n, dirs, dir;
	const T *first; // the state before the first step
	Ptr length;
	Int type, batch;
	uint64_t key, counter;
	Int stream;
	double keep;
};
KERNEL(lanes_join, Lanes) { /* to: all directions */
	EACH(i, k.rows * k.n) {
		A v = get(k.from, i);
		put(k.to, (i / k.n * k.dirs + k.dir) * k.n + i % k.n, k.mask ? v * get(k.mask, i) : v);
	}
}
KERNEL(lanes_mask, Lanes) { /* to: all directions, in place */
	EACH(i, k.rows * k.n) {
		Int at = (i / k.n * k.dirs + k.dir) * k.n + i % k.n;
		put(k.to, at, get(k.to, at) * get(k.mask, i));
	}
}
// Draws the masks of a layer for one direction, into to.
KERNEL(lanes_draw, Lanes) {
	EACH(i, k.rows * k.n) {
		Int at = (i / k.n * k.dirs + k.dir) * k.n + i % k.n;
		uint32_t word[4];
		philox(k.key, k.counter, (uint32_t)k.stream, at / 4, word);
		put(k.to, i, unit(word[at % 4]) < k.keep ? (A)(1 / k.keep) : (A)0);
	}
}
// The state before each step: the outputs of the previous step in the order of the direction.
KERNEL(lanes_before, Lanes) {
	EACH(i, k.rows * k.n) {
		Int b = i / k.n % k.batch, step = i / k.n / k.batch, steps = k.rows / k.batch;
		Int from = k.dir ? step + 1 : step - 1;
		bool inside = from >= 0 && from < steps && takes_part(k.length, k.type, b, from);
		put(k.to, i, inside ? get(k.from, (from * k.batch + b) * k.n + i % k.n)
			: get(k.first, b * k.n + i % k.n));
	}
}
