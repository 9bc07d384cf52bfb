// Package topics has the pages of `gomx help` that belong to no command, and the values that shells
// complete.
package topics
