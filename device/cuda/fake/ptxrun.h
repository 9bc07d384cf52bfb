// The interpreter of PTX. The threads of a block run one after the other up to the next barrier.
// Every access to memory is checked by the map of usable bytes (memory.h).

#pragma once
#include <fenv.h>
#include <math.h>

#include "memory.h"
#include "ptxcode.h"

namespace ptx {

// A frame is one call of a function.
struct Frame {
	const Function *f;
	size_t pc = 0;
	std::vector<uint64_t> r;
	std::vector<char> params, locals;
	const Instruction *call = nullptr; // of the caller
};

struct Thread {
	std::vector<std::unique_ptr<Frame>> frames;
	unsigned id[3];
	bool carry = false, waits = false, done = false;
	const Instruction *meets = nullptr; // the warp operation that it waits at; waits is set
	uint64_t sent = 0, lane = 0; // in a shuffle: the value, and the operand that names a lane
};

struct Launch {
	Program *p;
	const Function *f;
	const uint64_t *args;
	unsigned grid[3], block[3];
	int device;
	uint64_t seed;
};

// as reads a number of n bytes at the lower end of a register.
template <class T> inline T as(uint64_t v) {
	T x;
	memcpy(&x, &v, sizeof x);
	return x;
}
template <class T> inline uint64_t bits(T x) {
	uint64_t v = 0;
	memcpy(&v, &x, sizeof x);
	return v;
}

inline double half_value(uint16_t h) {
	int exp = h >> 10 & 31, frac = h & 1023;
	double v = exp == 31 ? (frac ? NAN : INFINITY) : exp ? ldexp(1024 + frac, exp - 25)
		: ldexp(frac, -24);
	return h & 0x8000 ? -v : v;
}
// to_half rounds to the nearest number of 16 bits, ties to even.
inline uint16_t to_half(double v) {
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	v = fabs(v);
	if (isnan(v)) return 0x7fff;
	if (v >= 65520) return sign | 0x7c00;
	if (v < 0x1p-14) return sign | (uint16_t)nearbyint(v * 0x1p24);
	int e;
	double m = frexp(v, &e); // v = m · 2^e, m in [0.5, 1)
	long scaled = (long)nearbyint(m * 2048);
	return sign | (uint16_t)(((e + 13) << 10) + scaled);
}

inline uint64_t mask_of(Type t) { return bytes_of(t) == 8 ? ~0ull : (1ull << 8 * bytes_of(t)) - 1; }

// extend returns an integer of a type with its sign or zeros in front.
inline uint64_t extend(uint64_t v, Type t) {
	switch (t) {
	case s8: return (int64_t)(int8_t)v;
	case s16: return (int64_t)(int16_t)v;
	case s32: return (int64_t)(int32_t)v;
	default: return v & mask_of(t);
	}
}
inline double float_value(uint64_t v, Type t) {
	return t == f64 ? as<double>(v) : t == f32 ? as<float>(v) : half_value((uint16_t)v);
}

struct Rounding {
	int old = -1;
	explicit Rounding(char r) {
		if (r == 0 || r == 'n') return;
		old = fegetround();
		fesetround(r == 'z' ? FE_TOWARDZERO : r == 'm' ? FE_DOWNWARD : FE_UPWARD);
	}
	~Rounding() {
		if (old >= 0) fesetround(old);
	}
};

class Interpreter {
	const Launch &l;
	unsigned at[3];
	std::vector<char> shared;
	long steps = 0;
	Thread *now = nullptr;
	Frame *frame = nullptr;

	[[noreturn]] void fail(const std::string &why) {
		throw Error(l.f->name + ": thread " + std::to_string(now->id[0]) + " of block " +
			std::to_string(at[0]) + ": " + why);
	}

	uint64_t value(const Operand &o) {
		switch (o.kind) {
		case Operand::reg: return frame->r[o.at];
		case Operand::number: return o.value;
		case Operand::special: {
			if (o.at == 12) return (now->id[0]) % 32;
			const unsigned *list[] = {now->id, l.block, at, l.grid};
			return list[o.at / 3][o.at % 3];
		}
		case Operand::symbol:
			switch (o.space) {
			case ptx::shared: return (uint64_t)shared.data() + o.at;
			case local: return (uint64_t)frame->locals.data() + o.at;
			case param: return (uint64_t)frame->params.data() + o.at;
			default: return (uint64_t)l.p->globals.data() + o.at;
			}
		default: fail("a wrong operand");
		}
	}
	void set(const Operand &o, uint64_t v, Type t) {
		if (o.kind != Operand::reg) fail("a result that is no register");
		frame->r[o.at] = t == pred ? v & 1 : v & mask_of(t);
	}

	static bool lies(uint64_t p, size_t n, const std::vector<char> &in) {
		return p >= (uint64_t)in.data() && p + n <= (uint64_t)in.data() + in.size();
	}

	// memory returns the host's address of n bytes that the thread may use.
	char *memory(uint64_t p, size_t n, bool writes) {
		if (p % n) fail("an access at a misaligned address");
		if (is_device(p)) {
			size_t off = p - (uint64_t)seen;
			unsigned char s = ::shadow[off / 8];
			if (s == freed_shadow) fail("an access to memory that has been freed");
			if (s == 0 || off % 8 + n > (s & 15u)) fail("an access outside of all arrays");
			if (s >> 4 != l.device) fail("an access to memory of another device");
			return host(p);
		}
		bool own = lies(p, n, shared) || (!writes && lies(p, n, l.p->globals));
		for (auto &f : now->frames) own = own || lies(p, n, f->locals) || lies(p, n, f->params);
		if (!own) fail("an access to memory that is no device's");
		return (char *)p;
	}

	void load_store(const Instruction &in) {
		bool loads = in.code == O("ld");
		const Operand &where = in.a[loads ? 1 : 0], &what = in.a[loads ? 0 : 1];
		if (where.kind != Operand::address) fail("a wrong address");
		uint64_t p = value(where.parts[0]) + where.value;
		size_t n = bytes_of(in.type);
		const Operand *one = &what;
		size_t count = 1;
		if (what.kind == Operand::list) one = what.parts.data(), count = what.parts.size();
		if (count > 1 && p % (n * count)) fail("an access to a vector at a misaligned address");
		for (size_t k = 0; k < count; k++) {
			char *m = memory(p + k * n, n, !loads);
			uint64_t v = 0;
			if (loads) {
				memcpy(&v, m, n);
				if (one[k].kind != Operand::reg) fail("a load into no register");
				frame->r[one[k].at] = is_signed(in.type) ? extend(v, in.type) : v;
			} else {
				v = value(one[k]);
				memcpy(m, &v, n);
			}
		}
	}

	// atomic adds to memory; atom has the old value as its result.
	void atomic(const Instruction &in) {
		bool result = in.code == O("atom");
		need(in, result ? 3 : 2);
		if (in.mods.find(".add") == std::string::npos || in.type == f16)
			fail("an unknown atomic operation");
		const Operand &where = in.a[result], &what = in.a[result + 1];
		if (where.kind != Operand::address) fail("a wrong address");
		size_t n = bytes_of(in.type);
		char *m = memory(value(where.parts[0]) + where.value, n, true);
		uint64_t old = 0, v = value(what);
		memcpy(&old, m, n);
		uint64_t y = in.type == f32 ? bits(as<float>(old) + as<float>(v)) : in.type == f64
			? bits(as<double>(old) + as<double>(v)) : old + v;
		memcpy(m, &y, n);
		if (result) set(in.a[0], old, in.type);
	}

	template <class T> T flush(T x, const Instruction &in) {
		return in.ftz && fpclassify(x) == FP_SUBNORMAL ? copysign(T(0), x) : x;
	}

	template <class T> uint64_t real(const Instruction &in) {
		T x[3] = {0, 0, 0};
		for (size_t k = 1; k < in.a.size() && k < 4; k++)
			x[k - 1] = flush(as<T>(value(in.a[k])), in);
		volatile T a = x[0], b = x[1], c = x[2], y = 0;
		const uint64_t op = in.code;
		Rounding rounding(in.integral ? 0 : in.round);
		if (op == O("add")) y = a + b;
		else if (op == O("sub")) y = a - b;
		else if (op == O("mul")) y = a * b;
		else if (op == O("div")) y = a / b;
		else if (op == O("fma") || op == O("mad")) y = std::fma((T)a, (T)b, (T)c);
		else if (op == O("neg")) y = -a;
		else if (op == O("abs")) y = fabs((T)a);
		else if (op == O("min")) y = fmin((T)a, (T)b);
		else if (op == O("max")) y = fmax((T)a, (T)b);
		else if (op == O("rcp")) y = 1 / a;
		else if (op == O("sqrt")) y = sqrt((T)a);
		else if (op == O("rsqrt")) y = 1 / sqrt((T)a);
		else if (op == O("ex2")) y = exp2((T)a);
		else if (op == O("lg2")) y = log2((T)a);
		else if (op == O("sin")) y = sin((T)a);
		else if (op == O("cos")) y = cos((T)a);
		else if (op == O("tanh")) y = tanh((T)a);
		else if (op == O("copysign")) y = copysign((T)b, (T)a);
		else fail("an unknown instruction " + in.op + in.mods);
		T result = flush((T)y, in);
		if (in.sat) result = isnan(result) ? 0 : fmin(fmax(result, T(0)), T(1));
		return bits(result);
	}

	uint64_t integer(const Instruction &in) {
		Type t = in.type;
		uint64_t x[4] = {0, 0, 0, 0};
		for (size_t k = 1; k < in.a.size() && k < 5; k++) x[k - 1] = extend(value(in.a[k]), t);
		uint64_t a = x[0], b = x[1], c = x[2];
		int width = 8 * bytes_of(t);
		bool neg = is_signed(t);
		const uint64_t op = in.code;
		if (op == O("mul") || op == O("mad") || op == O("madc")) {
			__int128 product = neg ? (__int128)(int64_t)a * (int64_t)b
				: (__int128)((unsigned __int128)a * b);
			if (in.wide) return (uint64_t)product + (op == O("mul") ? 0 : value(in.a[3]));
			uint64_t part = in.high ? (uint64_t)((unsigned __int128)product >> width) : (uint64_t)product;
			if (op == O("mul")) return part;
			return carry(in, part & mask_of(t), c & mask_of(t), width);
		}
		if (op == O("add") || op == O("addc")) return carry(in, a & mask_of(t), b & mask_of(t), width);
		if (op == O("sub") || op == O("subc")) {
			unsigned __int128 y = (unsigned __int128)(a & mask_of(t)) - (b & mask_of(t)) -
				(in.borrows && now->carry);
			if (in.carries) now->carry = (y >> width) & 1;
			return (uint64_t)y;
		}
		if (op == O("div") || op == O("rem")) {
			bool div = op == O("div");
			if (b == 0) return div ? ~0ull : a;
			if (neg && (int64_t)b == -1) return div ? -a : 0;
			if (neg) return div ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b;
			return div ? a / b : a % b;
		}
		if (op == O("min")) return neg ? std::min<int64_t>(a, b) : std::min(a, b);
		if (op == O("max")) return neg ? std::max<int64_t>(a, b) : std::max(a, b);
		if (op == O("neg")) return -a;
		if (op == O("abs")) return (int64_t)a < 0 ? -a : a;
		if (op == O("and")) return a & b;
		if (op == O("or")) return a | b;
		if (op == O("xor")) return a ^ b;
		if (op == O("not")) return t == pred ? !(a & 1) : ~a;
		uint64_t n = op == O("shl") || op == O("shr") ? value(in.a[2]) & 0xffffffff : 0;
		if (op == O("shl")) return n >= (unsigned)width ? 0 : a << n;
		if (op == O("shr") && neg) return (int64_t)a >> std::min<uint64_t>(n, 63);
		if (op == O("shr")) return n >= (unsigned)width ? 0 : a >> n;
		if (op == O("clz")) return a == 0 ? width : __builtin_clzll(a) - (64 - width);
		if (op == O("popc")) return __builtin_popcountll(a);
		if (op == O("brev")) {
			uint64_t y = 0;
			for (int k = 0; k < width; k++) y |= (a >> k & 1) << (width - 1 - k);
			return y;
		}
		if (op == O("bfi")) { // bits of a at position c, of length d, in b
			unsigned from = x[2] & 255, length = x[3] & 255;
			for (unsigned k = 0; k < length && from + k < (unsigned)width; k++)
				b = (b & ~(1ull << (from + k))) | (a >> k & 1) << (from + k);
			return b;
		}
		if (op == O("bfe")) {
			unsigned from = b & 255, length = c & 255;
			if (length == 0) return 0;
			unsigned top = std::min(from + length - 1, (unsigned)width - 1);
			uint64_t ones = from > top ? 0 : top - from == 63 ? ~0ull : (2ull << (top - from)) - 1;
			uint64_t y = from > top ? 0 : a >> from & ones;
			if (neg && (a >> top & 1))
				for (unsigned k = from > top ? 0 : top - from + 1; k < 64; k++) y |= 1ull << k;
			return y;
		}
		if (op == O("prmt")) {
			uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff), y = 0;
			for (int k = 0; k < 4; k++) {
				unsigned pick = c >> 4 * k & 15;
				uint64_t byte = both >> 8 * (pick & 7) & 255;
				if (pick & 8) byte = byte & 128 ? 255 : 0;
				y |= byte << 8 * k;
			}
			return y;
		}
		if (op == O("shf")) { // of the 64 bits b:a by c
			uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff);
			bool clamp = in.mods.find("clamp") != std::string::npos;
			unsigned s = clamp ? std::min<uint64_t>(c & 0xffffffff, 32) : c & 31;
			return in.mods.find(".l") == 0 ? (both << s) >> 32 : both >> s;
		}
		fail("an unknown instruction " + in.op + in.mods);
	}
	uint64_t carry(const Instruction &in, uint64_t a, uint64_t b, int width) {
		unsigned __int128 y = (unsigned __int128)a + b + (in.borrows && now->carry);
		if (in.carries) now->carry = (y >> width) & 1;
		return (uint64_t)y;
	}

	bool compare(const Instruction &in) {
		std::string c = in.compare;
		uint64_t a = value(in.a[in.a.size() > 3 && in.join.empty() ? 2 : 1]), b = value(in.a[2]);
		if (is_float(in.type)) {
			double x = float_value(a, in.type), y = float_value(b, in.type);
			bool unordered = isnan(x) || isnan(y);
			if (c == "num" || c == "nan") return unordered == (c == "nan");
			if (c.size() == 3) {
				if (unordered) return true;
				c.resize(2);
			} else if (unordered) {
				return false;
			}
			return c == "eq" ? x == y : c == "ne" ? x != y : c == "lt" ? x < y : c == "le" ? x <= y
				: c == "gt" ? x > y : x >= y;
		}
		a = extend(a, in.type), b = extend(b, in.type);
		if (c == "eq" || c == "ne") return (a == b) == (c == "eq");
		if (is_signed(in.type)) {
			int64_t x = a, y = b;
			return c == "lt" ? x < y : c == "le" ? x <= y : c == "gt" ? x > y : x >= y;
		}
		return c == "lt" || c == "lo" ? a < b : c == "le" || c == "ls" ? a <= b
			: c == "gt" || c == "hi" ? a > b : a >= b;
	}

	uint64_t convert(const Instruction &in) {
		Type to = in.type, from = in.from;
		uint64_t v = value(in.a[1]);
		if (!is_float(from) && !is_float(to)) {
			v = extend(v, from);
			if (in.sat) fail("a saturating conversion of integers");
			return v;
		}
		if (!is_float(from)) {
			v = extend(v, from);
			Rounding rounding(in.round);
			if (to == f64) return bits(is_signed(from) ? (double)(int64_t)v : (double)v);
			if (to == f32) return bits(is_signed(from) ? (float)(int64_t)v : (float)v);
			return to_half(is_signed(from) ? (double)(int64_t)v : (double)v);
		}
		double x = float_value(v, from);
		if (in.ftz && from == f32) x = flush((float)x, in);
		if (in.integral) x = in.round == 'n' ? nearbyint(x) : in.round == 'z' ? trunc(x)
			: in.round == 'm' ? floor(x) : ceil(x);
		if (to == f64) return bits(x);
		if (to == f32) {
			Rounding rounding(in.integral ? 0 : in.round);
			volatile float y = (float)x;
			if (in.sat) y = isnan(y) ? 0 : fminf(fmaxf(y, 0), 1);
			return bits(flush((float)y, in));
		}
		if (to == f16) return to_half(x);
		int width = 8 * bytes_of(to); // integers saturate; NaN is zero
		if (isnan(x)) return 0;
		double top = ldexp(1, is_signed(to) ? width - 1 : width), low = is_signed(to) ? -top : 0;
		if (x >= top) return is_signed(to) ? (1ull << (width - 1)) - 1 : mask_of(to);
		if (x < low) return is_signed(to) ? 1ull << (width - 1) : 0;
		return is_signed(to) ? (uint64_t)(int64_t)x : (uint64_t)x;
	}

	void move(const Instruction &in) {
		const Operand &to = in.a[0], &from = in.a[1];
		if (to.kind == Operand::list) { // a register into its parts
			uint64_t v = value(from);
			int width = 8 * bytes_of(in.type) / (int)to.parts.size();
			for (size_t k = 0; k < to.parts.size(); k++)
				if (to.parts[k].kind == Operand::reg)
					frame->r[to.parts[k].at] = v >> width * k & ((1ull << width) - 1);
		} else if (from.kind == Operand::list) {
			uint64_t v = 0;
			int width = 8 * bytes_of(in.type) / (int)from.parts.size();
			for (size_t k = 0; k < from.parts.size(); k++)
				v |= (value(from.parts[k]) & ((1ull << width) - 1)) << width * k;
			set(to, v, in.type);
		} else {
			set(to, value(from), in.type);
		}
	}

	void enter(const Function *f, const Instruction *call) {
		if (now->frames.size() > 64) fail("calls that are nested too deeply");
		auto made = std::make_unique<Frame>();
		made->f = f, made->call = call;
		made->r.resize(f->registers), made->params.resize(f->params), made->locals.resize(f->locals + 8);
		if (call) {
			if (call->given.size() != f->formals.size() || call->results.size() != f->returns.size())
				fail("a call of " + f->name + " with other parameters");
			for (size_t k = 0; k < f->formals.size(); k++) {
				if (call->given[k].value != f->formals[k].size) fail("a parameter of another size");
				memcpy(made->params.data() + f->formals[k].at,
					frame->params.data() + call->given[k].at, f->formals[k].size);
			}
		}
		now->frames.push_back(std::move(made));
		frame = now->frames.back().get();
	}
	void leave() {
		auto ended = std::move(now->frames.back());
		now->frames.pop_back();
		if (now->frames.empty()) {
			now->done = true;
			return;
		}
		frame = now->frames.back().get();
		for (size_t k = 0; k < ended->f->returns.size(); k++)
			memcpy(frame->params.data() + ended->call->results[k].at,
				ended->params.data() + ended->f->returns[k].at, ended->f->returns[k].size);
	}

	void need(const Instruction &in, size_t n) {
		if (in.a.size() < n) fail("too few operands of " + in.op);
	}

	// step runs one instruction.
	void step() {
		if (frame->pc >= frame->f->code.size()) fail("the end of the code");
		if (++steps > 2000000000) fail("too many steps");
		const Instruction &in = frame->f->code[frame->pc++];
		if (in.guard >= 0 && (frame->r[in.guard] & 1) == in.negated) return;
		const uint64_t op = in.code;
		if (op == O("bra")) frame->pc = in.target;
		else if (op == O("ret")) leave();
		else if (op == O("exit")) now->frames.resize(1), leave();
		else if (op == O("bar") && in.mods.compare(0, 5, ".warp") == 0)
			now->waits = true, now->meets = &in;
		else if (op == O("bar") || op == O("barrier")) now->waits = true;
		else if (op == O("shfl")) {
			need(in, 5);
			size_t from = in.a.size() - 4;
			now->sent = value(in.a[from]), now->lane = value(in.a[from + 1]);
			now->waits = true, now->meets = &in;
		}
		else if (op == O("call")) {
			auto f = l.p->functions.find(in.callee);
			if (f == l.p->functions.end()) fail("an unknown function " + in.callee);
			enter(&f->second, &in);
		} else if (op == O("ld") || op == O("st")) need(in, 2), load_store(in);
		else if (op == O("red") || op == O("atom")) atomic(in);
		else if (op == O("mov")) need(in, 2), move(in);
		else if (op == O("cvta")) need(in, 2), set(in.a[0], value(in.a[1]), u64);
		else if (op == O("cvt")) need(in, 2), set(in.a[0], convert(in), in.type);
		else if (op == O("selp")) {
			need(in, 4);
			set(in.a[0], value(in.a[value(in.a[3]) & 1 ? 1 : 2]), in.type);
		}
		else if (op == O("setp")) {
			need(in, 3);
			bool y = compare(in);
			if (!in.join.empty()) {
				need(in, 4);
				bool c = value(in.a[3]) & 1;
				y = in.join == "and" ? y && c : in.join == "or" ? y || c : y != c;
			} else if (in.a.size() > 3) fail("a comparison with two results");
			set(in.a[0], y, pred);
		} else if (is_float(in.type)) {
			need(in, 2);
			set(in.a[0], in.type == f64 ? real<double>(in) : real<float>(in), in.type);
		} else {
			need(in, 2);
			Type t = in.type;
			if (in.wide) t = bytes_of(in.type) == 2 ? b32 : b64;
			if (op == O("clz") || op == O("popc")) t = b32;
			set(in.a[0], integer(in), t);
		}
	}

	// meet lets the threads of a warp go on if all of them wait at the same warp operation.
	bool meet(std::vector<Thread> &threads, unsigned first) {
		unsigned end = std::min<unsigned>(first + 32, threads.size());
		const Instruction *in = threads[first].meets;
		for (unsigned k = first; k < end; k++)
			if (!threads[k].meets || threads[k].meets != in) return false;
		for (unsigned k = first; k < end; k++) {
			now = &threads[k], frame = now->frames.back().get();
			if (in->code == O("shfl")) shuffle(*in, &threads[first], k - first, end - first);
			now->waits = false;
		}
		for (unsigned k = first; k < end; k++) threads[k].meets = nullptr;
		return true;
	}

	// shuffle gives the running thread, a lane of a warp of n threads, the value of another lane. The
	// last operand but one has the last lane of its part, and in the upper bits the mask of the part.
	void shuffle(const Instruction &in, Thread *warp, unsigned lane, unsigned n) {
		uint64_t c = value(in.a[in.a.size() - 2]);
		unsigned part = c >> 8 & 31, first = lane & part, last = first | (c & 31 & ~part), from;
		unsigned by = (unsigned)now->lane & 31;
		bool inside;
		if (in.mods.find(".bfly") != std::string::npos) from = lane ^ by, inside = from <= last;
		else if (in.mods.find(".down") != std::string::npos) from = lane + by, inside = from <= last;
		else if (in.mods.find(".up") != std::string::npos)
			from = lane - by, inside = (int)from >= (int)last;
		else from = first | (by & ~part), inside = from <= last;
		if (!inside) from = lane;
		if (from >= n) fail("a shuffle with a lane that the warp lacks");
		set(in.a[0], warp[from].sent, b32);
		if (in.a.size() > 5) set(in.a[1], inside, pred);
	}

public:
	explicit Interpreter(const Launch &launch) : l(launch), shared(l.p->shared + 16, (char)0xC7) {}

	void block(unsigned x, unsigned y, unsigned z) {
		at[0] = x, at[1] = y, at[2] = z;
		std::fill(shared.begin(), shared.end(), (char)0xC7);
		unsigned n = l.block[0] * l.block[1] * l.block[2];
		std::vector<Thread> threads(n);
		for (unsigned k = 0; k < n; k++) {
			now = &threads[k];
			now->id[0] = k % l.block[0], now->id[1] = k / l.block[0] % l.block[1];
			now->id[2] = k / (l.block[0] * l.block[1]);
			enter(l.f, nullptr);
			if (!l.f->formals.empty()) memcpy(frame->params.data(), l.args, l.f->formals[0].size);
		}
		for (unsigned left = n; left > 0;) {
			unsigned ended = 0, waiting = 0;
			for (unsigned k = 0; k < n; k++) {
				now = &threads[l.seed % 2 ? n - 1 - k : k];
				if (!now->done) frame = now->frames.back().get();
				while (!now->done && !now->waits) step();
				ended += now->done, waiting += now->waits;
			}
			left = waiting;
			bool met = false;
			for (unsigned k = 0; k < n; k += 32) met = meet(threads, k) || met;
			if (met || !waiting) continue;
			if (ended) fail("a barrier that not all threads meet");
			for (Thread &t : threads) {
				now = &t;
				if (t.meets) fail("a warp operation that not all threads of the warp meet");
				t.waits = false;
			}
		}
	}
};

// interpret runs a launch and reports violations.
inline void interpret(const Launch &l) {
	Interpreter run(l);
	try {
		for (unsigned z = 0; z < l.grid[2]; z++)
			for (unsigned y = 0; y < l.grid[1]; y++)
				for (unsigned x = 0; x < l.grid[0]; x++) run.block(x, y, z);
	} catch (const Error &e) {
		report("%s", e.what());
	}
}

} // namespace ptx
