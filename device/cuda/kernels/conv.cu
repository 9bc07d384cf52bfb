// Windows that slide over up to three axes: the matrix of a convolution's data for a product, and
// back; bias; and depthwise layers computed without the matrix.

struct Window {
	T *out;
	const T *in;
	Int batch, channels;                           // channels of this group, from the pointers on
	// Elements from one image of the data to the next
	Int image;
	Int in_[3], out_[3], kernel[3], stride[3], dilate[3], pad[3];
	Int columns; // elements from one row of the matrix to the next
};

// The matrix has a row per channel and element of the window, and a column per image and position:
// element (c, k; b, o).
KERNEL(im2col, Window) {
	Int taps = k.kernel[0] * k.kernel[1] * k.kernel[2], spots = k.out_[0] * k.out_[1] * k.out_[2];
	EACH(i, k.channels * taps * k.batch * spots) {
		Int o = i % spots, b = i / spots % k.batch, row = i / spots / k.batch, t = row % taps,
			c = row / taps;
		Int z = o / (k.out_[2] * k.out_[1]) * k.stride[0] - k.pad[0] +
			t / (k.kernel[2] * k.kernel[1]) * k.dilate[0];
		Int y = o / k.out_[2] % k.out_[1] * k.stride[1] - k.pad[1] +
			t / k.kernel[2] % k.kernel[1] * k.dilate[1];
		Int x = o % k.out_[2] * k.stride[2] - k.pad[2] + t % k.kernel[2] * k.dilate[2];
		A v = 0;
		if (z >= 0 && z < k.in_[0] && y >= 0 && y < k.in_[1] && x >= 0 && x < k.in_[2])
			v = get(k.in, b * k.image + ((c * k.in_[0] + z) * k.in_[1] + y) * k.in_[2] + x);
		put(k.out, row * k.columns + b * spots + o, v);
	}
}

// The sum of all elements of the matrix that read one element of the data: each thread writes its
// own element.
KERNEL(col2im, Window) {
	Int spots = k.out_[0] * k.out_[1] * k.out_[2], size = k.in_[0] * k.in_[1] * k.in_[2];
	EACH(i, k.batch * k.channels * size) {
		Int at = i % size, c = i / size % k.channels, b = i / size / k.channels;
		Int z = at / (k.in_[2] * k.in_[1]), y = at / k.in_[2] % k.in_[1], x = at % k.in_[2];
		A sum = 0;
		for (Int kz = 0; kz < k.kernel[0]; kz++) {
			Int oz = z + k.pad[0] - kz * k.dilate[0];
			if (oz < 0 || oz % k.stride[0] || (oz /= k.stride[0]) >= k.out_[0]) continue;
			for (Int ky = 0; ky < k.kernel[1]; ky++) {
				Int oy = y + k.pad[1] - ky * k.dilate[1];
				if (oy < 0 || oy % k.stride[1] || (oy /= k.stride[1]) >= k.out_[1]) continue;
				for (Int kx = 0; kx < k.kernel[2]; kx++) {
					Int ox = x + k.pad[2] - kx * k.dilate[2];
					if (ox < 0 || ox % k.stride[2] || (ox /= k.stride[2]) >= k.out_[2]) continue;
					Int row = ((c * k.kernel[0] + kz) * k.kernel[1] + ky) * k.kernel[2] + kx;
					sum += get(k.in, row * k.columns + b * spots +
						(oz * k.out_[1] + oy) * k.out_[2] + ox);
				}
			}
		}
		put(k.out, b * k.image + c * size + at, sum);
	}
}

// Conversion between [channels][batch][size], the layout of products, and [batch][channels][size]
// with a bias per channel.
struct Channels {
	T *out;
	const T *in, *bias;
	Int batch, channels, size, image; // image: elements from one image of the array to the next
};
KERNEL(gather, Channels) { /* out: [channels][batch][size] */
	EACH(i, k.batch * k.channels * k.size) {
		Int s = i % k.size, b = i / k.size % k.batch, c = i / k.size / k.batch;
		put(k.out, i, get(k.in, b * k.image + c * k.size + s));
	}
}
KERNEL(scatter, Channels) { /* in: [channels][batch][size] */
	EACH(i, k.batch * k.channels * k.size) {
		Int s = i % k.size, c = i / k.size % k.channels, b = i / k.size / k.channels;
		A v = get(k.in, (c * k.batch + b) * k.size + s);
		if (k.bias) v += get(k.bias, c);
		put(k.out, b * k.image + c * k.size + s, v);
	}
}
KERNEL(bias, Channels) { /* out += bias, [batch][channels][size] */
	EACH(i, k.batch * k.channels * k.size) put(k.out, i,
		get(k.out, i) + get(k.bias, i / k.size % k.channels));
}
