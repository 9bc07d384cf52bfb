// Shared parts of the imitated libraries: numbers of four types, work on a stream, and the host
// address of a device address.

#pragma once
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define OF_THE_LIBRARY __attribute__((visibility("hidden"))) inline

OF_THE_LIBRARY void (*put)(void *, void (*)(const void *), const void *, size_t);
OF_THE_LIBRARY void *(*host)(void *);

OF_THE_LIBRARY int (*recording)(void);

// open_driver finds the imitated driver in this process.
OF_THE_LIBRARY bool open_driver() {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) return false;
	put = (void (*)(void *, void (*)(const void *), const void *, size_t))dlsym(driver,
		"gx_fake_put");
	host = (void *(*)(void *))dlsym(driver, "gx_fake_host");
	recording = (int (*)(void))dlsym(driver, "gx_fake_recording");
	return put && host && recording;
}

namespace {

float half_to_float(uint16_t h) {
	int exp = h >> 10 & 31, frac = h & 1023;
	float v = exp == 31 ? (frac ? NAN : INFINITY) : exp ? ldexpf(1024 + frac, exp - 25)
		: ldexpf(frac, -24);
	return h & 0x8000 ? -v : v;
}
uint16_t float_to_half(float f) {
	uint32_t b;
	memcpy(&b, &f, 4);
	uint32_t sign = b >> 16 & 0x8000, abs = b & 0x7fffffff;
	if (abs > 0x7f800000) return sign | 0x7e00;
	if (abs >= 0x47800000) return sign | 0x7c00;
	float mag;
	memcpy(&mag, &abs, 4);
	if (abs < 0x38800000) return sign | (uint16_t)rintf(mag * 16777216.0f);
	abs += 0xfff + (abs >> 13 & 1);
	return sign | (abs - 0x38000000) >> 13;
}

double load(const void *p, int type, long long i) {
	switch (type) {
	case 0: return ((const float *)p)[i];
	case 1: return ((const double *)p)[i];
	case 2: return half_to_float(((const uint16_t *)p)[i]);
	}
	uint32_t b = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;
	memcpy(&f, &b, 4);
	return f;
}

void store(void *p, int type, long long i, double v) {
	switch (type) {
	case 0: ((float *)p)[i] = (float)v; return;
	case 1: ((double *)p)[i] = v; return;
	case 2: ((uint16_t *)p)[i] = float_to_half((float)v); return;
	}
	float f = (float)v;
	uint32_t b;
	memcpy(&b, &f, 4);
	((uint16_t *)p)[i] = (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

} // namespace
