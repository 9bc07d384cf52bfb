// Building programs of oneDNN primitives. It hides the differences between oneDNN 2.x and 3.x.
#ifndef GX_DNNPROG_H
#define GX_DNNPROG_H

#include "prog.h"

#include <dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t gx_md;
#else
typedef const dnnl_memory_desc_t *gx_md;
#endif

enum { GX_PROG_ARGS = 8 };

// gx_place says where an operand is: pointer slot of the run, or offset in scratch when slot is
// negative.
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

// gx_own_fn is a kernel of ours: arg describes the computation, at holds the operands.
typedef void (*gx_own_fn)(const void *arg, void *const *at, int threads);

// Building. Functions return a oneDNN status; after a failure the program is only fit for
// gx_prog_free.
gx_prog *gx_prog_new(int threads);
dnnl_engine_t gx_engine(void);
// Asks for scratch memory of the caller
dnnl_primitive_attr_t gx_prog_attr(gx_prog *p);
// Descriptions of arrays of a type, owned by the program; the strides of the second one count
// elements
int gx_prog_md(gx_prog *p, gx_md *md, int type, int n, const int64_t *dims, int tag);
int gx_prog_strided_md(gx_prog *p, gx_md *md, int type, int n, const int64_t *dims,
	const int64_t *strides);
int gx_prog_step(gx_prog *p, dnnl_primitive_desc_t pd, const gx_bind *binds, int n);
// Arg is copied
int gx_prog_own(gx_prog *p, gx_own_fn fn, const char *name, const void *arg, size_t size,
	const gx_place *at, int n);
gx_place gx_prog_room(gx_prog *p, int64_t floats); // scratch memory
// The program owns pd from now on, also after an error
int gx_prog_keep(gx_prog *p, dnnl_primitive_desc_t pd);
// Reorders an input when needed
int gx_prog_use(gx_prog *p, gx_md from, gx_place at, gx_md want, gx_place *got);
// Where a primitive writes an output
int gx_prog_place(gx_prog *p, gx_md made, gx_md plain, gx_place final, gx_place *got);
// Reorders it when needed
int gx_prog_deliver(gx_prog *p, gx_md made, gx_place at, gx_md plain, gx_place final);
// Nothing when both are one
int gx_prog_copy(gx_prog *p, gx_md from, gx_place at, gx_md to, gx_place into);
// Owned by the program
int gx_prog_post(gx_prog *p, int add, int relu, dnnl_primitive_attr_t *attr);
// Multiplies the result of a product by alpha, adds beta times the old content of its output, and
// cuts off negative values
int gx_prog_scale(gx_prog *p, float alpha, float beta, int relu, dnnl_primitive_attr_t *attr);
// The program makes attributes with ops, which it frees
int gx_prog_post_ops(gx_prog *p, dnnl_post_ops_t ops, dnnl_primitive_attr_t *attr);
int gx_layout_tag(int layout, int axes);         // for arrays with that many spatial axes
int gx_layout_of(gx_md md, int n, const int64_t *dims); // the unpadded layout that md is, or -1
// The form of an operand that another program prepares
void gx_prog_set_packed(gx_prog *p, gx_md md);
gx_md gx_prog_packed(const gx_prog *p);
gx_md gx_query(dnnl_primitive_desc_t pd, dnnl_query_t what);
dnnl_data_type_t gx_dnnl_type(int type);       // of an element type of prog.h
const char *gx_impl(dnnl_primitive_desc_t pd); // name of the implementation, owned by pd
// Whether the implementation is the library's reference, a hundred times slower than others
int gx_naive(dnnl_primitive_desc_t pd);

#define GX_TRY(call) \
	do { \
		int err_ = (int)(call); \
		if (err_) return err_; \
	} while (0)

#endif
