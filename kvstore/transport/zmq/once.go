//go:build cgo

package zmq

/*
#include <czmq.h>
#include "box.h"
*/
import "C"

import "sync"

// ready makes czmq ready for use. Its first sockets do so as well, but not when two goroutines make
// theirs at the same time: then it aborts the process.
var ready = sync.OnceFunc(func() {
	C.zsys_init()
	KeepPages()
})

// KeepPages tells the C library which memory it shall keep for messages. The first endpoint of a
// process calls it.
func KeepPages() { C.gx_keep_pages() }
