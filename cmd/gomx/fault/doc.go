// Package fault has the errors of commands: mistakes in the arguments, and hints at remedies, which
// Report writes below the error.
package fault
