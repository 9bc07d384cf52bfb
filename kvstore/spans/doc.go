// Package spans follows the training steps of a process of a job: it names the step in the
// process's log, and records spans of traced steps through a Tracer, which package monitor
// implements with OpenTelemetry.
//
//	w := spans.New()
//	w.Trace(tracer, 100)                        // every hundredth step
//	log = log.Hook(w)
//	span := w.Begin(key, name, "push", true)    // a worker begins an operation
//	m := w.Sends(to, &msg)                      // its messages carry the place of the span
//	span := w.Receives(from, &msg)              // a server takes it off, and adds a span
//
// Without a Tracer messages carry nothing, and the cost is a comparison for each.
package spans
