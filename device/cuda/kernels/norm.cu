// Batch normalization. Arrays are [outer][channels][inner]; the element type of statistics may
// differ from the data's.

struct Norm {
	T *out;
	const T *x, *dy;
	Ptr gamma, beta, mean, inv, moving_mean, moving_var, dgamma, dbeta;
	Int stat; // element type of the statistics and parameters
	Int outer, channels, inner;
	double eps, momentum;
	Int fix_gamma, batch_stats;
	Ptr bias; // is added to the mean in the moving average; 0: none
};

#define CHANNEL(i) \
	for (Int r = threadIdx.x; r < k.outer * k.inner; r += blockDim.x) \
		for (Int i = (r / k.inner * k.channels + c) * k.inner + r % k.inner, once = 1; once; once = 0)

// Mean and 1/sqrt(variance + eps) of each channel, one block per channel; it updates the moving
// averages.
KERNEL(batch_stats, Norm) {
	double n = (double)(k.outer * k.inner);
	for (Int c = blockIdx.x; c < k.channels; c += gridDim.x) {
		double mean, var;
		if (k.batch_stats) {
			A sum = 0;
			CHANNEL(i) sum += get(k.x, i);
			A m = together<Add>(sum) / (A)n;
			sum = 0;
			CHANNEL(i) {
				A d = get(k.x, i) - m;
				sum += d * d;
			}
			mean = m, var = (double)together<Add>(sum) / n;
		} else {
			mean = read(k.moving_mean, k.stat, c), var = read(k.moving_var, k.stat, c);
			if (k.bias) mean -= read(k.bias, k.stat, c);
		}
		if (threadIdx.x == 0) {
			write(k.mean, k.stat, c, mean);
			write(k.inv, k.stat, c, 1 / sqrt(var + k.eps));
			if (k.batch_stats) {
				if (k.bias) mean += read(k.bias, k.stat, c);
				write(k.moving_mean, k.stat, c,
					read(k.moving_mean, k.stat, c) * k.momentum + mean * (1 - k.momentum));
				write(k.moving_var, k.stat, c,
					read(k.moving_var, k.stat, c) * k.momentum + var * (1 - k.momentum));
			}
		}
	}
}

// Updates the moving averages of several layers with the mean and the variance of the batch, one
// block per layer; the variance is computed from 1/sqrt(variance + eps).
struct Moved {
	Ptr mean, inv, moving_mean, moving_var, bias;
	Int channels;
	double eps, momentum;
};
struct AllMoved {
	Int count, stat;
	Moved one[32];
};
KERNEL(batch_moved, AllMoved) {
	for (Int l = blockIdx.x; l < k.count; l += gridDim.x) {
		const Moved &m = k.one[l];
		for (Int c = threadIdx.x; c < m.channels; c += blockDim.x) {
			double inv = read(m.inv, k.stat, c), var = 1 / (inv * inv) - m.eps,
				mean = read(m.mean, k.stat, c) + (m.bias ? read(m.bias, k.stat, c) : 0);
			if (var < 0) var = 0;
			write(m.moving_mean, k.stat, c, read(m.moving_mean, k.stat, c) * m.momentum +
				mean * (1 - m.momentum));
			write(m.moving_var, k.stat, c, read(m.moving_var, k.stat, c) * m.momentum +
				var * (1 - m.momentum));
		}
	}
}

KERNEL(batch_norm, Norm) {
	EACH(i, k.outer * k.channels * k.inner) {
		Int c = i / k.inner % k.channels;
		A scale = (A)read(k.inv, k.stat, c);
		if (!k.fix_gamma) scale *= (A)read(k.gamma, k.stat, c);
		put(k.out, i, (get(k.x, i) - (A)read(k.mean, k.stat, c)) * scale +
			(A)read(k.beta, k.stat, c));
	}
}

// Sums of dy and of dy times the normalized data, one block per channel: the gradients of beta and
// gamma. moving_mean and moving_var point to scratch memory for them, in double.
KERNEL(batch_sums, Norm) {
	for (Int c = blockIdx.x; c < k.channels; c += gridDim.x) {
		A mean = (A)read(k.mean, k.stat, c), inv = (A)read(k.inv, k.stat, c), a = 0, b = 0;
		CHANNEL(i) {
			A dy = get(k.dy, i);
			a += dy * (get(k.x, i) - mean) * inv, b += dy;
		}
		a = together<Add>(a);
		b = together<Add>(b);
		if (threadIdx.x == 0) {
			((double *)k.moving_mean)[c] = a, ((double *)k.moving_var)[c] = b;
			if (k.dgamma) write(k.dgamma, k.stat, c, k.fix_gamma ? 0 : (double)a);
			if (k.dbeta) write(k.dbeta, k.stat, c, (double)b);
		}
	}
}

KERNEL(batch_norm_grad, Norm) {
	A n = (A)(k.outer * k.inner);
	EACH(i, k.outer * k.channels * k.inner) {
		Int c = i / k.inner % k.channels;
		A inv = (A)read(k.inv, k.stat, c), scale = inv, shift = 0, tilt = 0;
		if (!k.fix_gamma) scale *= (A)read(k.gamma, k.stat, c);
		if (k.batch_stats)
			shift = (A)((double *)k.moving_var)[c] / n,
				tilt = (A)((double *)k.moving_mean)[c] / n * inv;
		put(k.out, i, scale * (get(k.dy, i) - shift -
			(get(k.x, i) - (A)read(k.mean, k.stat, c)) * tilt));
	}
}
