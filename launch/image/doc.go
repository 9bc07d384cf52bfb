// Package image writes container images: OCI archives with programs and the shared libraries that
// they need, made without a container engine.
//
//	err := image.Write(f, image.Config{Programs: []string{"bin/gomx", "bin/mnist"}})
//
// An archive is a tar file in the layout of the OCI image specification 1.0. Tools such as skopeo,
// podman load and ctr image import read it. The image has one layer: the programs in
// /usr/local/bin, their libraries at the paths of this machine, and the files that a C library
// needs for users and names of hosts. Equal programs make equal archives, byte for byte.
package image
