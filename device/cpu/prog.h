// A program is a fixed sequence of oneDNN primitives over operands of the caller and scratch memory.
// It hides the differences between oneDNN 2.x and 3.x.
#ifndef GX_PROG_H
#define GX_PROG_H

#include <dnnl.h>
#include <stdint.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t gx_md;
#else
typedef const dnnl_memory_desc_t *gx_md;
#endif

typedef struct gx_prog gx_prog;

enum { GX_PROG_PTRS = 6, GX_PROG_ARGS = 8 };

// Layouts of arrays with batch and channels in front: plain, channels last, channels in blocks that run fastest.
enum { GX_PLAIN, GX_LAST, GX_BLOCK8, GX_BLOCK16, GX_LAYOUTS };

// gx_place says where an operand is: pointer slot of the run, or offset in scratch when slot is negative.
typedef struct {
	int slot;
	int64_t offset;
} gx_place;

// gx_bind ties an argument of a primitive to memory.
typedef struct {
	int arg;
	gx_md md;
	gx_place at;
} gx_bind;

// Building. Functions return a oneDNN status; after a failure the program is only fit for gx_prog_free.
gx_prog *gx_prog_new(int threads);
dnnl_engine_t gx_engine(void);
dnnl_primitive_attr_t gx_prog_attr(gx_prog *p);                      // asks for scratch memory of the caller
int gx_prog_md(gx_prog *p, gx_md *md, int n, const int64_t *dims, int tag); // owned by the program
int gx_prog_step(gx_prog *p, dnnl_primitive_desc_t pd, const gx_bind *binds, int n);
int gx_prog_keep(gx_prog *p, dnnl_primitive_desc_t pd); // the program owns pd from now on, whatever is returned
int gx_prog_use(gx_prog *p, gx_md from, gx_place at, gx_md want, gx_place *got);       // reorders an input when needed
int gx_prog_place(gx_prog *p, gx_md made, gx_md plain, gx_place final, gx_place *got); // where a primitive writes an output
int gx_prog_deliver(gx_prog *p, gx_md made, gx_place at, gx_md plain, gx_place final); // reorders it when needed
int gx_prog_copy(gx_prog *p, gx_md from, gx_place at, gx_md to, gx_place into);        // nothing when both are one
int gx_prog_post(gx_prog *p, int add, int relu, dnnl_primitive_attr_t *attr);          // owned by the program
int gx_layout_tag(int layout, int axes);         // for arrays with that many spatial axes
int gx_layout_of(gx_prog *p, gx_md md, int n, const int64_t *dims); // the unpadded layout that md is, or -1
void gx_prog_set_packed(gx_prog *p, gx_md md);   // the form of an operand that another program prepares
gx_md gx_prog_packed(const gx_prog *p);
int64_t gx_prog_packed_bytes(const gx_prog *p);
// gx_prog_packed_equal says whether both take weights in the same form.
int gx_prog_packed_equal(const gx_prog *a, const gx_prog *b);

// gx_reorder makes the program that copies an array from one layout (pointer 0) to another (pointer 1).
int gx_reorder(gx_prog **out, int axes, const int64_t *dims, int from, int to, int threads);
gx_md gx_query(dnnl_primitive_desc_t pd, dnnl_query_t what);

// Running. Any number of threads may run one program, each with its own scratch memory.
int64_t gx_prog_scratch(const gx_prog *p);
int gx_prog_run(gx_prog *p, void *a, void *b, void *c, void *d, void *e, void *f, void *scratch);
void gx_prog_free(gx_prog *p);

#endif
