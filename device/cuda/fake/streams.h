// Streams and events of the imitated driver. One thread runs the work of all streams. Without a
// seed it takes streams in turn. With a seed it prefers a stream as long as nothing holds it up,
// then another one, and pauses at random, so that nothing but events orders streams with each other
// and with the host.

#pragma once
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "memory.h"

namespace {

struct Context {
	int device;
};
Context contexts[devices] = {{0}, {1}, {2}, {3}};

// A mark is one recording of an event: it is reached when the stream has executed it. All marks
// share the executor's lock.
struct Mark {
	bool reached = false;
};

struct Work {
	std::function<void()> run;
	std::shared_ptr<Mark> wait; // the work is to wait for this mark
};

struct Event {
	std::mutex mu;
	std::shared_ptr<Mark> mark;
};

struct Stream {
	Context *ctx;
	std::deque<Work> work;
	bool busy = false; // the executor runs work of this stream
	uint64_t rank = 0;
	// Work is recorded, not run; unsupported work was requested
	bool captures = false, spoiled = false;
	std::vector<std::function<void()>> remembered;
};

struct Executor {
	std::mutex mu;
	std::condition_variable work, reached;
	std::vector<Stream *> streams;
	size_t turn = 0;
	Random random{1};
	long until_change = 0;

	Executor() { std::thread([this] { run(); }).detach(); }

	bool ready(Stream *s) {
		return !s->work.empty() && (!s->work.front().wait || s->work.front().wait->reached);
	}

	// pick returns the stream whose work runs next, nullptr if all are empty or wait.
	Stream *pick() {
		Stream *best = nullptr;
		if (!strict()) {
			for (size_t i = 0; i < streams.size() && !best; i++) {
				Stream *s = streams[(turn + i) % streams.size()];
				if (ready(s)) best = s, turn = (turn + i + 1) % streams.size();
			}
			return best;
		}
		if (--until_change < 0) {
			until_change = 1 + random.below(24);
			for (Stream *s : streams) s->rank = random.next();
		}
		for (Stream *s : streams)
			if (ready(s) && (!best || s->rank > best->rank)) best = s;
		return best;
	}

	void run() {
		std::unique_lock<std::mutex> lock(mu);
		for (;;) {
			Stream *s = pick();
			if (!s) {
				work.wait(lock);
				continue;
			}
			if (strict()) { // others may add work to streams that are preferred to this one
				uint64_t r = random.next();
				if (r % 4 == 0) {
					lock.unlock();
					usleep(r % 256 == 0 ? 2000 : r / 256 % 100);
					lock.lock();
					if (!(s = pick())) continue;
				}
			}
			Work w = std::move(s->work.front());
			s->work.pop_front();
			if (!w.run) continue;
			s->busy = true;
			lock.unlock();
			w.run();
			lock.lock();
			s->busy = false;
			reached.notify_all();
		}
	}
	void add(Stream *s) {
		std::lock_guard<std::mutex> lock(mu);
		s->rank = random.next();
		streams.push_back(s);
	}
	void remove(Stream *s) {
		std::unique_lock<std::mutex> lock(mu);
		reached.wait(lock, [&] { return s->work.empty() && !s->busy; });
		streams.erase(std::find(streams.begin(), streams.end(), s));
	}
	void put(Stream *s, std::function<void()> f) {
		std::lock_guard<std::mutex> lock(mu);
		if (s->captures) {
			s->remembered.push_back(std::move(f));
			return;
		}
		s->work.push_back({std::move(f), nullptr});
		work.notify_one();
	}
	void put_wait(Stream *s, std::shared_ptr<Mark> m) {
		std::lock_guard<std::mutex> lock(mu);
		s->work.push_back({nullptr, m});
		work.notify_one();
	}
	std::shared_ptr<Mark> put_mark(Stream *s) {
		auto m = std::make_shared<Mark>();
		put(s, [this, m] {
			std::lock_guard<std::mutex> lock(mu);
			m->reached = true;
			reached.notify_all();
		});
		return m;
	}
	void wait(const std::shared_ptr<Mark> &m) {
		std::unique_lock<std::mutex> lock(mu);
		reached.wait(lock, [&] { return m->reached; });
	}
	bool is(const std::shared_ptr<Mark> &m) {
		std::lock_guard<std::mutex> lock(mu);
		return m->reached;
	}
	// refuses reports whether the stream is capturing; if so the capture is spoiled.
	bool refuses(Stream *s) {
		std::lock_guard<std::mutex> lock(mu);
		if (s->captures) s->spoiled = true;
		return s->captures;
	}
};

// executor returns the executor, which lives as long as the process.
Executor &executor() {
	static Executor *e = new Executor;
	return *e;
}

// A graph is the recorded work of a stream.
struct Graph {
	Context *ctx;
	std::vector<std::function<void()>> work;
};

} // namespace
