//go:build !cuda

package main

// addGPUs adds the GPUs and the libraries that were found.
func addGPUs(l *deviceList) error {
	l.Notes = append(l.Notes, "gpu: this binary was built without the cuda tag")
	return nil
}
