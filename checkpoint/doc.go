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
// A Record is one array of a file, dense or sparse, with the fields that the file has. ReadList and
// WriteList handle whole lists of records, Decoder and Encoder one record at a time; they use no
// device and no engine. SaveArrays, LoadArrays and Model are built on them and handle arrays;
// loading makes sparse arrays dense.
//
// # Formats
//
// The package reads all layouts since MXNet 0.7: V0, V1, V2 with row_sparse and csr arrays, and V3.
// It writes V2 from cpu(0), byte for byte as MXNet 1.9.1 does, so that MXNet loads the file. It
// writes V3 only for lists with scalars or empty arrays, which V2 cannot express.
//
// # Safety
//
// Files are hostile input. Decoding never panics, and it allocates no memory for sizes that a
// header claims and the file does not have. Errors name the place, the value found and the value
// wanted:
//
//	checkpoint: a.params: truncated at byte 812 of 1024:
//	array 3 of 8 (float32 (10, 10)) wants 400 bytes, 212 left
//
// A file is written to a temporary file in its folder, flushed and renamed: after a crash the
// folder has either the old file or the new one.
package checkpoint
