// Settings, reports and random numbers of the imitated driver, see driver.cc. Without a seed the
// imitation is lenient: work runs in order, at once, and nothing is checked that a real driver does
// not check. With a seed (the environment variable GX_FAKE_SEED, or gx_fake_seed) it is harder than
// hardware, and the first violation ends the process, unless a test collects reports.

#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace {

std::atomic<uint64_t> seed{[] {
	const char *s = getenv("GX_FAKE_SEED");
	return s ? strtoull(s, nullptr, 10) : 0;
}()};

bool strict() { return seed.load(std::memory_order_relaxed) != 0; }

std::mutex report_mu;
std::string reports;
bool collects;

// report tells of a violation. The text names the call or the kernel.
void report(const char *format, ...) {
	char text[512];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	std::lock_guard<std::mutex> lock(report_mu);
	if (collects) {
		if (reports.size() < (1 << 16)) reports += text, reports += '\n';
		return;
	}
	fprintf(stderr, "imitated driver (seed %llu): %s\n", (unsigned long long)seed.load(), text);
	abort();
}

// Random is a stream of random numbers (splitmix64).
struct Random {
	uint64_t state;
	uint64_t next() {
		uint64_t z = state += 0x9E3779B97F4A7C15;
		z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
		z = (z ^ z >> 27) * 0x94D049BB133111EB;
		return z ^ z >> 31;
	}
	uint64_t below(uint64_t n) { return next() % n; }
};

// Calls by name: how often each was made, and the calls that shall fail.
struct Calls {
	std::mutex mu;
	std::map<std::string, long> made;
	std::string fails; // name of the call that shall fail; empty: none
	long countdown = 0;
	int code = 0;
	// count counts a call and returns the error that it shall have.
	int count(std::string name) { // headers rename some calls to their newest version
		if (name.size() > 3 && name.substr(name.size() - 3) == "_v2") name.resize(name.size() - 3);
		std::lock_guard<std::mutex> lock(mu);
		made[name]++;
		if (fails == name && --countdown == 0) return code;
		return 0;
	}
};
Calls calls;

} // namespace
