// Kernels of the imitated driver: modules and their launches.

#pragma once
#include <elf.h>

#include "ptxrun.h"
#include "streams.h"

// host.h has the same structs.
struct gx_host_site {
	const char *real;
	size_t region;
	const unsigned char *shadow;
	void (*report)(const char *format, ...);
};
struct gx_host_run {
	void (*fn)(const void *);
	const void *args;
	size_t bytes;
	const char *name;
	unsigned grid[3], block[3];
	int device;
	bool strict;
	uint64_t seed;
};

namespace {

struct Module {
	void *lib;
	void (*launch)(const gx_host_run *);
	std::shared_ptr<ptx::Program> program; // instead of lib: PTX of the real compiler
};

struct Function {
	Module *module;
	void (*entry)(const void *);
	size_t args;
	std::string name;
	const ptx::Function *code = nullptr;
};

// elf_size returns the size in bytes of a shared library in memory.
size_t elf_size(const void *image) {
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG)) return 0;
	return h->e_shoff + size_t(h->e_shnum) * h->e_shentsize;
}

const size_t compared = 32 << 20; // largest memory in bytes of a launch that runs twice

// A piece is a block of memory that a kernel may use, and its contents.
struct Piece {
	char *at;
	std::string before, after;
};

// pieces_of lists the blocks that the fields of a parameter point into. It reports addresses of
// freed memory and of other devices.
std::vector<Piece> pieces_of(const gx_host_run &r, const std::vector<uint64_t> &args) {
	std::vector<Piece> list;
	std::lock_guard<std::mutex> lock(memory_mu);
	for (uint64_t v : args) {
		if (!is_device(v)) continue;
		auto b = block_of(v);
		if (b == blocks.end()) {
			if (shadow[(v - (uint64_t)seen) / 8] == freed_shadow)
				report("%s: a parameter points to memory that has been freed", r.name);
			continue; // the end of an array, or a number
		}
		bool old = false;
		for (auto &p : list) old = old || p.at == real + b->first;
		if (!old) list.push_back({real + b->first, std::string(real + b->first, b->second.used), ""});
	}
	return list;
}

// run_strictly runs a launch twice, in two orders of threads and blocks, and reports if the results
// differ.
void run_strictly(const Function *f, gx_host_run r, const std::vector<uint64_t> &args) {
	uint64_t draw = Random{seed + executor().random.state}.next();
	uint64_t orders[2] = {1, draw | 2};
	if (draw % 3 == 0) orders[0] = 0;
	std::vector<Piece> pieces = pieces_of(r, args);
	size_t total = 0;
	for (auto &p : pieces) total += p.before.size();
	r.seed = orders[1];
	f->module->launch(&r);
	if (total > compared) return;
	bool twice = false;
	for (auto &p : pieces) {
		twice = twice || memcmp(p.at, p.before.data(), p.before.size());
		p.after.assign(p.at, p.before.size());
	}
	if (!twice) return;
	for (auto &p : pieces) memcpy(p.at, p.before.data(), p.before.size());
	r.seed = orders[0];
	f->module->launch(&r);
	for (auto &p : pieces)
		if (memcmp(p.at, p.after.data(), p.after.size())) {
			size_t i = 0;
			while (p.at[i] == p.after[i]) i++;
			report("%s: the result depends on the order of threads, first in byte %zu of a block of "
				"%zu bytes (grid %u, block %u)", r.name, i, p.after.size(), r.grid[0], r.block[0]);
			return;
		}
}

// run_kernel runs a launch whose parameter has device addresses.
void run_kernel(const Function *f, gx_host_run r, const std::vector<uint64_t> &args) {
	if (f->code) {
		ptx::Launch l = {f->module->program.get(), f->code, args.data(), {}, {}, r.device, seed};
		memcpy(l.grid, r.grid, sizeof l.grid), memcpy(l.block, r.block, sizeof l.block);
		ptx::interpret(l);
		return;
	}
	std::vector<uint64_t> own = args;
	for (auto &v : own)
		if (is_device(v)) v = (uint64_t)host(v);
	r.fn = f->entry, r.args = own.data(), r.bytes = f->args, r.name = f->name.c_str();
	r.strict = strict(), r.seed = 0;
	if (r.strict) run_strictly(f, r, args);
	else f->module->launch(&r);
}

} // namespace
