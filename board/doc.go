// Package board shows runs and jobs on a web page: `gomx board runs`.
//
//	b, err := board.New(board.Config{Dir: "runs"})
//	defer b.Close()
//	err = http.Serve(listener, b)
//
// The page has curves of several runs with smoothing, the network's graph, the plan of its memory,
// the trace of a step, histograms, hyper-parameters and scores, a confusion matrix and predictions,
// and running jobs with their processes, clocks, shards and events. It needs no network: all its
// assets are in the binary. It follows runs and jobs by server-sent events and changes nothing.
//
// A Board looks at the files of runs while somebody looks at the page, and reads the records that
// have been appended. It keeps the curves of all runs in memory, 24 bytes a point, and sends at most about a
// thousand points of a curve: of more, the least and the greatest value of each stretch.
//
// # Access
//
// Without a Token the handler answers requests to the loopback's names alone, so that no other web
// site can read it through a visitor's browser. With a Token it answers requests that have it, in
// the parameter token or in the cookie that this parameter sets. Only GET and HEAD are allowed.
//
// The charts are drawn by uPlot (MIT licence), in assets/vendor.
package board
