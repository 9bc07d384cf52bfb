// Steps of optimizers, element by element: v[0] is the weight, v[1] the gradient, the others
// states. With mixed precision weight and gradient have the element type of the file, states and
// the exact weight, the last of them, are float32.

const int STATES = 4;

struct Step {
	T *out;
	const T *weight, *grad;
	Ptr state[STATES];
	Int n, states, mixed;
	double p[12]; // parameters of the rule
	// Address of the gradient's factor; 0: the factor is in p; no step if the factor is 0 or not
	// finite
	Ptr scale;
	Int scale_type;
	// Arrays of learning rates and weight decays, read at index which; 0: they are in p
	Ptr rates, decays;
	Int list_type, which;
};

__device__ inline double limit(double g, double most) { return most < 0 ? g : g < -most ? -most
	: g > most ? most : g; }
__device__ inline double sign_of(double x) { return (x > 0) - (x < 0); }

template <class F> __device__ inline void step(const Step &k, F rule) {
	Int states = k.states - (k.mixed ? 1 : 0);
	double rescale = k.scale ? read(k.scale, k.scale_type, 0) : k.p[2];
	bool idle = k.scale && (rescale == 0 || !(rescale - rescale == 0));
	double p[12];
	for (int j = 0; j < 12; j++) p[j] = k.p[j];
	if (k.rates)
		p[0] = read(k.rates, k.list_type, k.which), p[1] = read(k.decays, k.list_type, k.which);
	EACH(i, k.n) {
		double v[2 + STATES];
		v[0] = k.mixed ? ((float *)k.state[states])[i] : (double)get(k.weight, i);
		v[1] = get(k.grad, i);
		for (Int s = 0; s < states; s++)
			v[2 + s] = k.mixed ? ((float *)k.state[s])[i] : (double)get((T *)k.state[s], i);
		if (!idle) rule(v, p, rescale);
		if (k.mixed) ((float *)k.state[states])[i] = (float)v[0];
		put(k.out, i, (A)v[0]);
		for (Int s = 0; s < states; s++) {
			if (k.mixed) ((float *)k.state[s])[i] = (float)v[2 + s];
			else put((T *)k.state[s], i, (A)v[2 + s]);
		}
	}
}

// The first four parameters are learning rate, weight decay, factor of the gradient and its limit.
#define RULE(name, body) \
	struct Rule_##name { \
		__device__ void operator()(double *v, const double *p, double rescale) const { \
			const double lr = p[0], wd = p[1], most = p[3]; \
			(void)lr, (void)wd, (void)rescale, (void)most; \
			body \
		} \
	}; \
	KERNEL(name, Step) { step(k, Rule_##name()); }

RULE(sgd, { v[0] = (1 - lr * wd) * v[0] - lr * limit(rescale * v[1], most); })
RULE(sgd_mom, {
	v[2] = p[4] * v[2] - lr * wd * v[0] - lr * limit(rescale * v[1], most);
	v[0] += v[2];
})
RULE(nag_mom, {
	double g = limit(rescale * v[1], most) + wd * v[0];
	v[2] = p[4] * v[2] - lr * g;
	v[0] += p[4] * v[2] - lr * g;
})
RULE(adam, {
	double g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = p[4] * v[2] + (1 - p[4]) * g;
	v[3] = p[5] * v[3] + (1 - p[5]) * g * g;
	v[0] -= lr * v[2] / (sqrt(v[3]) + p[6]);
})
RULE(adamw, {
	double g = limit(rescale * v[1], most);
	v[2] = p[4] * v[2] + (1 - p[4]) * g;
	v[3] = p[5] * v[3] + (1 - p[5]) * g * g;
	v[0] -= p[7] * (lr * v[2] / (sqrt(v[3]) + p[6]) + wd * v[0]);
})
RULE(ftml, {
	double g = limit(rescale * v[1] + wd * v[0], most);
	v[3] = p[5] * v[3] + (1 - p[5]) * g * g;
	double d = p[7] / lr * (sqrt(v[3] / p[8]) + p[6]);
	v[4] = p[4] * v[4] + (1 - p[4]) * g - (d - p[4] * v[2]) * v[0];
	v[2] = d;
	v[0] = -v[4] / d;
})
RULE(rmsprop, {
	double g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = p[4] * v[2] + (1 - p[4]) * g * g;
	v[0] = limit(v[0] - lr * g / sqrt(v[2] + p[6]), p[7]);
})
RULE(rmspropalex, {
	double g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = p[4] * v[2] + (1 - p[4]) * g * g;
	v[3] = p[4] * v[3] + (1 - p[4]) * g;
	v[4] = p[5] * v[4] - lr * g / sqrt(v[2] - v[3] * v[3] + p[6]);
	v[0] = limit(v[0] + v[4], p[7]);
})
RULE(ftrl, {
	double g = limit(rescale * v[1], most);
	v[2] += g - (sqrt(v[3] + g * g) - sqrt(v[3])) * v[0] / lr;
	v[3] += g * g;
	double z = v[2] < 0 ? -v[2] : v[2];
	v[0] = z <= p[4] ? 0 : (sign_of(v[2]) * p[4] - v[2]) / ((p[5] + sqrt(v[3])) / lr + wd);
})
RULE(adagrad, {
	double g = limit(rescale * v[1], most);
	v[2] += g * g;
	v[0] -= lr * (g / sqrt(v[2] + p[6]) + wd * v[0]);
})
RULE(signsgd, { v[0] = (1 - lr * wd) * v[0] - lr * sign_of(v[1]); })
RULE(signum, {
	double g = limit(rescale * v[1], most);
	v[2] = p[4] * v[2] - (1 - p[4]) * (wd * v[0] + g);
	v[0] = (1 - lr * p[5]) * v[0] + lr * sign_of(v[2]);
})
