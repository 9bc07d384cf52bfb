// Package runs writes and reads the files of training runs: curves of scores, histograms, the
// network's graph, its plan of memory, events of a job, and final scores. `gomx board` shows them.
//
//	run, err := runs.Open("runs/lenet", runs.Histograms(100), runs.TensorBoard())
//	run.Hyper(map[string]any{"learning rate": 0.1, "batch": 64})
//	loss := run.Tag("loss")
//	for step := int64(1); step <= 1000; step++ {
//		... run.Add(step, runs.Point{Tag: loss, Value: v})
//	}
//	run.Score("accuracy", 0.91)
//	err = run.Close()
//
// module.Record and estimator.Record let Fit do all of this, gluon.Record a trainer.
//
// # The file
//
// A run is a folder. Its file events.gomx only grows; in a job, workers of rank 1 and above have
// files of their own, events-worker-1.gomx and so on. The file begins with the eight bytes
// "gomxrun\n" and a version of four bytes. Records follow: the length of the body and its CRC-32C, four bytes
// each, least significant byte first, then the body, whose first byte is the record's kind.
// Readers skip kinds that they do not know, and every version reads the files of older ones.
//
// The goroutine that records only appends to a buffer, and allocates nothing in the steady state. A
// goroutine of the run writes the buffer to the file, ten times a second. A process that is killed
// leaves at most a part of its last record behind: readers stop before it, and the next process
// cuts it off. Flush waits until everything is in the file; Close also until it is on the disk.
//
// # Runs that continue
//
// A process that continues a run opens the same folder and says with From at which step it begins.
// Points of later steps, which a former process may have recorded, are hidden from then on, because
// they are trained again. A run that begins anew, at step 0, hides all points of former ones.
//
// # Readers
//
// A Reader returns the records of one file, and goes on when the file grows. Data is the whole
// content of a folder, which Update brings up to date.
package runs
