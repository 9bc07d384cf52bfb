// Package output collects the output of programs that run while a test reads it.
//
//	var out output.Buffer
//	cmd := exec.Command("program")
//	cmd.Stdout, cmd.Stderr = &out, &out
package output
