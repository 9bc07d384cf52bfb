// The decoder of PTX, the text that NVIDIA's compiler makes of CUDA C: it reads the part of the
// language that the kernels need and returns an error for the rest. ptxrun.h runs the result.

#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptx {

enum Type { none, pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, f32, f64 };
enum Space { generic, global, shared, local, param, constant };

inline int bytes_of(Type t) {
	switch (t) {
	case b8: case u8: case s8: return 1;
	case b16: case u16: case s16: case f16: return 2;
	case b32: case u32: case s32: case f32: return 4;
	case none: case pred: return 1;
	default: return 8;
	}
}
inline bool is_signed(Type t) { return t == s8 || t == s16 || t == s32 || t == s64; }
inline bool is_float(Type t) { return t == f16 || t == f32 || t == f64; }

struct Operand {
	enum Kind { empty, reg, number, special, symbol, address, list } kind = empty;
	int at = 0;        // register, special register, or a place in a frame
	uint64_t value = 0; // number or offset
	Space space = generic;
	std::vector<Operand> parts;
};

// O returns the name of an instruction as a number, for comparisons.
constexpr uint64_t O(const char *s) {
	uint64_t v = 0;
	for (int i = 0; i < 8 && *s; i++) v = v << 8 | (unsigned char)*s++;
	return v;
}

struct Instruction {
	std::string op, mods; // add; .rn.f32
	uint64_t code = 0;    // O(op)
	Type type = none, from = none;
	int guard = -1; // predicate register, -1: always
	bool negated = false, carries = false, borrows = false, ftz = false, sat = false;
	char round = 0; // n, z, m, p: to nearest, zero, minus and plus infinity; i after it: integers
	bool integral = false, high = false, wide = false;
	std::string compare, join;
	Space space = generic;
	std::vector<Operand> a;
	int target = -1;                     // of a branch
	std::string callee;
	std::vector<Operand> results, given; // of a call
};

struct Variable {
	Space space;
	size_t at, size; // in the memory of its space
};

struct Function {
	std::string name;
	std::vector<Instruction> code;
	int registers = 0;
	size_t params = 0, locals = 0; // bytes of the frame's parameters and local variables
	std::vector<Variable> formals, returns;
	bool entry = false;
};

struct Program {
	std::map<std::string, Function> functions;
	std::vector<char> globals;
	size_t shared = 0;
};

struct Error : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// Decoder reads a text from the beginning to the end.
class Decoder {
	std::vector<std::string> t; // tokens
	size_t i = 0;
	Program p;
	std::vector<std::map<std::string, int>> registers; // by scope
	std::vector<std::map<std::string, Variable>> variables;
	Function *f = nullptr;

	void split(const std::string &s) {
		for (size_t k = 0; k < s.size();) {
			char c = s[k];
			if (isspace((unsigned char)c)) {
				k++;
			} else if (c == '/' && k + 1 < s.size() && s[k + 1] == '/') {
				while (k < s.size() && s[k] != '\n') k++;
			} else if (c == '/' && k + 1 < s.size() && s[k + 1] == '*') {
				size_t end = s.find("*/", k + 2);
				k = end == std::string::npos ? s.size() : end + 2;
			} else if (c == '"') {
				size_t end = s.find('"', k + 1);
				if (end == std::string::npos) throw Error("a string without an end");
				t.push_back(s.substr(k, end + 1 - k)), k = end + 1;
			} else if (isalnum((unsigned char)c) || strchr("._%$", c)) {
				size_t begin = k;
				while (k < s.size() && (isalnum((unsigned char)s[k]) || strchr("._%$", s[k]))) k++;
				t.push_back(s.substr(begin, k - begin));
			} else {
				t.push_back(std::string(1, c)), k++;
			}
		}
	}
	const std::string &peek(size_t ahead = 0) {
		static const std::string end;
		return i + ahead < t.size() ? t[i + ahead] : end;
	}
	std::string next() {
		if (i >= t.size()) throw Error("the text ends too early");
		return t[i++];
	}
	void want(const char *s) {
		std::string got = next();
		if (got != s) throw Error("got " + got + ", want " + s);
	}
	bool skip(const char *s) {
		if (peek() != s) return false;
		i++;
		return true;
	}

	static Type type_of(const std::string &s) {
		static const std::map<std::string, Type> names = {{"pred", pred}, {"b8", b8}, {"b16", b16},
			{"b32", b32}, {"b64", b64}, {"u8", u8}, {"u16", u16}, {"u32", u32}, {"u64", u64},
			{"s8", s8}, {"s16", s16}, {"s32", s32}, {"s64", s64}, {"f16", f16}, {"f32", f32},
			{"f64", f64}};
		auto n = names.find(s);
		return n == names.end() ? none : n->second;
	}
	static Space space_of(const std::string &s) {
		return s == "global" ? global : s == "shared" ? shared : s == "local" ? local
			: s == "param" ? param : s == "const" ? constant : generic;
	}

	// number reads a constant; false if the token is none.
	bool number(const std::string &s, uint64_t *v) {
		if (s.empty() || !isdigit((unsigned char)s[0])) return false;
		char *end;
		if (s.size() == 10 && (s[1] == 'f' || s[1] == 'F')) *v = strtoull(s.c_str() + 2, &end, 16);
		else if (s.size() == 18 && (s[1] == 'd' || s[1] == 'D'))
			*v = strtoull(s.c_str() + 2, &end, 16);
		else *v = strtoull(s.c_str(), &end, 0);
		if (*end == 'U') end++;
		return *end == 0;
	}
	uint64_t size() {
		uint64_t v;
		std::string s = next();
		if (!number(s, &v) || v > 1 << 26) throw Error("got " + s + ", want a size");
		return v;
	}
	int fresh() {
		if (f->registers > 1 << 16) throw Error("too many registers");
		return f->registers++;
	}

	// A declaration of registers: .reg .b32 %r<57>;
	void declare_registers() {
		next();
		for (;;) {
			std::string name = next();
			if (skip("<")) {
				uint64_t n = size();
				want(">");
				for (uint64_t k = 0; k < n; k++) registers.back()[name + std::to_string(k)] = fresh();
			} else {
				registers.back()[name] = fresh();
			}
			if (!skip(",")) break;
		}
		want(";");
	}

	// A variable: .align 4 .b8 name[16] = {1, 2}; the space has been read.
	Variable declare(Space space, std::string *named = nullptr) {
		size_t align = 1, n = 1;
		if (skip(".align")) align = size();
		if (align == 0 || align > 256) throw Error("a wrong alignment");
		std::string kind = next();
		Type type = kind.size() > 1 ? type_of(kind.substr(1)) : none;
		if (type == none) throw Error("got " + kind + ", want an element type");
		std::string name = next();
		if (skip("[")) {
			n = size();
			want("]");
		}
		size_t &used = space == shared ? p.shared : space == local ? f->locals
			: space == param ? f->params : globals_size;
		size_t each = bytes_of(type);
		align = std::max(align, each);
		used = (used + align - 1) / align * align;
		Variable v{space, used, n * each};
		if ((used += v.size) > 1 << 26) throw Error("too much memory");
		if (space == global || space == constant) {
			p.globals.resize(used);
			if (skip("=")) {
				bool many = skip("{");
				for (size_t k = 0;; k++) {
					uint64_t value = 0;
					bool negative = skip("-");
					std::string s = next();
					if (!number(s, &value) || k >= n) throw Error("a wrong initial value " + s);
					if (negative) value = -value;
					memcpy(p.globals.data() + v.at + k * each, &value, each);
					if (!many || !skip(",")) break;
				}
				if (many) want("}");
			}
		}
		variables.back()[name] = v;
		if (named) *named = name;
		return v;
	}
	size_t globals_size = 0;

	int find_register(const std::string &s) {
		for (size_t k = registers.size(); k-- > 0;) {
			auto r = registers[k].find(s);
			if (r != registers[k].end()) return r->second;
		}
		return -1;
	}
	const Variable *find_variable(const std::string &s) {
		for (size_t k = variables.size(); k-- > 0;) {
			auto v = variables[k].find(s);
			if (v != variables[k].end()) return &v->second;
		}
		return nullptr;
	}

	Operand operand() {
		Operand o;
		if (skip("{")) {
			o.kind = Operand::list;
			while (!skip("}")) {
				o.parts.push_back(operand());
				skip(",");
				if (o.parts.size() > 8) throw Error("a long list");
			}
			return o;
		}
		if (skip("[")) {
			o = operand();
			if (o.kind == Operand::list || o.kind == Operand::special) throw Error("a wrong address");
			if (o.kind == Operand::number) throw Error("an address that is a number");
			Operand a = o;
			a.parts = {o};
			a.kind = Operand::address, a.value = 0;
			if (skip("+")) {
				bool negative = skip("-");
				uint64_t v;
				std::string s = next();
				if (!number(s, &v)) throw Error("got " + s + ", want an offset");
				a.value = negative ? -v : v;
			}
			want("]");
			return a;
		}
		bool negative = skip("-");
		if (skip("!")) throw Error("a negated operand");
		std::string s = next();
		if (number(s, &o.value)) {
			if (negative) o.value = -o.value;
			o.kind = Operand::number;
			return o;
		}
		static const std::map<std::string, int> specials = {{"%tid.x", 0}, {"%tid.y", 1},
			{"%tid.z", 2}, {"%ntid.x", 3}, {"%ntid.y", 4}, {"%ntid.z", 5}, {"%ctaid.x", 6},
			{"%ctaid.y", 7}, {"%ctaid.z", 8}, {"%nctaid.x", 9}, {"%nctaid.y", 10},
			{"%nctaid.z", 11}, {"%laneid", 12}};
		auto special = specials.find(s);
		if (special != specials.end()) {
			o.kind = Operand::special, o.at = special->second;
		} else if ((o.at = find_register(s)) >= 0) {
			o.kind = Operand::reg;
		} else if (const Variable *v = find_variable(s)) {
			o.kind = Operand::symbol, o.at = v->at, o.space = v->space;
			o.value = v->size;
		} else {
			throw Error("an unknown operand " + s);
		}
		return o;
	}

	void modifiers(Instruction &in, const std::string &mods) {
		for (size_t k = 0; k < mods.size();) {
			size_t end = mods.find('.', k + 1);
			std::string m = mods.substr(k + 1, end == std::string::npos ? end : end - k - 1);
			k = end == std::string::npos ? mods.size() : end;
			static const char *compares[] = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi",
				"hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
			Type type = type_of(m);
			if (type != none) {
				if (in.type == none) in.type = type;
				else in.from = type;
			} else if (in.space == generic && space_of(m) != generic) in.space = space_of(m);
			else if (m == "cc") in.carries = true;
			else if (m == "ftz") in.ftz = true;
			else if (m == "sat") in.sat = true;
			else if (m == "wide") in.wide = true;
			else if (m == "hi" && in.op != "setp") in.high = true;
			else if (m.size() >= 2 && m.size() <= 3 && m[0] == 'r' && strchr("nzmp", m[1]))
				in.round = m[1], in.integral = m.size() == 3;
			else if (in.op == "setp" && (m == "and" || m == "or" || m == "xor")) in.join = m;
			else for (auto c : compares)
				if (m == c && in.op == "setp") in.compare = m;
		}
	}

	void call(Instruction &in) {
		auto list = [&](std::vector<Operand> &to) {
			want("(");
			while (!skip(")")) {
				to.push_back(operand());
				if (to.back().kind != Operand::symbol || to.back().space != param)
					throw Error("a call with an operand that is no parameter");
				skip(",");
			}
		};
		if (peek() == "(") list(in.results), want(",");
		in.callee = next();
		if (skip(",")) list(in.given);
		want(";");
	}

	void body() {
		std::map<std::string, int> labels;
		std::vector<std::pair<int, std::string>> jumps;
		int depth = 1;
		registers.emplace_back(), variables.emplace_back();
		want("{");
		while (depth > 0) {
			if (skip("{")) {
				if (++depth > 64) throw Error("too many braces");
				registers.emplace_back(), variables.emplace_back();
				continue;
			}
			if (skip("}")) {
				depth--;
				registers.pop_back(), variables.pop_back();
				continue;
			}
			if (skip(".reg")) {
				declare_registers();
				continue;
			}
			if (peek() == ".shared" || peek() == ".local" || peek() == ".param") {
				declare(space_of(next().substr(1)));
				want(";");
				continue;
			}
			if (peek() == ".pragma" || peek() == ".loc") {
				while (peek() != ";" && peek(1) != ";" && i < t.size()) i++;
				next();
				skip(";");
				continue;
			}
			if (peek(1) == ":") {
				labels[next()] = f->code.size();
				next();
				continue;
			}
			Instruction in;
			if (skip("@")) {
				in.negated = skip("!");
				std::string s = next();
				if ((in.guard = find_register(s)) < 0) throw Error("an unknown predicate " + s);
			}
			std::string name = next();
			size_t dot = name.find('.');
			in.op = name.substr(0, dot);
			if (dot != std::string::npos) in.mods = name.substr(dot);
			in.code = O(in.op.c_str());
			if (in.op == "addc" || in.op == "subc" || in.op == "madc") in.borrows = true;
			modifiers(in, in.mods);
			if (in.op == "call") {
				call(in);
			} else if (in.op == "bra") {
				jumps.push_back({(int)f->code.size(), next()});
				want(";");
			} else {
				while (!skip(";")) {
					in.a.push_back(operand());
					if (skip("|")) in.a.push_back(operand());
					skip(",");
					if (in.a.size() > 8) throw Error("too many operands of " + name);
				}
			}
			f->code.push_back(in);
			if (f->code.size() > 1 << 20) throw Error("a long function");
		}
		for (auto &j : jumps) {
			auto l = labels.find(j.second);
			if (l == labels.end()) throw Error("an unknown label " + j.second);
			f->code[j.first].target = l->second;
		}
	}

	void formals(std::vector<Variable> &to) {
		want("(");
		while (!skip(")")) {
			want(".param");
			to.push_back(declare(param));
			skip(",");
		}
	}

	void function(bool entry) {
		Function made;
		made.entry = entry;
		f = &made;
		registers.emplace_back(), variables.emplace_back();
		if (peek() == "(") formals(made.returns);
		made.name = next();
		if (peek() == "(") formals(made.formals);
		while (peek() != "{" && peek() != ";") next(); // .maxntid and such
		if (!skip(";")) {
			body();
			p.functions[made.name] = made;
		}
		registers.pop_back(), variables.pop_back();
		f = nullptr;
	}

public:
	Program decode(const std::string &text) {
		split(text);
		variables.emplace_back();
		while (i < t.size()) {
			std::string s = next();
			if (s == ".version" || s == ".target" || s == ".address_size") {
				next();
				while (skip(",")) next();
			} else if (s == ".visible" || s == ".weak" || s == ".extern") {
			} else if (s == ".entry" || s == ".func") {
				function(s == ".entry");
			} else if (s == ".global" || s == ".const" || s == ".shared") {
				declare(space_of(s.substr(1)));
				want(";");
			} else {
				throw Error("an unknown directive " + s);
			}
		}
		return p;
	}
};

} // namespace ptx
