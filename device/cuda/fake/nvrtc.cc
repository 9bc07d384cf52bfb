// An imitated compiler for the imitated driver (driver.cc): libnvrtc.so.12 for tests. It compiles
// CUDA C for the processor with g++, after host.h, which implements threads, blocks and barriers.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace {
struct Program {
	std::string source, name, log, binary;
};

bool read_file(const std::string &path, std::string &to) {
	FILE *f = fopen(path.c_str(), "rb");
	if (!f) return false;
	char buf[1 << 16];
	size_t n;
	to.clear();
	while ((n = fread(buf, 1, sizeof buf, f)) > 0) to.append(buf, n);
	fclose(f);
	return true;
}

bool write_file(const std::string &path, const std::string &text) {
	FILE *f = fopen(path.c_str(), "wb");
	if (!f) return false;
	bool ok = fwrite(text.data(), 1, text.size(), f) == text.size();
	return fclose(f) == 0 && ok;
}
// run runs a program whose standard error goes to a file.
bool run(std::vector<std::string> args, const std::string &log) {
	std::vector<char *> argv;
	for (auto &a : args) argv.push_back(&a[0]);
	argv.push_back(nullptr);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(log.c_str(), "w", stderr)) _exit(127);
		execvp("g++", argv.data());
		_exit(127);
	}
	int status = 1;
	while (waitpid(pid, &status, 0) < 0) {
	}
	return status == 0;
}
} // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
	*major = 0, *minor = 1;
	return 0;
}
int nvrtcGetNumSupportedArchs(int *n) {
	*n = 1;
	return 0;
}
int nvrtcGetSupportedArchs(int *list) {
	list[0] = 80;
	return 0;
}
int nvrtcCreateProgram(void **p, const char *src, const char *name, int, const char *const *,
	const char *const *) {
	*p = new Program{src, name, "", ""};
	return 0;
}
int nvrtcCompileProgram(void *prog, int n, const char *const *options) {
	Program *p = (Program *)prog;
	char dir[] = "/tmp/gx-fake-XXXXXX";
	if (!mkdtemp(dir)) return 1;
	std::string base = dir, in = base + "/k.cc", out = base + "/k.so", log = base + "/log";
	std::vector<std::string> args = {"g++", "-std=c++17", "-O1", "-c", "-fPIC", "-w",
		"-ffp-contract=off", "-fno-strict-aliasing", "-fno-gnu-unique", "-DGX_HOST", "-include",
		GX_PRELUDE};
	// Strict kernels call a function of the prelude before each access to memory.
	if (getenv("GX_FAKE_SEED"))
		args.insert(args.end(), {"-DGX_STRICT", "-fsanitize=thread",
			"--param=tsan-instrument-func-entry-exit=0"});
	for (int i = 0; i < n; i++)
		if (!strncmp(options[i], "-D", 2)) args.push_back(options[i]);
	std::string object = base + "/k.o";
	args.insert(args.end(), {"-o", object, in});
	write_file(in, p->source);
	bool ok = run(args, log) && run({"g++", "-shared", "-Wl,-Bsymbolic", "-o", out,
		object}, log);
	read_file(log, p->log);
	ok = ok && read_file(out, p->binary);
	for (auto &f : {in, out, log, object}) unlink(f.c_str());
	rmdir(dir);
	return ok ? 0 : 6;
}
int nvrtcGetCUBINSize(void *prog, size_t *n) {
	*n = ((Program *)prog)->binary.size();
	return 0;
}
int nvrtcGetCUBIN(void *prog, char *to) {
	Program *p = (Program *)prog;
	memcpy(to, p->binary.data(), p->binary.size());
	return 0;
}
int nvrtcGetProgramLogSize(void *prog, size_t *n) {
	*n = ((Program *)prog)->log.size() + 1;
	return 0;
}
int nvrtcGetProgramLog(void *prog, char *to) {
	Program *p = (Program *)prog;
	memcpy(to, p->log.c_str(), p->log.size() + 1);
	return 0;
}
int nvrtcDestroyProgram(void **prog) {
	delete (Program *)*prog;
	*prog = nullptr;
	return 0;
}
const char *nvrtcGetErrorString(int code) { return code == 6 ? "compilation failed" : "an error"; }

} // extern "C"
