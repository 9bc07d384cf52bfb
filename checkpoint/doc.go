// Package checkpoint reads and writes MXNet's files: lists of arrays (.params), models
// (-symbol.json with -0003.params), networks of buckets (.buckets) and optimizer states (.states).
//
//	model, err := checkpoint.Load("resnet-50", 0) // resnet-50-symbol.json, resnet-50-0000.params
//	…
//	err = model.Save("runs/resnet", 3)
//
//	err = checkpoint.SaveMap("features.params", map[string]*nd.Array{"mean": mean})
//	list, err := checkpoint.LoadArrays("features.params")
//
// # Layers
//
// At the bottom are plain records: a Record is one array in the file's own terms, sparse ones
// included. ReadList and WriteList handle whole lists, Decoder and Encoder one record at a time.
// They know no devices and no engine. SaveArrays, LoadArrays and Model stand on top and deal in
// arrays; loading makes sparse arrays dense.
//
// # What is read and written
//
// All layouts since MXNet 0.7 are read: V0 and V1, V2 with row_sparse and csr arrays, V3. Written
// is V2 from cpu(0), byte for byte what MXNet 1.9.1 writes, so that it loads the file; V3 only for
// lists with scalars or empty arrays, which V2 cannot express.
//
// # Safety
//
// Files are hostile input. Decoding never panics and never allocates what a header merely claims;
// errors say where, what was found and what was wanted:
//
//	checkpoint: a.params: truncated at byte 812 of 1024: array 3 of 8 (float32 (10, 10)) wants 400 bytes, 212 left
//
// Files are written beside their place, flushed and renamed: after a crash there is either the old
// file or the new one.
package checkpoint
