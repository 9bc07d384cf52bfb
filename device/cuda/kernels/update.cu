// Steps of optimizers, element by element: v[0] is the weight, v[1] the gradient, the others
// states. They compute in the arithmetic type; factors that depend on the parameters alone are
// computed in double first. With mixed precision weight and gradient have the element type of the
// file, states and the exact weight, the last of them, are float32.

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

// Steps of many weights in one launch, name_many: each block treats a part of SPAN elements of one weight,
// weight i has the parts from first[i] on.
const int MANY = 32;
const Int SPAN = 2048;
struct One {
	T *out;
	const T *weight, *grad;
	Ptr state[STATES];
	Int n;
	double lr, wd, own; // own is p[7]
};
struct Steps {
	Int count, parts, states, mixed;
	double p[12];
	Ptr scale;
	Int scale_type;
	Ptr rates, decays;
	Int list_type, which; // index of the first weight in the arrays of rates
	Int first[MANY + 1];
	One one[MANY];
};

template <class E> __device__ inline E limit(E g, E most) { return most < 0 ? g : g < -most ? -most
	: g > most ? most : g; }
template <class E> __device__ inline E sign_of(E x) { return (E)((x > 0) - (x < 0)); }

// step_one computes element i of one weight; K is Step or One.
template <class K, class F> __device__ inline void step_one(const K &k, Int states, bool mixed,
	Int i, const double *p, double rescale, F rule) {
	A v[2 + STATES];
	v[0] = mixed ? (A)((float *)k.state[states])[i] : get(k.weight, i);
	v[1] = get(k.grad, i);
	for (Int s = 0; s < states; s++)
		v[2 + s] = mixed ? (A)((float *)k.state[s])[i] : get((T *)k.state[s], i);
	rule(v, p, (A)rescale);
	if (mixed) ((float *)k.state[states])[i] = (float)v[0];
	put(k.out, i, v[0]);
	for (Int s = 0; s < states; s++) {
		if (mixed) ((float *)k.state[s])[i] = (float)v[2 + s];
		else put((T *)k.state[s], i, v[2 + s]);
	}
}

// Idle leaves weights and states as they are, for gradients that are not finite.
struct Idle {
	__device__ void operator()(A *, const double *, A) const {}
};

template <class F> __device__ inline void step(const Step &k, F rule) {
	Int states = k.states - (k.mixed ? 1 : 0);
	double rescale = k.scale ? read(k.scale, k.scale_type, 0) : k.p[2];
	bool idle = k.scale && (rescale == 0 || !(rescale - rescale == 0));
	double p[12];
	for (int j = 0; j < 12; j++) p[j] = k.p[j];
	if (k.rates)
		p[0] = read(k.rates, k.list_type, k.which), p[1] = read(k.decays, k.list_type, k.which);
	EACH(i, k.n) {
		if (idle) step_one(k, states, k.mixed, i, p, rescale, Idle());
		else step_one(k, states, k.mixed, i, p, rescale, rule);
	}
}

template <class F> __device__ inline void steps(const Steps &k, F rule) {
	Int states = k.states - (k.mixed ? 1 : 0);
	double rescale = k.scale ? read(k.scale, k.scale_type, 0) : k.p[2];
	bool idle = k.scale && (rescale == 0 || !(rescale - rescale == 0));
	double p[12];
	for (int j = 0; j < 12; j++) p[j] = k.p[j];
	for (Int b = blockIdx.x; b < k.parts; b += gridDim.x) {
		int low = part_of(k.first, k.count, b);
		const One &one = k.one[low];
		p[0] = k.rates ? read(k.rates, k.list_type, k.which + low) : one.lr;
		p[1] = k.rates ? read(k.decays, k.list_type, k.which + low) : one.wd;
		p[7] = one.own;
		Int from = (b - k.first[low]) * SPAN, to = from + SPAN < one.n ? from + SPAN : one.n;
		for (Int i = from + threadIdx.x; i < to; i += blockDim.x) {
			if (idle) step_one(one, states, k.mixed, i, p, rescale, Idle());
			else step_one(one, states, k.mixed, i, p, rescale, rule);
		}
	}
}

// The first four parameters are learning rate, weight decay, factor of the gradient and its limit.
// P is a parameter, REST one minus it.
#define P(i) ((A)p[i])
#define REST(i) ((A)(1 - p[i]))
#define RULE(name, body) \
	struct Rule_##name { \
		__device__ void operator()(A *v, const double *p, A rescale) const { \
			const A lr = P(0), wd = P(1), most = P(3); \
			(void)lr, (void)wd, (void)rescale, (void)most; \
			body \
		} \
	}; \
	KERNEL(name, Step) { step(k, Rule_##name()); } \
	KERNEL(name##_many, Steps) { steps(k, Rule_##name()); }

RULE(sgd, { v[0] = (A)(1 - p[0] * p[1]) * v[0] - lr * limit(rescale * v[1], most); })
RULE(sgd_mom, {
	v[2] = P(4) * v[2] - (A)(p[0] * p[1]) * v[0] - lr * limit(rescale * v[1], most);
	v[0] += v[2];
})
RULE(nag_mom, {
	A g = limit(rescale * v[1], most) + wd * v[0];
	v[2] = P(4) * v[2] - lr * g;
	v[0] += P(4) * v[2] - lr * g;
})
RULE(adam, {
	A g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = P(4) * v[2] + REST(4) * g;
	v[3] = P(5) * v[3] + REST(5) * g * g;
	v[0] -= lr * v[2] / (gx_sqrt(v[3]) + P(6));
})
RULE(adamw, {
	A g = limit(rescale * v[1], most);
	v[2] = P(4) * v[2] + REST(4) * g;
	v[3] = P(5) * v[3] + REST(5) * g * g;
	v[0] -= P(7) * (lr * v[2] / (gx_sqrt(v[3]) + P(6)) + wd * v[0]);
})
RULE(ftml, {
	A g = limit(rescale * v[1] + wd * v[0], most);
	v[3] = P(5) * v[3] + REST(5) * g * g;
	A d = (A)(p[7] / p[0]) * (gx_sqrt(v[3] / P(8)) + P(6));
	v[4] = P(4) * v[4] + REST(4) * g - (d - P(4) * v[2]) * v[0];
	v[2] = d;
	v[0] = -v[4] / d;
})
RULE(rmsprop, {
	A g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = P(4) * v[2] + REST(4) * g * g;
	v[0] = limit(v[0] - lr * g / gx_sqrt(v[2] + P(6)), P(7));
})
RULE(rmspropalex, {
	A g = limit(rescale * v[1] + wd * v[0], most);
	v[2] = P(4) * v[2] + REST(4) * g * g;
	v[3] = P(4) * v[3] + REST(4) * g;
	v[4] = P(5) * v[4] - lr * g / gx_sqrt(v[2] - v[3] * v[3] + P(6));
	v[0] = limit(v[0] + v[4], P(7));
})
RULE(ftrl, {
	A g = limit(rescale * v[1], most);
	v[2] += g - (gx_sqrt(v[3] + g * g) - gx_sqrt(v[3])) * v[0] / lr;
	v[3] += g * g;
	A z = v[2] < 0 ? -v[2] : v[2];
	v[0] = z <= P(4) ? (A)0 : (sign_of(v[2]) * P(4) - v[2]) / ((P(5) + gx_sqrt(v[3])) / lr + wd);
})
RULE(adagrad, {
	A g = limit(rescale * v[1], most);
	v[2] += g * g;
	v[0] -= lr * (g / gx_sqrt(v[2] + P(6)) + wd * v[0]);
})
RULE(signsgd, { v[0] = (A)(1 - p[0] * p[1]) * v[0] - lr * sign_of(v[1]); })
RULE(signum, {
	A g = limit(rescale * v[1], most);
	v[2] = P(4) * v[2] - REST(4) * (wd * v[0] + g);
	v[0] = (A)(1 - p[0] * p[5]) * v[0] + lr * sign_of(v[2]);
})
