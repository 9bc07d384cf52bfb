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
