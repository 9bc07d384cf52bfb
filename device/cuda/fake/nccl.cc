// An imitated NCCL for the imitated driver (driver.cc): libnccl.so.2 for tests, with the functions
// of which package device/cuda/nccl makes use. Communicators belong to one process and one thread
// uses them, so every operation must be part of a group that has it for all devices: elsewhere the
// real library waits for ever, and this one reports it and returns an error.
//
// An operation runs on the stream that its device gives, and orders nothing else. A device reads
// its operand when its stream has come there, and writes its result when all devices with a part
// in the result have come there. Sums are made by pairs, (0 + 1) + (2 + 3), and rounded to the
// element type after each addition.

#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <vector>

#include "library.h"

namespace {

enum { success = 0, unhandled = 1, internal = 3, invalid_argument = 4, invalid_usage = 5 };
enum { sum_all, sum_to_root, spread };

// The functions of the imitated driver.
struct Driver {
	int (*count)(const char *);
	int (*device)(void *);
	int (*visible)();
	int (*holds)(int, void *, size_t);
	int (*opens)(int, int);
	void *(*mark)(void *);
	void (*wait)(void *, void *);
	void (*forget)(void *);
	void (*report)(const char *);
} driver;

template <class F> void find(void *lib, const char *name, F &f) { f = (F)dlsym(lib, name); }

bool open_all() {
	if (!open_driver()) return false;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	find(lib, "gx_fake_count", driver.count), find(lib, "gx_fake_device", driver.device);
	find(lib, "gx_fake_visible", driver.visible), find(lib, "gx_fake_holds", driver.holds);
	find(lib, "gx_fake_opens", driver.opens), find(lib, "gx_fake_mark", driver.mark);
	find(lib, "gx_fake_wait", driver.wait), find(lib, "gx_fake_forget", driver.forget);
	find(lib, "gx_fake_report", driver.report);
	return driver.report != nullptr;
}

// A clique is the communicators that one call has made.
struct Clique {
	int n;
	std::atomic<int> left; // communicators that are not destroyed
};
struct Comm {
	Clique *clique;
	int rank, device;
};

// Call is one operation of one device.
struct Call {
	Comm *comm;
	int kind, type, root;
	size_t n;
	const void *from;
	void *to;
	void *stream;
	bool reads() const { return kind != spread || comm->rank == root; }
	bool writes() const { return kind != sum_to_root || comm->rank == root; }
};

thread_local int depth = 0;
thread_local std::vector<Call> group;
thread_local int failed = 0;
thread_local char last[256] = "";

// fail keeps the text for ncclGetLastError.
int fail(int code, const char *text) {
	snprintf(last, sizeof last, "%s", text);
	return code;
}

// The types: the size of an element, and its number in library.h, -1 for integers.
int size_of(int type) {
	const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
	return type >= 0 && type < 10 ? sizes[type] : 0;
}
int number_of(int type) {
	switch (type) {
	case 6: return 2;
	case 7: return 0;
	case 8: return 1;
	case 9: return 14;
	}
	return -1;
}

// Joint is the memory that the devices of one operation share; the last one releases it.
struct Joint {
	std::atomic<int> users;
	int n, type;
	size_t count;
	std::vector<std::vector<char>> parts; // the operands, by rank
	void leave() {
		if (--users == 0) delete this;
	}
};

// Step is work of one device on its stream.
struct Step {
	Joint *joint;
	int kind, rank, root;
	const void *from;
	void *to;
};

void take_operand(const void *arg) {
	const Step &s = *(const Step *)arg;
	std::vector<char> &part = s.joint->parts[s.rank];
	memcpy(part.data(), host((void *)s.from), part.size());
	s.joint->leave();
}

template <class T> void add(char *a, const char *b, size_t n) {
	for (size_t i = 0; i < n; i++) ((T *)a)[i] += ((const T *)b)[i];
}

void add_part(std::vector<char> &a, const std::vector<char> &b, int type, size_t n) {
	switch (type) {
	case 0: return add<int8_t>(a.data(), b.data(), n);
	case 1: return add<uint8_t>(a.data(), b.data(), n);
	case 2: return add<int32_t>(a.data(), b.data(), n);
	case 3: return add<uint32_t>(a.data(), b.data(), n);
	case 4: return add<int64_t>(a.data(), b.data(), n);
	case 5: return add<uint64_t>(a.data(), b.data(), n);
	}
	int t = number_of(type);
	for (size_t i = 0; i < n; i++)
		store(a.data(), t, i, load(a.data(), t, i) + load(b.data(), t, i));
}

void put_result(const void *arg) {
	const Step &s = *(const Step *)arg;
	Joint &j = *s.joint;
	std::vector<char> result;
	if (s.kind == spread) {
		result = j.parts[s.root];
	} else {
		std::vector<std::vector<char>> list = j.parts;
		for (int step = 1; step < j.n; step *= 2)
			for (int i = 0; i + step < j.n; i += 2 * step)
				add_part(list[i], list[i + step], j.type, j.count);
		result = std::move(list[0]);
	}
	memcpy(host(s.to), result.data(), result.size());
	j.leave();
}

// check returns an error unless the call may be made.
int check(const Call &c) {
	int size = size_of(c.type);
	if (!size || c.root < 0 || c.root >= c.comm->clique->n)
		return fail(invalid_argument, "element type or root out of range");
	if (driver.device(c.stream) != c.comm->device)
		return fail(unhandled, "invalid resource handle: a stream of another device");
	if (c.n == 0) return success;
	if (c.reads() && !driver.holds(c.comm->device, (void *)c.from, c.n * size))
		return fail(invalid_argument, "sendbuff is not memory of the communicator's device");
	if (c.writes() && !driver.holds(c.comm->device, c.to, c.n * size))
		return fail(invalid_argument, "recvbuff is not memory of the communicator's device");
	const char *from = (const char *)c.from, *to = (const char *)c.to;
	if (c.reads() && c.writes() && from != to && from < to + c.n * size && to < from + c.n * size)
		return fail(invalid_argument, "sendbuff and recvbuff overlap");
	return success;
}

// start puts one operation of all devices on their streams.
void start(const std::vector<Call> &calls) {
	const Call &first = calls[0];
	size_t n = first.n * size_of(first.type);
	if (n == 0) return;
	Joint *j = new Joint;
	j->n = calls.size(), j->type = first.type, j->count = first.n;
	j->users = 1;
	j->parts.resize(calls.size());
	std::vector<void *> marks(calls.size());
	for (const Call &c : calls) {
		if (!c.reads()) continue;
		j->parts[c.comm->rank].resize(n);
		j->users++;
		Step s = {j, c.kind, c.comm->rank, c.root, c.from, c.to};
		put(c.stream, take_operand, &s, sizeof s);
	}
	for (const Call &c : calls) marks[c.comm->rank] = driver.mark(c.stream);
	for (const Call &c : calls) {
		if (!c.writes()) continue;
		for (const Call &other : calls)
			if (other.reads()) driver.wait(c.stream, marks[other.comm->rank]);
		j->users++;
		Step s = {j, c.kind, c.comm->rank, c.root, c.from, c.to};
		put(c.stream, put_result, &s, sizeof s);
	}
	for (void *m : marks) driver.forget(m);
	j->leave();
}

// fault returns the error of a call, success if it may be made.
int fault(const char *name, const Call &c) {
	if (int code = driver.count(name)) return fail(code, "a call that shall fail");
	if (!c.comm) return fail(invalid_argument, "comm is NULL");
	if (recording()) return fail(invalid_usage, "a stream captures");
	if (!depth && c.comm->clique->n > 1) {
		driver.report("NCCL: an operation of several devices outside of a group waits for ever");
		return fail(invalid_usage, "outside of a group");
	}
	return check(c);
}

// enter notes a call for the end of the group, which returns the error of a call too.
int enter(const char *name, const Call &c) {
	int code = fault(name, c);
	if (code && depth) failed = code;
	if (code) return code;
	if (depth)
		group.push_back(c);
	else
		start({c});
	return success;
}

// finish starts the calls of a group: the k-th calls of all communicators of a clique are one
// operation.
int finish() {
	std::vector<Call> calls = std::move(group);
	group.clear();
	while (!calls.empty()) {
		Clique *clique = calls[0].comm->clique;
		std::vector<Call> one(clique->n), rest;
		std::vector<bool> has(clique->n);
		int found = 0;
		for (const Call &c : calls) {
			if (c.comm->clique != clique || has[c.comm->rank]) {
				rest.push_back(c);
				continue;
			}
			has[c.comm->rank] = true, one[c.comm->rank] = c, found++;
		}
		if (found < clique->n) {
			driver.report("NCCL: an operation of some devices only waits for ever");
			return fail(invalid_usage, "a device is missing");
		}
		for (const Call &c : one) {
			if (c.kind != one[0].kind || c.n != one[0].n || c.type != one[0].type ||
				c.root != one[0].root)
				return fail(invalid_argument,
					"the devices disagree about operation, count, type or root");
			for (const Call &d : one)
				if (!driver.opens(c.comm->device, d.comm->device))
					return fail(unhandled, "a memory pool is not open to a peer");
		}
		start(one);
		calls = std::move(rest);
	}
	return success;
}

} // namespace

extern "C" {

int ncclGetVersion(int *v) {
	*v = 22304;
	return success;
}
const char *ncclGetErrorString(int code) {
	switch (code) {
	case success: return "no error";
	case unhandled: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
	case internal: return "internal error - please report this issue to the NCCL developers";
	case invalid_argument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
	case invalid_usage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
	}
	return "unknown result code";
}
const char *ncclGetLastError(void *) { return last; }

int ncclCommInitAll(void **comms, int n, const int *devices) {
	if (!open_all()) return unhandled;
	if (int code = driver.count("ncclCommInitAll")) return fail(code, "a call that shall fail");
	if (!comms || n < 1) return fail(invalid_argument, "no communicators");
	if (recording()) return fail(invalid_usage, "a stream captures");
	for (int i = 0; i < n; i++) {
		int d = devices ? devices[i] : i;
		if (d < 0 || d >= driver.visible()) return fail(unhandled, "invalid device ordinal");
		for (int k = 0; k < i; k++)
			if (devices && devices[k] == d) return fail(invalid_usage, "Duplicate GPU detected");
	}
	Clique *c = new Clique;
	c->n = n, c->left = n;
	for (int i = 0; i < n; i++) comms[i] = new Comm{c, i, devices ? devices[i] : i};
	return success;
}
int ncclCommDestroy(void *comm) {
	Comm *c = (Comm *)comm;
	if (!c) return success;
	if (--c->clique->left == 0) delete c->clique;
	delete c;
	return success;
}

int ncclGroupStart() {
	depth++;
	return success;
}
int ncclGroupEnd() {
	if (depth == 0) return fail(invalid_usage, "ncclGroupEnd without ncclGroupStart");
	if (--depth > 0) return success;
	int code = driver.count("ncclGroupEnd");
	if (!code) code = failed;
	failed = 0;
	if (code) {
		group.clear();
		return code;
	}
	return finish();
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm,
	void *stream) {
	if (op != 0) return fail(invalid_argument, "only sums are imitated");
	return enter("ncclAllReduce", {(Comm *)comm, sum_all, type, 0, n, from, to, stream});
}
int ncclReduce(const void *from, void *to, size_t n, int type, int op, int root, void *comm,
	void *stream) {
	if (op != 0) return fail(invalid_argument, "only sums are imitated");
	return enter("ncclReduce", {(Comm *)comm, sum_to_root, type, root, n, from, to, stream});
}
int ncclBroadcast(const void *from, void *to, size_t n, int type, int root, void *comm,
	void *stream) {
	return enter("ncclBroadcast", {(Comm *)comm, spread, type, root, n, from, to, stream});
}

} // extern "C"
