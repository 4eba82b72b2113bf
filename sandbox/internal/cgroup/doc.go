// Package cgroup limits the memory, the number of processes and the processor
// time of confined children, with whatever control groups this machine lets
// the runtime use.
//
// Start with [Open], which finds out once what there is; [Controllers.New]
// makes a group, [Group.Add] puts a child into it before it starts its work,
// and [Group.Close] removes it when the child and all its descendants are gone.
//
// Control groups of version 2 are used where memory and pids are delegated to
// this process, else those of version 1 where they can be written, else none:
// [Controllers.Kind] is empty then and [Controllers.Why] says what is missing.
// Groups are made below the runtime's own, so its own limits hold as well.
package cgroup
