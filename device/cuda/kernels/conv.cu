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

// Deformable convolutions, image by image: window elements whose places offsets move, in groups of
// channels.
struct Deform {
	T *out;                              // the matrix, or a gradient
	const T *data, *offset, *mask, *cols; // mask may be missing
	T *dmask;
	Int *at;          // per window element, position and corner of a group: the element, -1 outside
	const Int *order; // of at
	Int channels, groups, h, w, oh, ow;
	Int kernel[2], stride[2], dilate[2], pad[2];
	Int group; // of the kernels that compute one
};
struct Reading {
	Int at[4];
	A fy, fx, factor;
	bool inside;
};
// The interpolation of window element and position i of a group.
__device__ inline Reading reading(const Deform &k, Int group, Int i) {
	Int area = k.oh * k.ow, taps = k.kernel[0] * k.kernel[1], tap = i / area, pos = i % area;
	const T *o = k.offset + 2 * (group * taps + tap) * area + pos;
	A y = (A)(pos / k.ow * k.stride[0] + tap / k.kernel[1] * k.dilate[0] - k.pad[0]) + get(o, 0),
	  x = (A)(pos % k.ow * k.stride[1] + tap % k.kernel[1] * k.dilate[1] - k.pad[1]) +
		get(o, area),
	  low = k.mask ? (A)-1 : (A)0;
	Reading r;
	r.factor = k.mask ? get(k.mask, (group * taps + tap) * area + pos) : (A)1;
	r.inside = y >= low && x >= low && y < (A)k.h && x < (A)k.w && !(k.mask && (y == low || x == low));
	A fy = r.inside ? gx_floor(y) : (A)0, fx = r.inside ? gx_floor(x) : (A)0;
	Int top = (Int)fy, left = (Int)fx;
	r.fy = y - fy, r.fx = x - fx;
	for (int c = 0; c < 4; c++) {
		Int row = top + c / 2, col = left + c % 2;
		if (!k.mask) row = row < k.h ? row : k.h - 1, col = col < k.w ? col : k.w - 1;
		r.at[c] = !r.inside || row < 0 || row >= k.h || col < 0 || col >= k.w ? -1
			: row * k.w + col;
	}
	return r;
}
__device__ inline A corner_weight(const Reading &r, int c) {
	return (c / 2 ? r.fy : (A)1 - r.fy) * (c % 2 ? r.fx : (A)1 - r.fx);
}
KERNEL(deform_columns, Deform) {
	Int reads = k.oh * k.ow * k.kernel[0] * k.kernel[1];
	EACH(i, k.channels * reads) {
		Int c = i / reads;
		Reading r = reading(k, c / (k.channels / k.groups), i % reads);
		const T *x = k.data + c * k.h * k.w;
		A sum = 0;
		for (int e = 0; e < 4; e++)
			if (r.at[e] >= 0) sum += corner_weight(r, e) * get(x, r.at[e]);
		put(k.out, i, r.inside ? r.factor * sum : (A)0);
	}
}
KERNEL(deform_corners, Deform) { /* of one group */
	EACH(i, k.oh * k.ow * k.kernel[0] * k.kernel[1]) {
		Reading r = reading(k, k.group, i);
		for (int e = 0; e < 4; e++) k.at[4 * i + e] = r.at[e];
	}
}
// The gradient of the data of one group, from the corners in order of their elements: one thread
// adds up the reads of an element.
KERNEL(deform_data, Deform) {
	Int reads = k.oh * k.ow * k.kernel[0] * k.kernel[1], count = 4 * reads, n = k.channels / k.groups;
	EACH(t, count * n) {
		Int s = t % count, c = k.group * n + t / count, at = k.at[k.order[s]];
		if (at < 0 || (s > 0 && k.at[k.order[s - 1]] == at)) continue;
		A sum = 0;
		for (; s < count && k.at[k.order[s]] == at; s++) {
			Int i = k.order[s] / 4;
			Reading r = reading(k, k.group, i);
			sum += get(k.cols, c * reads + i) * r.factor * corner_weight(r, (int)(k.order[s] % 4));
		}
		put(k.out, c * k.h * k.w + at, sum);
	}
}
KERNEL(deform_offsets, Deform) { /* out and dmask: gradients of offsets and mask, either missing */
	Int area = k.oh * k.ow, taps = k.kernel[0] * k.kernel[1], reads = area * taps,
		n = k.channels / k.groups;
	EACH(i, k.groups * reads) {
		Int group = i / reads, tap = i % reads / area, pos = i % area;
		Reading r = reading(k, group, i % reads);
		A dy = 0, dx = 0, dm = 0;
		for (Int c = group * n; r.inside && c < (group + 1) * n; c++) {
			const T *x = k.data + c * k.h * k.w;
			A g = get(k.cols, c * reads + i % reads), v[4];
			for (int e = 0; e < 4; e++) {
				v[e] = r.at[e] >= 0 ? get(x, r.at[e]) : (A)0;
				dm += g * corner_weight(r, e) * v[e];
			}
			dy += g * r.factor * (((A)1 - r.fx) * (v[2] - v[0]) + r.fx * (v[3] - v[1]));
			dx += g * r.factor * (((A)1 - r.fy) * (v[1] - v[0]) + r.fy * (v[3] - v[2]));
		}
		if (k.out) {
			put(k.out, 2 * (group * taps + tap) * area + pos, dy);
			put(k.out, (2 * (group * taps + tap) + 1) * area + pos, dx);
		}
		if (k.dmask) put(k.dmask, i, dm);
	}
}
