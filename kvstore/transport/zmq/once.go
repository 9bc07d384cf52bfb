//go:build cgo

package zmq

/*
#include <czmq.h>
*/
import "C"

import "sync"

// ready makes czmq ready for use. Its first sockets do so as well, but not when two goroutines make
// theirs at the same time: then it aborts the process.
var ready = sync.OnceFunc(func() { C.zsys_init() })
