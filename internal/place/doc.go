// Package place decides where the paths of a configuration lead: a grant is a
// place, not a name.
//
// The write places are every folder and file in which anything may write for an
// agent, or once could. Outside them a symbolic link is the operator's and is
// followed. In them a link may be anybody's: no granted path may pass one there,
// each time it is opened. Whatever agents do inside the write places, a granted
// path then leads to the place that the operator meant, to a real folder beneath
// it, or nowhere.
//
// Start with [Compile], which makes a [Table] of a configuration's write places
// and those that the state remembers, and [Map], which holds the table in force.
// [Open] is how everything opens what a table answered. The answer depends on
// configuration, disk and ledger only, so that every process gives the same.
package place
