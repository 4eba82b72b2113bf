// Package vet shows which effects the Run function of a tool has beside the
// accessors of its call: files, the network, processes, the environment, raw
// system calls, memory past the type system, plugins, linknames and cgo.
//
// [Load] reads a whole program with all that it imports. Its report lists for each
// tool the findings, each with the chain of calls that leads there, and the places
// where the chain could not be followed: reflection, assembly, functions that the
// table of the standard library does not know. What is not shown is never clean.
//
// [Analyzer] is the same question inside `go vet -vettool`. It follows direct calls
// alone, through facts of the packages that are imported, and says so.
//
// An effect is a function, a variable or a type of the table in table.go, never a
// package. A value that stands for a resource, such as *os.File or *http.Client, is
// followed back to where it was made: that of an accessor is granted, any other is
// an effect of the tool that uses it.
package vet
