// The memory of the imitated devices. Device addresses are not host addresses: they lie in a
// protected region, so that a program that reads device memory from the host crashes here as on a
// GPU. A shadow map tells per eight bytes how many may be used, and on which device. The strict
// imitation fills fresh memory with a pattern, and keeps freed memory for a while: it is filled
// with another pattern, which nobody may change.

#pragma once
#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>

#include "strict.h"

namespace {

const int devices = 4; // most
// The devices that programs see: 2, or the number in the environment variable GX_FAKE_DEVICES.
const int visible = [] {
	const char *s = getenv("GX_FAKE_DEVICES");
	return s ? std::clamp(atoi(s), 1, devices) : 2;
}();
const size_t region = size_t(64) << 30, capacity = size_t(8) << 30;
const size_t kept_bytes = 128 << 20; // freed memory that is kept

const unsigned char freed_pattern = 0xDB, freed_shadow = 0xF0;

// The program's addresses begin at seen, the memory behind them at real.
char *seen, *real;
unsigned char *shadow; // by offset / 8: device << 4 | usable bytes; 0 unused

struct Held {
	size_t size, used; // of the block, and as asked for
	int device;
};
std::mutex memory_mu;
std::map<size_t, Held> blocks;   // by offset
std::map<size_t, size_t> holes;  // sizes by offset
std::deque<std::pair<size_t, Held>> kept;
size_t in_use, kept_now;

void open_memory() {
	static std::once_flag once;
	std::call_once(once, [] {
		const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
		seen = (char *)mmap(nullptr, region, PROT_NONE, flags, -1, 0);
		real = (char *)mmap(nullptr, region, PROT_READ | PROT_WRITE, flags, -1, 0);
		shadow = (unsigned char *)mmap(nullptr, region / 8, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (seen == MAP_FAILED || real == MAP_FAILED || shadow == MAP_FAILED) abort();
		holes[0] = region;
	});
}

bool is_device(uint64_t p) { return seen && p >= (uint64_t)seen && p < (uint64_t)seen + region; }

char *host(uint64_t p) { return real + (p - (uint64_t)seen); }

// block_of returns the block that p lies in. The caller holds memory_mu.
std::map<size_t, Held>::iterator block_of(uint64_t p) {
	size_t at = p - (uint64_t)seen;
	auto b = blocks.upper_bound(at);
	if (b == blocks.begin()) return blocks.end();
	--b;
	return at < b->first + b->second.size ? b : blocks.end();
}

// within reports whether the bytes from p on lie in one block; device gets its device.
bool within(uint64_t p, size_t bytes, int *device = nullptr) {
	if (!is_device(p)) return false;
	std::lock_guard<std::mutex> lock(memory_mu);
	auto b = block_of(p);
	if (b == blocks.end()) return false;
	if (device) *device = b->second.device;
	size_t at = p - (uint64_t)seen;
	return at + bytes <= b->first + (strict() ? b->second.used : b->second.size);
}

void shade(size_t at, size_t used, unsigned char device) {
	memset(shadow + at / 8, device << 4 | 8, used / 8);
	if (used % 8) shadow[(at + used) / 8] = device << 4 | used % 8;
}

CUresult take(CUdeviceptr *p, size_t bytes, int device) {
	open_memory();
	if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
	size_t size = (bytes + 511) & ~size_t(511);
	// An index that is too large shall not lead into another array.
	if (strict()) size += std::min(size, size_t(64) << 20);
	std::lock_guard<std::mutex> lock(memory_mu);
	if (in_use + bytes > capacity) return CUDA_ERROR_OUT_OF_MEMORY;
	for (auto h = holes.begin(); h != holes.end(); ++h)
		if (h->second >= size) {
			size_t at = h->first, left = h->second - size;
			holes.erase(h);
			if (left) holes[at + size] = left;
			blocks[at] = {size, bytes, device};
			in_use += bytes;
			shade(at, bytes, device);
			// A NaN of every type, a negative integer, or a huge one.
			if (strict()) memset(real + at, seed % 2 ? 0xFF : 0x7F, size);
			*p = (CUdeviceptr)(seen + at);
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

// release makes a hole of a freed block. The caller holds memory_mu.
void release(size_t at, size_t size) {
	memset(shadow + at / 8, 0, size / 8);
	if (size >= (1 << 20)) madvise(real + at, size, MADV_DONTNEED);
	auto next = holes.lower_bound(at);
	if (next != holes.end() && next->first == at + size) {
		size += next->second;
		next = holes.erase(next);
	}
	if (next != holes.begin()) {
		auto before = std::prev(next);
		if (before->first + before->second == at) {
			before->second += size;
			return;
		}
	}
	holes[at] = size;
}

// check_kept reports writes to a freed block. The caller holds memory_mu.
void check_kept(size_t at, const Held &b) {
	for (size_t i = 0; i < b.size; i++)
		if ((unsigned char)real[at + i] != freed_pattern) {
			report("memory was written after it was freed: byte %zu of a block of %zu bytes of "
				"device %d", i, b.used, b.device);
			return;
		}
}

CUresult give(CUdeviceptr p) {
	size_t at = (char *)p - seen;
	std::lock_guard<std::mutex> lock(memory_mu);
	auto found = blocks.find(at);
	if (found == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
	Held b = found->second;
	blocks.erase(found);
	in_use -= b.used;
	if (!strict()) {
		release(at, b.size);
		return CUDA_SUCCESS;
	}
	memset(real + at, freed_pattern, b.size);
	memset(shadow + at / 8, freed_shadow, b.size / 8);
	kept.push_back({at, b}), kept_now += b.size;
	while (kept_now > kept_bytes) {
		auto oldest = kept.front();
		kept.pop_front();
		check_kept(oldest.first, oldest.second);
		kept_now -= oldest.second.size;
		release(oldest.first, oldest.second.size);
	}
	return CUDA_SUCCESS;
}

} // namespace
