//go:build cuda

#include "nccl.h"

#include <dlfcn.h>

#define LOAD(name) \
	if (!(f->name = dlsym(lib, "nccl" #name))) { \
		*missing = "nccl" #name; \
		return 1; \
	}

int gcu_nccl_load(void *lib, gcu_nccl *f, const char **missing) {
	LOAD(GetVersion)
	LOAD(GetErrorString)
	LOAD(CommInitAll)
	LOAD(GroupStart)
	LOAD(GroupEnd)
	LOAD(AllReduce)
	LOAD(Reduce)
	LOAD(Broadcast)
	f->GetLastError = dlsym(lib, "ncclGetLastError");
	return 0;
}

int gcu_nccl_version(gcu_nccl *f, int *version) { return f->GetVersion(version); }

int gcu_nccl_open(gcu_nccl *f, int devices, const int *ids, void **comms) {
	return f->CommInitAll(comms, devices, ids);
}

enum { sum_to_all, sum_to_root, spread };
enum { add = 0 };

static int put(gcu_nccl *f, const gcu_nccl_joint *j, const gcu_nccl_part *p, const char **call) {
	switch (j->kind) {
	case sum_to_all:
		*call = "ncclAllReduce";
		return f->AllReduce(p->from, p->to, j->elements, j->type, add, p->comm, p->stream);
	case sum_to_root:
		*call = "ncclReduce";
		return f->Reduce(p->from, p->to, j->elements, j->type, add, j->root, p->comm, p->stream);
	}
	*call = "ncclBroadcast";
	return f->Broadcast(p->from, p->to, j->elements, j->type, j->root, p->comm, p->stream);
}

int gcu_nccl_join(gcu_nccl *f, const gcu_nccl_joint *j, const gcu_nccl_part *parts,
	const char **call) {
	*call = "ncclGroupStart";
	int err = f->GroupStart();
	if (err) return err;
	for (int i = 0; i < j->devices && !err; i++) err = put(f, j, &parts[i], call);
	int end = f->GroupEnd(); // also after an error, so that the thread leaves the group
	if (!err && end) *call = "ncclGroupEnd";
	return err ? err : end;
}

const char *gcu_nccl_text(gcu_nccl *f, int code) { return f->GetErrorString(code); }

const char *gcu_nccl_last(gcu_nccl *f) {
	const char *text = f->GetLastError ? f->GetLastError(0) : 0;
	return text ? text : "";
}
