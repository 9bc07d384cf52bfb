// Decoded images; element types are known at run time.

struct Pixels {
	Any out, in;
	Int n, channels, plane;
};
KERNEL(pixels_first, Pixels) { /* in: channels last, 0 to 255; out: channels first, 0 to 1 */
	EACH(i, k.n) k.out.set((i / (k.plane * k.channels) * k.channels + i % k.channels) * k.plane +
		i / k.channels % k.plane, k.in[i] / 255);
}
KERNEL(pixels_last, Pixels) {
	EACH(i, k.n) k.out.set(i, k.in[(i / (k.plane * k.channels) * k.channels + i % k.channels) *
		k.plane + i / k.channels % k.plane] / 255);
}

struct Scale {
	Any out, in;
	Int n, channels, plane;
	double shift[4], divide[4];
};
KERNEL(scale, Scale) {
	EACH(i, k.n) {
		Int c = i / k.plane % k.channels;
		k.out.set(i, (k.in[i] - k.shift[c]) / k.divide[c]);
	}
}

// Colors of images, channels last: one step of a change. The result is rounded to the type of the
// output, bytes within their limits.
struct Colors {
	Any out, in;
	float *mean; // the mean grey value
	Int pixels, channels, kind;
	double factor[3];
};
enum { BRIGHTNESS, CONTRAST, SATURATION, HUE, LIGHTING };

__device__ inline void put_color(const Any &out, Int i, float v) {
	if (out.type == U8) v = v < 0 ? 0 : v > 255 ? 255 : v;
	out.set(i, (double)v);
}
KERNEL(mean_grey, Colors) { /* one block */
	float sum = 0;
	for (Int i = threadIdx.x; i < k.pixels; i += blockDim.x) {
		if (k.channels == 1) sum += (float)k.in[i];
		else
			sum += (float)k.in[3 * i] * 0.299f + (float)k.in[3 * i + 1] * 0.587f +
				(float)k.in[3 * i + 2] * 0.114f;
	}
	sum = together<Add>(sum);
	if (threadIdx.x == 0) *k.mean = sum / (float)k.pixels;
}

// Turns the hue of a pixel by degrees, in the space of hue, lightness and saturation.
__device__ inline void turn(float *p, float degrees) {
	float r = p[0] / 255, g = p[1] / 255, b = p[2] / 255,
		  most = r > g ? r : g, least = r < g ? r : g, h = 0, s = 0;
	if (b > most) most = b;
	if (b < least) least = b;
	float diff = most - least, l = (most + least) * 0.5f;
	if (diff > 1.1920928955078125e-7f) {
		s = (l < 0.5f ? diff : 0.0f) / (most + least) +
			(l >= 0.5f ? diff : 0.0f) / (2 - most - least);
		diff = 60 / diff;
		h = most == r ? (g - b) * diff : most == g ? (b - r) * diff + 120 : (r - g) * diff + 240;
		if (h < 0) h += 360;
	}
	h = (h + degrees) * (1.0f / 60);
	if (s == 0) {
		p[0] = p[1] = p[2] = l * 255;
		return;
	}
	float high = l <= 0.5f ? l * (1 + s) : l + s - l * s, low = 2 * l - high;
	h = (float)fmod((double)h, 6.0);
	if (h < 0) h += 6;
	int sector = h < 6 ? (int)h : 0;
	h -= (float)sector;
	float up = low + (high - low) * h, down = low + (high - low) * (1 - h);
	p[0] = sector == 0 || sector == 5 ? high : sector == 1 ? down : sector == 4 ? up : low;
	p[1] = sector == 1 || sector == 2 ? high : sector == 3 ? down : sector == 0 ? up : low;
	p[2] = sector == 3 || sector == 4 ? high : sector == 5 ? down : sector == 2 ? up : low;
	for (int c = 0; c < 3; c++) p[c] *= 255;
}
KERNEL(colors, Colors) {
	float alpha = (float)k.factor[0], add = 0;
	if (k.kind == CONTRAST) add = (1 - alpha) * *k.mean;
	EACH(i, k.pixels) {
		float p[3];
		int n = (int)k.channels;
		for (int c = 0; c < n; c++) p[c] = (float)k.in[i * n + c];
		if (k.kind == SATURATION && n == 3) add = p[2] * 0.114f * (1 - alpha);
		if (k.kind == HUE && n == 3) turn(p, alpha * 360);
		for (int c = 0; c < n; c++) {
			float v = p[c];
			if (k.kind == BRIGHTNESS || k.kind == CONTRAST || (k.kind == SATURATION && n == 3))
				v = v * alpha + add;
			if (k.kind == LIGHTING && n == 3) v += (float)k.factor[c];
			put_color(k.out, i * n + c, v);
		}
	}
}

// Images at another size, channels last: the nearest pixel, or interpolation between four.
struct Resized {
	Any out, in;
	Int images, h, w, oh, ow, channels, linear;
};
struct Tap {
	Int lo, hi;
	float f;
};
__device__ inline Tap tap(Int i, Int n, Int m, Int linear, bool across) {
	double scale = 1 / ((double)m / (double)n);
	if (!linear) {
		Int at = (Int)((double)i * scale);
		at = at < n ? at : n - 1;
		return Tap{at, at, 0};
	}
	float f = (float)(((double)i + 0.5) * scale - 0.5);
	Int at = (Int)floorf(f);
	f -= (float)at;
	if (across && (at < 0 || at >= n - 1)) at = at < 0 ? 0 : n - 1, f = 0;
	Int lo = at < 0 ? 0 : at < n ? at : n - 1, hi = at + 1 < 0 ? 0 : at + 1 < n ? at + 1 : n - 1;
	return Tap{lo, hi, f};
}
KERNEL(resized, Resized) {
	// A picture of half the size is the mean of four pixels.
	bool half = k.linear && k.w == 2 * k.ow && k.h == 2 * k.oh;
	EACH(i, k.images * k.oh * k.ow * k.channels) {
		Int c = i % k.channels, col = i / k.channels % k.ow, row = i / k.channels / k.ow % k.oh,
			first = i / k.channels / k.ow / k.oh * k.h * k.w;
		Tap y = tap(row, k.h, k.oh, k.linear, false), x = tap(col, k.w, k.ow, k.linear, true);
		if (half) y = Tap{2 * row, 2 * row + 1, 0.5f}, x = Tap{2 * col, 2 * col + 1, 0.5f};
		float v[4];
		for (int e = 0; e < 4; e++)
			v[e] = (float)k.in[(first + (e / 2 ? y.hi : y.lo) * k.w + (e % 2 ? x.hi : x.lo)) *
				k.channels + c];
		if (!k.linear) {
			k.out.set(i, (double)v[0]);
		} else if (k.in.type != U8) {
			float above = v[0] * (1 - x.f) + v[1] * x.f, below = v[2] * (1 - x.f) + v[3] * x.f;
			k.out.set(i, (double)(above * (1 - y.f) + below * y.f));
		} else if (half) {
			k.out.set_integer(i, ((Int)v[0] + (Int)v[1] + (Int)v[2] + (Int)v[3] + 2) >> 2);
		} else {
			Int right = (Int)rintf(x.f * 2048), left = (Int)rintf((1 - x.f) * 2048),
				down = (Int)rintf(y.f * 2048), up = (Int)rintf((1 - y.f) * 2048),
				above = (left * (Int)v[0] + right * (Int)v[1]) >> 4,
				below = (left * (Int)v[2] + right * (Int)v[3]) >> 4;
			k.out.set_integer(i, (((up * above) >> 16) + ((down * below) >> 16) + 2) >> 2);
		}
	}
}
