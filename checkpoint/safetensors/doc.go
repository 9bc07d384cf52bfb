// Package safetensors reads and writes safetensors files, the format of Hugging Face's models.
//
//	f, err := safetensors.Open("model.safetensors") // or model.safetensors.index.json
//	defer f.Close()
//	weight, err := f.Array("encoder.layer.0.output.dense.weight")
//
//	err = safetensors.Save("features.safetensors", map[string]*nd.Array{"mean": mean})
//
// # Format
//
// A file begins with 8 bytes, the length of its header. The header is a JSON object: for each array
// the type, the shape and the place of its bytes, and under __metadata__ pairs of strings. The
// values follow, little endian and row-major, without gaps. Save writes the arrays in the order of
// Python's library, so that both make equal files. A model of several files has an index, which
// names the file of each array; SaveShards writes one, and Open reads it.
//
// # Reading
//
// Open maps a file into memory where the platform can, and reads its header alone. The values of
// an array are read from the disk when Array or Bytes asks for them. Nobody may shorten a file
// while it is open: the operating system ends a process that reads a mapped page which is gone.
//
// All element types of gomx can be read and written. Files may hold more, such as F8_E4M3: Open
// accepts and lists them, Array returns an error.
//
// # Safety
//
// Files are hostile input. A header has at most 100 MB. Every byte of the values belongs to exactly
// one array: Open refuses gaps, overlaps, places outside of the file, shapes that contradict the
// number of bytes, and names that occur twice. An error names the array, the value found and the
// value wanted. Files are written completely or not at all, as package checkpoint does.
//
// Source: https://huggingface.co/docs/safetensors.
package safetensors
